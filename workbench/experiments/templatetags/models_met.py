"""Which models runs have met, in which state: `{% models_of_run run %}`, `{% models_of_experiment experiment %}`."""

from __future__ import annotations

from typing import Any

from django import template

from workbench.experiments import digests
from workbench.experiments.models import Experiment, Run

register = template.Library()
TEMPLATE = "experiments/_models_met.html"


@register.inclusion_tag(TEMPLATE)
def models_of_run(run: Run) -> dict[str, Any]:
    """The models of its plan, as its last attempt met them."""
    asked = digests.models_planned(run.plan)
    return {"met": digests.models_met(asked, digests.versions_of(run)) if asked else []}


@register.inclusion_tag(TEMPLATE)
def models_of_experiment(experiment: Experiment) -> dict[str, Any]:
    """Each state that its runs met, once; several of one model are a warning."""
    met = digests.experiment_models(experiment)
    names = [it.model for it in met if it.digest]
    return {"met": met, "changed": sorted({name for name in names if names.count(name) > 1})}
