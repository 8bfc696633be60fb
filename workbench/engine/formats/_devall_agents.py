"""DevAll's agents: the model, its params, the role, the tools that exist here too; the rest is named."""

from __future__ import annotations

from typing import Any

from workbench.engine.formats._devall_vars import VARIABLE
from workbench.engine.formats._reading import Part, Reading, as_template
from workbench.engine.tools import TOOLS

Json = Any

PROVIDERS = ("openai", "gemini")
PARAMS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "seed": "seed",
    "stop": "stop",
    "num_ctx": "num_ctx",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "max_output_tokens": "max_output_tokens",
    "reasoning_effort": "thinking",
}
TOOLING = {
    "function": ("tools", "timeout"),
    "mcp_remote": ("server", "headers", "timeout"),
    "mcp_local": ("command", "args", "cwd", "env", "inherit_env", "startup_timeout"),
}
MEMORY_KEYS = "name retrieve_stage top_k similarity_threshold read write".split()


def agent_document(config: Part, name: str, reading: Reading) -> dict[str, Json]:
    """The fields of an agent's node."""
    found: dict[str, Json] = {"system": as_template(config.text("role")), "prompt": "{{ inbox }}"}
    if model := _model(config, name, reading):
        found["model"] = model
    params, steps = _params(config, name, reading)
    if params:
        found["params"] = params
    found["tools"] = _tools(config, name, reading)
    if found["tools"]:
        found["max_steps"] = max(1, min(steps, 1000))
    _left_out(config, name, reading)
    return found


def _model(config: Part, name: str, reading: Reading) -> str:
    provider = config.choice("provider", PROVIDERS, "openai")
    model = config.text("name", required=True)
    if config.has("base_url") or config.has("api_key"):
        reading.note(
            "Addresses and keys of models are never imported: OPENAI_COMPATIBLE_URL and OPENAI_COMPATIBLE_API_KEY say "
            "where and with which key.",
            name,
        )
    if VARIABLE.search(model):
        reading.note('The model is a variable without a value: set "model", or a default for the topology.', name)
        return ""
    if provider == "gemini":
        reading.note("Gemini is asked through its OpenAI-compatible address: set OPENAI_COMPATIBLE_URL.", name)
    return f"openai_compatible/{model}" if model else ""


def _params(config: Part, name: str, reading: Reading) -> tuple[dict[str, Json], int]:
    given = config.get("params")
    if given is not None and not isinstance(given, dict):
        reading.error("bad_value", config.at("params"), f"The params of node {name!r} are names with their values.")
        given = None
    part = Part(reading, given or {}, config.at("params"), f"The params of node {name!r}")
    found: dict[str, Json] = {}
    for key, value in part.data.items():
        if key in PARAMS and value is not None:
            found[PARAMS[key]] = [value] if key == "stop" and isinstance(value, str) else value
        elif key not in PARAMS and key != "tool_loop_limit":
            reading.note(f"The param {key!r} of models can't be expressed and was left out.", name)
    return found, part.whole("tool_loop_limit", 50)


def _tools(config: Part, name: str, reading: Reading) -> list[str]:
    """The tools that exist here too; the others are named."""
    names: list[str] = []
    for position, item in enumerate(config.items("tooling")):
        what = f"A tooling of node {name!r}"
        entry = reading.part(item, config.at("tooling", position), ("type", "prefix", "config"), what)
        kind = entry.choice("type", TOOLING, "function", required=True)
        inner = entry.part("config", TOOLING[kind], f"The {kind} tooling of node {name!r}")
        if kind != "function":
            reading.note(f"Tools of MCP servers ({kind}) can't be expressed and were left out.", name)
        if entry.has("prefix"):
            reading.note('The prefix of tools has no meaning here: "prefix" was left out.', name)
        for place, tool in enumerate(inner.items("tools") if kind == "function" else []):
            names.append(reading.part(tool, inner.at("tools", place), ("name",), "A tool").text("name", required=True))
    missing = [tool for tool in dict.fromkeys(names) if tool and tool not in TOOLS.names()]
    if missing:
        reading.note(f"Tools that are not here were left out: {', '.join(missing)}.", name)
    return [tool for tool in dict.fromkeys(names) if tool in TOOLS.names()]


def _left_out(config: Part, name: str, reading: Reading) -> None:
    """What is known and stays behind."""
    if config.choice("input_mode", ("messages", "prompt"), "messages") == "messages":
        reading.note("An agent reads its inbox as one prompt, not as a list of messages.", name)
    thinking = config.part("thinking", ("type", "config"), f"The thinking of node {name!r}")
    if thinking.data:
        reading.note("Thinking by reflection is not imported yet and was left out.", name)
    for position, item in enumerate(config.items("memories")):
        reading.part(item, config.at("memories", position), MEMORY_KEYS, f"A memory of node {name!r}")
        reading.note("Memories can't be expressed here yet and were left out.", name)
    skills = config.part("skills", ("enabled", "allow"), f"The skills of node {name!r}")
    if skills.flag("enabled", False):
        reading.note("Skills can't be expressed and were left out.", name)
    if config.get("retry"):
        reading.note("Model calls are tried again by this workbench's own rules; retry was left out.", name)
