from __future__ import annotations

import json
import threading
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from tests.experiments.rows import make_experiment, make_run
from workbench.experiments import lifecycle
from workbench.experiments.models import Question, Run, Upload
from workbench.experiments.questions import AnsweredAlready, Given, answers_of, question_answer, questions_expire

pytestmark = pytest.mark.django_db


def make_question(run=None, **fields) -> Question:
    """An open question of a run that waits for it."""
    run = run or make_run(status="waiting", owner="")
    made = {"key": f"k{run.pk}-{run.questions.count()}", "node": "ask", "visit": 1, "asker": "human"}
    made |= {"text": "Publish it?", "told": "A draft.", "asked_at": timezone.now()}
    return Question.objects.create(run=run, **{**made, **fields})


def answer(client, question, **fields):
    return client.post(reverse("question_answer", args=[question.pk]), fields)


def api(client, question, said, **headers):
    address = reverse("answer_api", args=[question.pk])
    return client.post(address, json.dumps(said), content_type="application/json", headers=headers)


def status_of(run_id) -> str:
    return Run.objects.values_list("status", flat=True).get(pk=run_id)


def test_page_shows_what_is_asked_with_its_context_and_offers_the_choices(client):
    question = make_question(
        choices=["yes", "no <b>"], free=False, default="yes", deadline=timezone.now() + timedelta(1)
    )
    make_question(make_run(status="stopped"), text="Too late?")

    page = client.get(reverse("question_list")).content.decode()

    assert "Publish it?" in page
    assert "A draft." in page
    assert f"Run {question.run_id}" in page
    assert '<button class="button" name="choice" value="yes"' in page
    assert "no &lt;b&gt;" in page
    assert "<q>yes</q> is taken" in page
    assert "Withdrawn: the run is stopped" in page
    assert "A draft." in client.get(question.run.get_absolute_url()).content.decode()


def test_an_answer_sends_the_run_on_and_is_history(client):
    question = make_question(choices=["yes", "no"], free=False)

    response = answer(
        client, question, choice="yes", text=" fine\r\nso ", by="Ada", next=question.run.get_absolute_url()
    )

    assert response.headers["Location"] == question.run.get_absolute_url()
    assert status_of(question.run_id) == "queued"
    question.refresh_from_db()
    assert (question.choice, question.answer, question.answered_by) == ("yes", "fine\nso", "Ada")
    assert "Ada answered" in client.get(reverse("question_list")).content.decode()
    assert 'value="Ada"' in client.get(make_question().get_absolute_url()).content.decode()


@pytest.mark.parametrize(
    ("fields", "given", "sentence"),
    [
        ({"choices": ["yes"], "free": False}, {"text": "maybe"}, "Choose one of the answers."),
        ({"choices": ["yes"], "free": False}, {"choice": "no"}, "&#x27;no&#x27; is none of the choices: yes."),
        ({}, {"text": "  "}, "Write an answer."),
        ({}, {"text": "here", "files": SimpleUploadedFile("a.bin", b"x" * 5_000_001)}, "has 5,000,001 bytes"),
    ],
)
def test_an_answer_that_says_nothing_comes_back_as_the_form(client, fields, given, sentence):
    question = make_question(**fields)

    response = answer(client, question, **given)

    assert response.status_code == 200
    assert sentence in response.content.decode()
    assert status_of(question.run_id) == "waiting"


def test_files_are_kept_by_content_under_names_that_any_system_holds(client):
    question = make_question()
    files = [SimpleUploadedFile("..evil name?.txt", b"one"), SimpleUploadedFile("b.csv", b"two")]
    files.append(SimpleUploadedFile(f"{'報告' * 48}.txt", b"three"))

    answer(client, question, text="", files=files)

    (kept,) = answers_of(question.run_id).values()
    assert [file.name for file in kept.files] == ["evil name_.txt", "b.csv", f"{('報告' * 48)[-65:]}.txt"]
    assert bytes(Upload.objects.get(sha256=kept.files[1].sha256).data) == b"two"


def test_a_name_in_any_script_is_remembered(client):
    response = answer(client, make_question(), text="So be it.", by="山田 太郎")

    assert response.cookies["name"].output().isascii()  # a header holds nothing else
    make_question()
    assert 'value="山田 太郎"' in client.get(reverse("question_list")).content.decode()


@pytest.mark.parametrize("by", ["Ada\0", "Ada\ud800"])
def test_a_name_that_no_column_holds_is_kept_as_far_as_it_goes(client, by):
    question = make_question()

    assert api(client, question, {"text": "Yes.", "by": by}).status_code == 200

    question.refresh_from_db()
    assert question.answered_by[:3] == "Ada"


def test_whoever_comes_second_is_told_who_was_first_and_what_they_said(client):
    question = make_question(choices=["yes", "no"])
    answer(client, question, choice="yes", by="Ada")

    page = answer(client, question, choice="no", text="My reasons", by="Bob")
    program = api(client, question, {"choice": "no"})

    assert page.status_code == program.status_code == 409
    assert "Ada answered" in page.content.decode()
    assert "My reasons" in page.content.decode()
    assert program.json()["question"]["choice"] == "yes"
    assert "Your answer was not taken." in program.json()["error"]["message"]
    assert list(Question.objects.values_list("choice", "answered_by")) == [("yes", "Ada")]


@pytest.mark.parametrize("status", ["stopping", "stopped", "failed", "succeeded"])
def test_a_run_that_ends_takes_its_questions_off_the_table(client, status):
    question = make_question(make_run(status=status))

    assert "Nobody asks anything." in client.get(reverse("question_list")).content.decode()
    assert answer(client, question, text="Still?").status_code == 409
    assert questions_expire() == 0


def test_programs_read_and_answer_and_no_other_site_can(client):
    question = make_question(choices=["yes"])
    strict = type(client)(enforce_csrf_checks=True)
    (listed,) = strict.get(reverse("questions_api")).json()["questions"]
    assert (listed["id"], listed["question"], listed["told"], listed["status"]) == (
        question.pk, "Publish it?", "A draft.", "open",
    )  # fmt: skip
    address = reverse("answer_api", args=[question.pk])

    assert strict.post(address, {"text": "x"}).status_code == 415
    assert strict.post(address, '{"text": "x"}', content_type="text/plain").status_code == 415
    assert api(strict, question, {"text": "x"}, origin="https://elsewhere.example").status_code == 415
    assert strict.post(address, "[" * 3000, content_type="application/json").status_code == 400
    assert api(strict, question, {"words": "x"}).status_code == 400
    assert api(strict, question, {"choice": "no"}).json()["error"]["code"] == "no_answer"
    assert answer(strict, question, text="x").status_code == 403
    assert status_of(question.run_id) == "waiting"
    done = api(strict, question, {"text": "words of its own", "by": "a program"})

    assert (done.status_code, done.json()["answered_by"]) == (200, "a program")
    assert status_of(question.run_id) == "queued"


@pytest.mark.parametrize(("default", "choice"), [(None, None), ("no", "no"), ("rather not", None)])
def test_time_runs_out_for_those_that_have_one(default, choice):
    past, later = timezone.now() - timedelta(seconds=1), timezone.now() + timedelta(hours=1)
    over = make_question(deadline=past, default=default, choices=["yes", "no"])
    waits = make_question(deadline=later)

    assert questions_expire() == 1
    assert questions_expire() == 0

    (answered,) = answers_of(over.run_id).values()
    assert (answered.timed_out, answered.text, answered.choice) == (True, default or "", choice)
    assert (status_of(over.run_id), status_of(waits.run_id)) == ("queued", "waiting")


def test_a_run_lets_go_only_of_questions_that_are_still_open():
    held = {"status": "running", "owner": "here", "attempt": 3}
    waits, answered, stopping = make_run(**held), make_run(**held), make_run(**{**held, "status": "stopping"})
    for run in (waits, answered, stopping):
        make_question(run, key="a")
    question_answer(answered.questions.get(), Given(text="now"), by="ada")
    assert status_of(answered.pk) == "running"

    found = [lifecycle.run_wait(run, ["a"], reason="", seconds=1.0) for run in (waits, answered, stopping)]

    assert found == ["waiting", "queued", "stopped"]
    assert set(Run.objects.values_list("owner", flat=True)) == {""}
    assert lifecycle.run_wait(waits, ["a"]) == ""


@pytest.mark.django_db(transaction=True)
def test_of_many_who_answer_at_once_one_is_first():
    question = make_question(make_run(status="running"))
    gate, won, late = threading.Barrier(6), [], []

    def somebody(name):
        gate.wait()
        try:
            question_answer(Question.objects.get(pk=question.pk), Given(text=name), by=name)
            won.append(name)
        except AnsweredAlready:
            late.append(name)
        finally:
            connection.close()

    def letting_go():
        gate.wait()
        try:
            lifecycle.run_wait(question.run, [question.key])
        finally:
            connection.close()

    threads = [threading.Thread(target=somebody, args=(name,)) for name in "abcde"]
    threads.append(threading.Thread(target=letting_go))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    question.refresh_from_db()
    assert (won, len(late)) == ([question.answered_by], 4)
    assert status_of(question.run_id) == "queued"


def test_a_run_played_from_a_script_is_no_business_of_the_page(client):
    question = make_question(make_run(status="waiting", owner="", scripted=True))

    assert "Nobody asks anything." in client.get(reverse("question_list")).content.decode()
    assert answer(client, question, text="x").status_code == 409


def test_an_experiment_says_how_many_of_its_runs_wait_for_people(client):
    experiment = make_experiment(runs=2, run={"status": "waiting", "started_at": timezone.now()})

    page = client.get(experiment.get_absolute_url()).content.decode()

    assert f'2 runs wait for a person: <a href="{reverse("question_list")}">' in page
