"""What holds for the repository as a whole: layers, plug-ins, locks, settings, and no trace of anybody's machine."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {
    "workbench.engine.nodes": "tests/engine/nodes",
    "workbench.engine.providers": "tests/engine/providers",
    "workbench.engine.tools": "tests/engine/tools",
    "workbench.engine.sandboxes": "tests/engine/sandboxes",
    "workbench.engine.formats": "tests/engine/formats",
    "evaluators": "tests/evaluators",
}
MACHINE_PATH = re.compile(
    r"(?<![\w.])(?:/root/(?!\.ollama)|/home/(?!workbench/)\w+/|/Users/\w+/|/work/|file:///(?!etc/))[\w.]"
)
"""A path of whoever wrote it; not those inside the image that compose.yaml runs, nor what hostile input asks for."""
INTERNAL = {"WORKBENCH_SUPERVISOR"}


def tracked() -> list[Path]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


def plugins() -> list[tuple[str, str]]:
    return [
        (package, file.stem)
        for package in FOLDERS
        for file in sorted((ROOT / package.replace(".", "/")).glob("*.py"))
        if not file.stem.startswith("_")
    ]


def test_imports_point_downwards():
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


def test_engine_loads_without_django_and_celery():
    code = "import sys, workbench.engine.runtime; print({'django', 'celery'} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"


def test_web_server_loads_neither_langgraph_nor_the_model_clients():
    code = (
        "import sys, workbench.asgi; from django.test import Client; Client().get('/parts/');"
        "print({'langgraph', 'openai', 'ollama', 'scipy', 'vl_convert'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(("package", "name"), plugins())
def test_plugin_has_a_docstring_and_a_test(package, name):
    module = importlib.import_module(f"{package}.{name}")

    assert module.__doc__ or any(
        item.__doc__ for item in vars(module).values() if getattr(item, "__module__", "") == module.__name__
    )
    tests = ROOT / FOLDERS[package]
    assert list(tests.glob(f"test_{name}*.py")), f"{package}.{name} has no test in {FOLDERS[package]}"


@pytest.mark.parametrize("folder", ["agents_catalog", "topologies", *sorted({package for package, _ in plugins()})])
def test_folder_that_one_adds_to_says_how(folder):
    assert (ROOT / folder.replace(".", "/") / "README.md").is_file()


def test_nothing_names_a_machine():
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in tracked()
        if file != Path(__file__) and file.suffix not in (".png", ".gguf")
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]

    assert found == []


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda path: path.name)
def test_lock_pins_by_hash_and_names_no_index(lock):
    text = lock.read_text()

    assert not re.search(r"https?://|file:|--(?:extra-)?index-url|--find-links", text)
    pins = re.findall(r"^[a-z0-9][^\n]*==[^\n]*", text, re.MULTILINE)
    assert pins
    assert all(pin.endswith("\\") for pin in pins), "a hash follows each"


def test_locks_agree_on_versions():
    pins: dict[str, set[str]] = {}
    for lock in ("base", "embedded", "postgres", "dev"):
        for name, version in re.findall(
            r"^([a-z0-9-]+)(?:\[[^\]]*\])?==(\S+)", (ROOT / f"requirements/{lock}.txt").read_text(), re.MULTILINE
        ):
            pins.setdefault(name, set()).add(version)

    assert {name for name, versions in pins.items() if len(versions) > 1} <= split_by_python(pins)


def split_by_python(pins: dict[str, set[str]]) -> set[str]:
    """Packages that the fullest lock itself pins twice, for different versions of Python."""
    text = (ROOT / "requirements/dev.txt").read_text()
    return {name for name in pins if len(re.findall(rf"^{name}==", text, re.MULTILINE)) > 1}


def test_every_setting_is_in_the_example():
    used = set()
    for file in [*(ROOT / "workbench").rglob("*.py"), *(ROOT / "evaluators").rglob("*.py")]:
        used |= set(re.findall(r'"((?:WORKBENCH|OLLAMA|OPENAI_COMPATIBLE|EMBEDDED)_[A-Z_0-9]+)"', file.read_text()))
    used |= {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "TOPOLOGY_REPOSITORY"}
    shown = set(re.findall(r"^# ([A-Z_0-9]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))

    assert used - INTERNAL <= shown


def test_readme_leads_to_files_that_exist():
    for name in ("README.md", *(str(path.relative_to(ROOT)) for path in ROOT.glob("*/README.md"))):
        text = (ROOT / name).read_text()
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
            assert (ROOT / name).parent.joinpath(target).exists(), f"{name} leads to {target}"
