"""The form of an agent: a field for each of `workbench.agent/1`; the engine's checks say what is wrong in each."""

from __future__ import annotations

import json
from typing import Any

from django import forms

from workbench.engine.documents import canonical_json, read_json
from workbench.engine.errors import InvalidDocument, Problem
from workbench.engine.spec import AGENT_FORMAT
from workbench.engine.tools import TOOLS

Json = Any

THINKING = {"": "Provider's default", "true": "On", "false": "Off", "low": "Low", "medium": "Medium", "high": "High"}
PARAMS = ("temperature", "top_p", "top_k", "seed", "num_ctx", "max_output_tokens")
SECTIONS = (
    ("What it is", ("name", "title", "role", "description", "tags")),
    ("Prompts", ("system", "prompt", "expects", "gives")),
    ("Answer", ("output", "json_schema", "repairs")),
    ("Model and tools", ("model", *PARAMS, "thinking", "stop", "tools")),
    ("Where it comes from", ("project", "licence", "commit", "taken")),
    ("This version", ("message",)),
)


def _area(rows: int, *, code: bool = False) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": rows, "spellcheck": "false", **({"class": "mono"} if code else {})})


class AgentForm(forms.Form):
    """An agent, field by field."""

    use_required_attribute = False

    name = forms.CharField(help_text="Letters, digits, dots, hyphens, underscores. Topologies use it by this name.")
    title = forms.CharField(required=False, help_text="What people read; any script.")
    role = forms.CharField(help_text="What kind of agent it is: Writer, Reviewer, Judge …")
    description = forms.CharField(
        required=False, widget=_area(2), help_text="What it is good for, in a sentence or two."
    )
    tags = forms.CharField(required=False, help_text="Separated by commas.")
    system = forms.CharField(required=False, strip=False, widget=_area(6, code=True), help_text="Who the agent is.")
    prompt = forms.CharField(
        required=False, strip=False, widget=_area(8, code=True),
        help_text="Knows {{ instance.problem }}, {{ inbox }}, {{ vars.tone }}, {{ visit }}. Empty: the inbox as it is.",
    )  # fmt: skip
    expects = forms.CharField(required=False, help_text="What it must be given.")
    gives = forms.CharField(required=False, help_text="What it answers with.")
    output = forms.ChoiceField(
        choices=[("text", "Text"), ("json_schema", "JSON of a schema")],
        widget=forms.RadioSelect,
        initial="text",
        label="Form of the answer",
    )
    json_schema = forms.CharField(required=False, widget=_area(8, code=True), label="JSON Schema")
    repairs = forms.IntegerField(
        required=False, help_text="How often a wrong answer is sent back to be mended. Empty: 2."
    )
    model = forms.CharField(required=False, help_text="provider/name. Empty: what the topology says.")
    temperature = forms.FloatField(required=False)
    top_p = forms.FloatField(required=False, label="Top p")
    top_k = forms.IntegerField(required=False, label="Top k")
    seed = forms.IntegerField(required=False)
    num_ctx = forms.IntegerField(required=False, label="Context window", help_text="In tokens; local models only.")
    max_output_tokens = forms.IntegerField(required=False, label="Longest answer", help_text="In tokens.")
    thinking = forms.ChoiceField(required=False, choices=list(THINKING.items()))
    stop = forms.CharField(
        required=False, strip=False, widget=_area(2, code=True), label="Stop at", help_text="One text a line."
    )
    tools = forms.MultipleChoiceField(
        required=False, widget=forms.CheckboxSelectMultiple, help_text="What is not ticked is denied."
    )
    project = forms.CharField(required=False)
    licence = forms.CharField(required=False)
    commit = forms.CharField(required=False)
    taken = forms.CharField(required=False, label="What was taken", widget=_area(2))
    message = forms.CharField(required=False, label="What changed", help_text="A few words for the history.")
    expected = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, named: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fields: dict[str, Any] = self.fields
        if named:
            fields["name"].disabled = True
            fields["name"].help_text = ""
        unknown = [tool for tool in self.initial.get("tools", ()) if tool not in TOOLS.names()]
        fields["tools"].choices = [(tool, tool) for tool in [*TOOLS.names(), *unknown]]

    @property
    def sections(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The fields under their headings."""
        return [(heading, [self[name] for name in names]) for heading, names in SECTIONS]

    def text(self) -> str:
        """The document that the fields make. Raises `InvalidDocument` where the JSON Schema is no JSON."""
        said = self.cleaned_data
        document: dict[str, Json] = {"format": AGENT_FORMAT, "name": said["name"], "role": said["role"]}
        texts = ("title", "description", "system", "prompt", "expects", "gives", "model")
        document |= {key: said[key].replace("\r\n", "\n") for key in texts if said[key]}
        params = {key: said[key] for key in PARAMS if said[key] is not None}
        if said["thinking"]:
            params["thinking"] = {"true": True, "false": False}.get(said["thinking"], said["thinking"])
        if said["stop"].strip():
            params["stop"] = [line for line in said["stop"].splitlines() if line]
        tags = [tag.strip() for tag in said["tags"].split(",") if tag.strip()]
        provenance = {key: said[key] for key in ("project", "licence", "commit", "taken") if said[key]}
        parts = {"params": params, "tools": said["tools"], "tags": tags, "provenance": provenance}
        document |= {key: value for key, value in parts.items() if value}
        if said["output"] == "json_schema":
            document["output"] = self._output(said)
        return canonical_json(document)

    def _output(self, said: dict[str, Json]) -> dict[str, Json]:
        read = read_json(said["json_schema"])
        if read.data is None:
            raise InvalidDocument([problem._replace(path="/output/json_schema") for problem in read.problems])
        repairs = {} if said["repairs"] is None else {"repairs": said["repairs"]}
        return {"json_schema": read.data, **repairs}

    def add_problems(self, problems: tuple[Problem, ...] | list[Problem]) -> None:
        """Put each problem beside the field that it is about."""
        for problem in problems:
            sentence = f"{problem.message} {problem.hint}".strip()
            self.add_error(self._field(problem.path), sentence)

    def _field(self, path: str) -> str | None:
        parts = path.strip("/").split("/")
        inner = parts[1] if len(parts) > 1 and parts[0] in ("params", "provenance", "output") else parts[0]
        return inner if inner in self.fields else ("json_schema" if parts[0] == "output" else None)


def agent_initial(document: dict[str, Json], number: int) -> dict[str, Json]:
    """What the form begins with for an agent's document."""
    params, output = document.get("params", {}), document.get("output", "text")
    thinking = params.get("thinking")
    initial = {key: document.get(key, "") for key in ("name", "title", "role", "description", "system", "prompt")}
    initial |= {key: document.get(key, "") for key in ("expects", "gives", "model")}
    initial |= {key: params.get(key) for key in PARAMS} | dict(document.get("provenance", {}))
    initial |= {
        "tags": ", ".join(document.get("tags", [])),
        "tools": document.get("tools", []),
        "stop": "\n".join(params.get("stop", [])),
        "thinking": "" if thinking is None else str(thinking).lower(),
        "output": "text" if output == "text" else "json_schema",
        "expected": number,
    }
    if isinstance(output, dict):
        initial["json_schema"] = json.dumps(output.get("json_schema"), indent=2, ensure_ascii=False)
        initial["repairs"] = output.get("repairs")
    return initial
