"""OpenDraco's agent blocks as nodes: class and knobs written out, prompts as templates, tools where they exist here."""

from __future__ import annotations

from typing import Any, NamedTuple

from workbench.engine.documents import pointer
from workbench.engine.formats._opendraco_prompts import prompt_template
from workbench.engine.formats._opendraco_roles import BY_NAME, KNOBS, Role
from workbench.engine.formats._reading import Part, Reading, as_template
from workbench.engine.tools import TOOLS

Json = Any

LEFT_KNOBS = ("stream", "min_p", "repeat_penalty", "repeat_last_n")
AGENT_KEYS = (
    "class variant model think num_ctx stream temperature top_k top_p min_p repeat_penalty repeat_last_n seed "
    "num_predict stop max_iters prompts tools fallback"
).split()
PROVIDERS = {"ollama": "ollama", "openai": "openai_compatible", "gemini": "openai_compatible"}


class Graph(NamedTuple):
    """What an agent must know of the others: their ids here, and the nodes after and before each, in edge order."""

    ids: dict[str, str]
    targets: dict[str, list[str]]
    sources: dict[str, list[str]]
    entry: frozenset[str]


def graph_of(ids: dict[str, str], edges: list[tuple[str, str]], entry: frozenset[str]) -> Graph:
    """The graph of these edges."""
    graph = Graph(ids, {name: [] for name in ids}, {name: [] for name in ids}, entry)
    for source, target in edges:
        graph.targets[source].append(target)
        graph.sources[target].append(source)
    return graph


def agent_node(block: Json, name: str, graph: Graph, reading: Reading) -> dict[str, Json]:
    """The node of an agent block, without its id."""
    part = reading.part(block, pointer("agents", name), AGENT_KEYS, f"Agent {name!r}")
    role = _role(part, reading)
    model, local = _model(part, name, reading)
    routes = role.label == "Router" and len(graph.targets[name]) > 1
    node: dict[str, Json] = {"type": "router" if routes else "agent"}
    node |= _prompts(part, name, graph, reading)
    if model:
        node["model"] = model
    node["params"] = _params(part, role, local, name, reading)
    tools = _tools(part, role, name, reading)
    if routes:
        _routes(part, bool(tools), name, graph, reading)
    else:
        node["tools"] = tools
        node["max_steps"] = max(1, min(part.whole("max_iters", 10) + 1, 1000))
    _left_out(part, name, reading)
    return node


def _role(part: Part, reading: Reading) -> Role:
    given = part.text("class", required=True)
    if given and given not in BY_NAME:
        message = f"There is no class {given!r}.{reading.nearest(given, BY_NAME)}"
        hint = f"Known are {', '.join(role.label for role in dict.fromkeys(BY_NAME.values()))}."
        reading.error("unknown_class", part.at("class"), message, hint)
    return BY_NAME.get(given, BY_NAME["Base agent"])


def _model(part: Part, name: str, reading: Reading) -> tuple[str, bool]:
    """The model, and whether it is a local one."""
    given = part.text("model")
    if not given:
        reading.note('No model is named: set "model", or a default for the topology.', name)
        return "", True
    provider, slash, model = given.partition("/")
    if not slash:
        return f"ollama/{given}", True
    if provider not in PROVIDERS:
        message = f"There is no provider {provider!r} in OpenDraco.{reading.nearest(provider, PROVIDERS)}"
        reading.error("unknown_provider", part.at("model"), message, "Write ollama/…, openai/… or gemini/….")
        return "", True
    if provider == "gemini":
        reading.note("Gemini is asked through its OpenAI-compatible address: set OPENAI_COMPATIBLE_URL.", name)
    return f"{PROVIDERS[provider]}/{model}", provider == "ollama"


def _params(part: Part, role: Role, local: bool, name: str, reading: Reading) -> dict[str, Json]:
    """The knobs: the block's own, else the class's, else OpenDraco's; a cloud is only sent what it understands."""
    found: dict[str, Json] = {"temperature": part.number("temperature", role.temperature)}
    limit = part.whole("num_predict", role.num_predict)
    if limit > 0:
        found["max_output_tokens"] = limit
    if stop := part.texts("stop") if part.has("stop") else list(role.stop):
        found["stop"] = stop
    if seed := part.whole("seed", 0):
        found["seed"] = seed
    if part.has("top_p") or local:
        found["top_p"] = part.number("top_p", KNOBS["top_p"])
    if local:
        found["num_ctx"] = part.whole("num_ctx", role.num_ctx)
        found["top_k"] = part.whole("top_k", int(KNOBS["top_k"]))
    elif part.has("num_ctx") or part.has("top_k"):
        reading.note("num_ctx and top_k are for local models; they were left out.", name)
    if part.has("think") or local:
        found["thinking"] = _think(part, reading)
    return found


def _think(part: Part, reading: Reading) -> Json:
    value = part.get("think")
    if value is None or isinstance(value, bool) or value in ("low", "medium", "high"):
        return True if value is None else value
    reading.error("bad_value", part.at("think"), '"think" is true, false, "low", "medium" or "high".')
    return True


def _prompts(part: Part, name: str, graph: Graph, reading: Reading) -> dict[str, Json]:
    prompts = part.part("prompts", ("system", "user", "proxy"), f"The prompts of agent {name!r}")
    if prompts.has("proxy"):
        reading.note('OpenDraco never uses the prompt "proxy"; it was left out.', name)
    if part.has("variant"):
        variant = part.text("variant")
        reading.note(f"What OpenDraco's catalogue says of {variant!r} is not in the file and was left out.", name)
    found: dict[str, Json] = {}
    if system := prompts.text("system"):
        found["system"] = as_template(system)
    if user := prompts.text("user"):
        alone = name not in graph.entry
        found["prompt"] = prompt_template(
            user, prompts.at("user"), name, graph.ids, graph.sources[name], reading, alone=alone
        )
    else:
        found["prompt"] = "{{ inbox }}"
        reading.note("No user prompt stands in the file: the agent is sent what the nodes before it said.", name)
    return found


def _tools(part: Part, role: Role, name: str, reading: Reading) -> list[str]:
    if not part.has("tools"):
        if not role.tools and role.label != "Router":
            reading.note("OpenDraco would allow all of its 69 tools; here what is not listed is denied.", name)
        return _known_tools(list(role.tools), name, reading)
    listed = []
    for position, item in enumerate(part.items("tools")):
        tool = reading.part(item, part.at("tools", position), ("name", "params"), "A tool")
        listed.append(tool.text("name", required=True))
        if tool.get("params"):
            reading.note(f"Preset parameters of the tool {listed[-1]!r} can't be expressed and were left out.", name)
    return _known_tools(listed, name, reading)


def _known_tools(names: list[str], name: str, reading: Reading) -> list[str]:
    missing = [tool for tool in dict.fromkeys(names) if tool and tool not in TOOLS.names()]
    if missing:
        reading.note(f"Tools that are not here were left out: {', '.join(missing)}.", name)
    return [tool for tool in dict.fromkeys(names) if tool in TOOLS.names()]


def _routes(part: Part, tools: bool, name: str, graph: Graph, reading: Reading) -> None:
    reading.note("The router chooses by a structured answer, not by names in its text; an unclear choice fails.", name)
    if tools:
        reading.note("A router uses no tools here; they were left out.", name)
    changed = [f"{target!r} as {graph.ids[target]!r}" for target in graph.targets[name] if graph.ids[target] != target]
    if changed:
        reading.note(f"The router is offered {', '.join(changed)}.", name)


def _left_out(part: Part, name: str, reading: Reading) -> None:
    if any(part.has(knob) for knob in LEFT_KNOBS):
        named = ", ".join(knob for knob in LEFT_KNOBS if part.has(knob))
        reading.note(f"{named} can't be set here and was left out.", name)
    fallback = part.part("fallback", ("enabled", "guarantee_change", "system"), f"The fallback of agent {name!r}")
    if fallback.flag("enabled", False):
        reading.note("The fallback (one more try when nothing was changed) can't be expressed; it was left out.", name)
