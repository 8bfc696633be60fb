"""A prompt as a model would be sent it: rendered for an instance, with made-up outputs of the nodes before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.datasets.models import DatasetVersion, Instance
from workbench.datasets.selectors import dataset_version, datasets_listed, instance_of_version
from workbench.engine.errors import TemplateError, WorkbenchError
from workbench.engine.providers._estimate import estimated_tokens
from workbench.engine.samples import schema_samples
from workbench.engine.templating import Inbox, InboxMessage, render
from workbench.topologies.editing.fields import MISSING, pointer_steps, value_at
from workbench.topologies.editing.panels import _usual
from workbench.topologies.editing.state import State, edges_of, names_of, nodes_of
from workbench.topologies.modelpicker import model_context

Json = Any
OFFERED = 5


class Preview(NamedTuple):
    """A rendered prompt; `message` says why it could not be rendered."""

    text: str
    message: str
    tokens: int
    context: int | None
    model: str
    made_up: list[str]
    """The nodes whose outputs are made up."""


class Problem(NamedTuple):
    """What a run would be given."""

    problem: str = "What is to be solved stands here."
    id: str = "example"
    metadata: Mapping[str, Json] = {}


def instances_offered() -> list[tuple[str, str]]:
    """The first instances of every data set, as `dataset/id`."""
    found = []
    for row in datasets_listed():
        version = DatasetVersion.objects.filter(dataset__name=row.name).first()
        keys = version.instances.values_list("key", flat=True)[:OFFERED] if version is not None else ()
        found += [(f"{row.name}/{key}", f"{row.title or row.name}: {key}") for key in keys]
    return found


def problem_named(reference: str) -> Problem:
    """The instance `dataset/id`; an example where there is none of that name."""
    name, slash, key = reference.partition("/")
    if not slash:
        return Problem()
    try:
        instance: Instance = instance_of_version(dataset_version(name), key)
    except WorkbenchError:
        return Problem()
    return Problem(instance.problem, instance.key, instance.metadata)


def prompt_preview(state: State, node: str, field: str, given: Problem, *, visit: int = 1) -> Preview:
    """The prompt at a field of a node; what the node does not say its agent says."""
    said = nodes_of(state.document).get(node)
    usual = _usual(state, node, said if isinstance(said, Mapping) else {})
    text = value_at(said, pointer_steps(field))
    if text is MISSING or text is None:
        text = usual.get(field) or ""
    model = str(usual.get("/model") or "")
    names = _names(state, node, given, visit)
    made_up = [name for name in nodes_of(state.document) if f"nodes.{name}" in str(text)]
    try:
        rendered, message = render(str(text), names), ""
    except TemplateError as error:
        rendered, message = "", str(error)
    return Preview(rendered, message, estimated_tokens(rendered), model_context(model), model, made_up)


def _names(state: State, node: str, given: Problem, visit: int) -> dict[str, Json]:
    nodes = nodes_of(state.document)
    outputs = {name: _output(name, spec, visit) for name, spec in nodes.items()}
    inbox = (
        [InboxMessage(given.problem, "instance")] if node in names_of(state.document, "start") and visit == 1 else []
    )
    for edge in edges_of(state.document):
        if isinstance(edge, Mapping) and edge.get("to") == node and edge.get("carry") is not False:
            source = outputs.get(str(edge.get("from")))
            if source is not None and (visit > 1 or edge.get("from") != node):
                inbox.append(InboxMessage(source["output"], str(edge["from"]), source["json"]))
    return {
        "instance": {"problem": given.problem, "id": given.id, "metadata": dict(given.metadata)},
        "inbox": Inbox(inbox),
        "nodes": outputs,
        "vars": dict(variables) if isinstance(variables := state.document.get("vars"), Mapping) else {},
        "visit": visit,
        "run": {"id": "preview", "repetition": 1},
    }


def _output(name: str, node: Json, visit: int) -> dict[str, Json]:
    """What a node might have said: a sample of its schema, or a sentence that shows that it is none."""
    output = node.get("output") if isinstance(node, Mapping) else None
    schema = output.get("json_schema") if isinstance(output, Mapping) else None
    sample = next(iter(schema_samples(schema)), None) if isinstance(schema, Mapping) else None
    return {"output": f"‹what {name} said›", "json": sample, "status": "succeeded", "visits": visit}
