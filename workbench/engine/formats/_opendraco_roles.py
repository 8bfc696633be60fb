"""OpenDraco's classes of agents: what each sets where the file says nothing."""

from __future__ import annotations

from typing import NamedTuple

KNOBS = {"num_ctx": 4096, "temperature": 0.2, "top_k": 40, "top_p": 0.9, "num_predict": -1, "seed": 0}
READING = ("read_file", "list_files", "search_code")


class Role(NamedTuple):
    """A class: the names it goes by, its sampling, its tools where none are listed (none: all of OpenDraco's 69)."""

    label: str
    python: str
    temperature: float
    num_ctx: int
    num_predict: int
    stop: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


ROLES = (
    Role("Locator", "LocatorAgent", 0.2, 8192, 512, ("</files>",), READING),
    Role(
        "Patcher", "PatcherAgent", 0.2, 16384, 2048, ("</patch>",),
        (*READING, "apply_patch", "generate_diff", "apply_description_fix", "detect_bug_class",
         "derive_description_fix", "normalize_patch", "run_flake8"),
    ),
    Role(
        "Reviewer", "ReviewerAgent", 0.2, 8192, 768, ("</review>",),
        ("read_file", "generate_diff", "apply_patch", "normalize_patch", "reset_repo", "run_flake8", "run_tests"),
    ),
    Role(
        "Bug reproduction", "BugReproductionAgent", 0.4, 8192, 1024, (),
        (*READING, "apply_patch", "generate_diff"),
    ),
    Role("Environment setup", "EnvironmentSetupAgent", 0.2, 4096, 1024, (), READING),
    Role("Helper/Proxy", "HelperProxyAgent", 0.2, 4096, 512, (), READING),
    Role("Planner/Orchestrator", "PlannerOrchestrator", 0.2, 4096, 768),
    Role("Router", "Router", 0, 2048, 512),
    Role("Base agent", "GenericAgent", 0.8, 2048, -1),
)  # fmt: skip
BY_NAME = {name: role for role in ROLES for name in (role.label, role.python)}
