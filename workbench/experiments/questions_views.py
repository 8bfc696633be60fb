"""Pages of questions to people, and the same for programs."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from workbench.catalog.authors import author_of
from workbench.experiments import questions_selectors as selectors
from workbench.experiments.models import Question, Run
from workbench.experiments.paging import page_of, query_without, whole_number
from workbench.experiments.questions import (
    FILES,
    AnsweredAlready,
    Given,
    NoAnswer,
    file_size_check,
    question_answer,
)
from workbench.experiments.views import HtmxRequest

PER_PAGE = 20
NAME_COOKIE = "name"
YEAR_S = 365 * 86_400


@require_GET
def question_list(request: HtmxRequest) -> HttpResponse:
    """Open questions, each with its form, and below what became of the others."""
    context = {
        "page": page_of(request, selectors.questions_listed(), PER_PAGE),
        "past": page_of(request, selectors.questions_past(), PER_PAGE, "past"),
        "query": query_without(request),
        "past_query": query_without(request, "past"),
        "attention": selectors.attention(),
        **form_context(request),
    }
    return render(request, "experiments/question_list.html", context)


@require_GET
def question_detail(request: HttpRequest, pk: int) -> HttpResponse:
    """One question with its form, or what became of it."""
    return question_page(request, question_of(pk))


@require_POST
def question_post(request: HttpRequest, pk: int) -> HttpResponse:
    """Answer it. Whoever comes second is told who was first, and what they said."""
    question = question_of(pk)
    by = request.POST.get("by", "").strip()[:200] or author_of(request)
    try:
        question_answer(question, given_by(request), by=by)
    except NoAnswer as error:
        return question_page(request, question, error=str(error))
    except AnsweredAlready as error:
        return question_page(request, question_of(pk), error=str(error), status=409)
    messages.success(request, f"Answered. Run {question.run_id} goes on.")
    after = request.POST.get("next", "")
    known = url_has_allowed_host_and_scheme(after, allowed_hosts={request.get_host()})
    response = redirect(after if known else reverse("question_list"))
    response.set_cookie(NAME_COOKIE, quote(by), max_age=YEAR_S, samesite="Lax", httponly=True)
    return response


def given_by(request: HttpRequest) -> Given:
    """What the form says. Raises `NoAnswer` for a file that is too large."""
    found = [file for file in request.FILES.getlist("files") if isinstance(file, UploadedFile)]
    for file in found:
        file_size_check(file.name or "file", file.size or 0)  # before it is read
    files = tuple((file.name or "file", file.read()) for file in found[: FILES + 1])
    choice = request.POST.get("choice", "").replace("\r\n", "\n")  # as browsers send a line's end
    return Given(choice or None, request.POST.get("text", ""), files)


def question_of(pk: int) -> Question:
    """The question with all that its page names, or 404."""
    return get_object_or_404(selectors.with_runs(Question.objects.all()), pk=pk)


def question_page(request: HttpRequest, question: Question, *, error: str = "", status: int = 200) -> HttpResponse:
    """The page of one question."""
    context = {
        "question": question,
        "open": selectors.is_open(question),
        "error": error,
        "typed": request.POST.get("text", ""),
        **form_context(request),
    }
    return render(request, "experiments/question_detail.html", context, status=status)


def form_context(request: HttpRequest) -> dict[str, Any]:
    """What every form of an answer needs: the name that this browser gave last."""
    return {
        "by": request.POST.get("by") or unquote(request.COOKIES.get(NAME_COOKIE, ""))[:200] or author_of(request),
        "next": request.POST.get("next", ""),
    }


@require_GET
def question_count(request: HttpRequest) -> HttpResponse:
    """The number in the navigation, which the script on the page puts into the title; for the list of questions, that
    there is a newer one than it shows."""
    shown = request.GET.get("newest")
    if shown is not None:
        return render(
            request, "experiments/_question_news.html", {"news": selectors.attention().newest > int_of(shown)}
        )
    return render(request, "experiments/_question_count.html", {"attention": selectors.attention()})


def int_of(text: str) -> int:
    """A number from the address; 0 for anything else."""
    return whole_number(text) or 0


@require_GET
def run_questions(request: HtmxRequest, pk: int) -> HttpResponse:
    """The open questions of a run, for its page. Nothing new is answered by nothing, so that what is typed stays."""
    run = get_object_or_404(Run, pk=pk)
    asked = selectors.run_questions(run)
    if request.htmx and not run.has_ended and request.GET.get("seen") == seen(asked):
        return HttpResponse(status=204)
    return render(request, "experiments/_run_questions.html", {**run_questions_context(request, run, asked)})


def run_questions_context(request: HttpRequest, run: Run, asked: list[Question]) -> dict[str, Any]:
    """What the part of a run's page shows."""
    active = not run.has_ended
    context = {"run": run, "asked": asked, "seen": seen(asked), "active": active, **form_context(request)}
    return {**context, "next": run.get_absolute_url()}


def seen(asked: list[Question]) -> str:
    """Changes when another question is open, or one no more."""
    return "-".join(str(question.pk) for question in asked)


# For programs


@require_GET
def questions_api(request: HttpRequest) -> JsonResponse:
    """The open questions."""
    found = selectors.questions_listed()[:1000]
    return JsonResponse({"questions": [selectors.question_json(question) for question in found]})


@csrf_exempt
@require_POST
def answer_api(request: HttpRequest, pk: int) -> JsonResponse:
    """Answer one: `{"choice": …, "text": …, "by": …}`. Another site's page can't do this: no form sends JSON, and a
    script may not without our leave, which nobody is given."""
    question = Question.objects.select_related("run").filter(pk=pk).first()
    if question is None:
        return refused(404, "not_found", f"There is no question {pk}.")
    origin = request.headers.get("Origin")
    if request.content_type != "application/json" or (origin and urlsplit(origin).netloc != request.get_host()):
        return refused(415, "not_json", "Send JSON, with the content type application/json, and from no other site.")
    try:
        said = json.loads(request.body)
        if not isinstance(said, dict) or not all(isinstance(said.get(key, ""), str) for key in ("text", "by")):
            raise ValueError
        choice = said.get("choice")
        if (choice is not None and not isinstance(choice, str)) or set(said) - {"choice", "text", "by"}:
            raise ValueError
    except (ValueError, RecursionError):
        return refused(400, "bad_answer", 'An answer is an object with "choice", "text" and "by", each a text.')
    try:
        answered = question_answer(
            question, Given(choice, said.get("text", "")), by=said.get("by") or author_of(request)
        )
    except NoAnswer as error:
        return refused(400, error.code, str(error))
    except AnsweredAlready as error:
        question = Question.objects.select_related("run").get(pk=pk)
        return refused(409, error.code, str(error), question=selectors.question_json(question))
    return JsonResponse(selectors.question_json(answered))


def refused(status: int, code: str, message: str, **more: Any) -> JsonResponse:
    """Why not, for a program and for whoever reads its log."""
    return JsonResponse({"error": {"code": code, "message": message}, **more}, status=status)
