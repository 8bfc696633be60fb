"""DevAll's eight node types as ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.engine.formats._devall_agents import agent_document
from workbench.engine.formats._reading import Part, Reading, as_template

Json = Any

NODE_KEYS = "id type config description log_output context_window input output dynamic".split()
UNITS = {"seconds": 1, "minutes": 60, "hours": 3600}


def node_document(
    part: Part, kind: str, name: str, reading: Reading, nested: Callable[[Part, str], dict[str, Json]]
) -> dict[str, Json]:
    """The node without its id. `nested` makes a topology of the graph at the key "config" of a part."""
    _shared(part, name, reading)
    if kind == "subgraph":
        return _subgraph(part, name, reading, nested)
    if kind not in TYPES:
        if kind:
            known = [*TYPES, "subgraph"]
            message = f"There is no node type {kind!r}.{reading.nearest(kind, known)}"
            reading.error("unknown_type", part.at("type"), message, f"DevAll's are {', '.join(known)}.")
        return {"type": "passthrough"}
    known_keys, convert = TYPES[kind]
    if not part.has("config"):
        part.missing("config")
    return {"type": kind, **convert(part.part("config", known_keys, f"The config of node {name!r}"), name, reading)}


def _shared(part: Part, name: str, reading: Reading) -> None:
    if part.text("description"):
        reading.note("The description of a node has no place here and was left out.", name)
    if not part.flag("log_output", True):
        reading.note("Outputs are always kept here; log_output was left out.", name)
    window = part.whole("context_window", 0)
    if window:
        kept = "everything" if window < 0 else f"the newest {window}"
        reading.note(
            f"context_window {window} can't be expressed: here a visit empties the inbox but for kept messages; "
            f'in DevAll {kept} would stay, the node\'s own outputs too. "keep" on edges comes close.',
            name,
        )
    for key in ("input", "output"):
        if part.get(key):
            reading.note(f"Messages that stand in a node's {key!r} beforehand can't be expressed.", name)
    if part.has("dynamic"):
        reading.note('DevAll itself pays no heed to a node\'s own "dynamic"; it was left out.', name)


def _literal(config: Part, name: str, reading: Reading) -> dict[str, Json]:
    if config.choice("role", ("user", "assistant"), "user") == "assistant":
        reading.note("Messages have no roles here: role assistant was left out.", name)
    if not config.has("content"):
        config.missing("content")
    return {"content": config.text("content")}


def _passthrough(config: Part, name: str, reading: Reading) -> dict[str, Json]:
    return {} if config.flag("only_last_message", True) else {"all": True}


def _counter(config: Part, name: str, reading: Reading) -> dict[str, Json]:
    count = config.whole("max_iterations", 10)
    _restarts(config, name, reading)
    return {"count": count, "message": config.text("message") or f"Loop limit reached ({count})"}


def _timer(config: Part, name: str, reading: Reading) -> dict[str, Json]:
    duration = config.number("max_duration", 60)
    unit = config.choice("duration_unit", UNITS, "seconds")
    _restarts(config, name, reading)
    message = config.text("message") or f"Time limit reached ({duration:g} {unit})"
    found: dict[str, Json] = {"seconds": duration * UNITS[unit], "message": message}
    if config.flag("passthrough", False):
        found["forward"] = True
        reading.note("A timer forwards the last message of its inbox, not each of them.", name)
    return found


def _restarts(config: Part, name: str, reading: Reading) -> None:
    if not config.flag("reset_on_emit", True):
        reading.note("reset_on_emit: false can't be expressed: here it starts again after it has spoken.", name)


def _python(config: Part, name: str, reading: Reading) -> dict[str, Json]:
    for key in ("interpreter", "args", "env", "encoding"):
        if config.get(key) and config.get(key) != "utf-8":
            reading.note(f"Code runs in the sandbox's own Python: {key!r} was left out.", name)
    reading.note("Code that fails makes the node fail; DevAll would pass a text on that says so.", name)
    return {"timeout_s": config.number("timeout_seconds", 60)}


def _human(config: Part, name: str, reading: Reading) -> dict[str, Json]:
    reading.note("DevAll waits 30 minutes for a person; here the wait has no end unless timeout_s is set.", name)
    question = config.text("description")
    return {"question": as_template(question)} if question else {}


def _subgraph(
    part: Part, name: str, reading: Reading, nested: Callable[[Part, str], dict[str, Json]]
) -> dict[str, Json]:
    config = part.part("config", ("type", "config"), f"The config of node {name!r}")
    kind = config.choice("type", ("config", "file"), "config")
    if kind == "file":
        where = config.part("config", ("path",), "A subgraph's file").text("path", required=True)
        message = f"Node {name!r} takes its graph from the file {where!r}, and an import reads no other file."
        reading.error("other_file", config.at("config"), message, 'Put that graph here, with "type: config".')
        return {"type": "passthrough"}
    if not config.has("config"):
        config.missing("config")
    return {"type": "topology", "topology": nested(config, f"The graph of node {name!r}")}


Convert = Callable[[Part, str, Reading], dict[str, Json]]

TYPES: dict[str, tuple[list[str], Convert]] = {
    "literal": (["content", "role"], _literal),
    "passthrough": (["only_last_message"], _passthrough),
    "loop_counter": (["max_iterations", "reset_on_emit", "message"], _counter),
    "loop_timer": (["max_duration", "duration_unit", "reset_on_emit", "message", "passthrough"], _timer),
    "python": (["interpreter", "args", "env", "timeout_seconds", "encoding"], _python),
    "human": (["description"], _human),
    "agent": (
        "provider name role base_url api_key params input_mode tooling thinking memories skills retry".split(),
        agent_document,
    ),
}
