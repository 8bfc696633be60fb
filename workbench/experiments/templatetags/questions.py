"""Questions to people on pages of runs."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context

from workbench.experiments.models import Question, Run
from workbench.experiments.questions import outcome_words
from workbench.experiments.text import visible

register = template.Library()


@register.filter
def outcome(question: Question) -> str:
    """Who answered, when and what."""
    return visible(outcome_words(question))


@register.inclusion_tag("experiments/_run_questions.html", takes_context=True)
def run_questions(context: Context, run: Run) -> dict[str, Any]:
    """What a run asks now, with its forms; the part of the page asks for itself what comes later."""
    from workbench.experiments import questions_selectors, questions_views

    request = context["request"]
    asked = questions_selectors.run_questions(run)
    shown = questions_views.run_questions_context(request, run, asked)
    return {**shown, "csrf_token": context.get("csrf_token"), "request": request}
