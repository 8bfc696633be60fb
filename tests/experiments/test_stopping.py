"""Stop from every state: `stopped` within two seconds, and nothing arrives afterwards. Real workers, real queue."""

from __future__ import annotations

import json

import pytest

from tests.experiments.workbenches import chain, running_workbench
from workbench.engine.providers._fake_models import FakeModels, Says

WITHIN_S = 2.0

STOP = """
import json, time
import redis
from workbench.experiments.live.wire import bell_name, redis_url, stream_key
from workbench.experiments.models import Run
from workbench.experiments.services import run_stop

client, stopped = redis.Redis.from_url(redis_url()), {{}}
for name, pk in {runs}.items():
    run = Run.objects.get(pk=pk)
    client.publish(bell_name(redis_url()), f"watch test {{pk}}")
    while run.status == "running" and not client.xlen(stream_key(pk)):
        time.sleep(0.02)
    asked = time.monotonic()
    run_stop(run)
    while run.status != "stopped" and time.monotonic() - asked < 20:
        time.sleep(0.01)
        run.refresh_from_db()
    took = time.monotonic() - asked
    stopped[name] = {{"took": took, "status": run.status, "reason": run.reason, "events": run.events.count()}}
time.sleep(1)
for name, pk in {runs}.items():
    told = [json.loads(fields[b"entry"]) for _, fields in client.xrange(stream_key(pk))]
    stopped[name] |= {{"later": Run.objects.get(pk=pk).events.count(), "told": told}}
print(json.dumps(stopped))
"""

SLEEP = "import pathlib, time; pathlib.Path('begun').touch(); time.sleep(60)"
HUMAN = {"type": "human", "question": "Go on?"}
STARTED = "SELECT COUNT(*) >= {wanted} FROM experiments_runevent WHERE run_id = {run} AND kind = 'visit_started'"
FAILED = "SELECT COUNT(*) >= {wanted} FROM experiments_runevent WHERE run_id = {run} AND status = 'rate_limited'"
WAITS = "SELECT COUNT(*) FROM experiments_run WHERE id = {run} AND status = 'waiting'"
RUNS = """
SELECT c.label, r.id FROM experiments_run r JOIN experiments_configuration c ON c.id = r.configuration_id ORDER BY r.id
"""


def one(name, node):
    """A topology of one node."""
    document = chain(name, "scripted/endless", 1)
    document["nodes"] = {"step1": node}
    return document


def agent(model):
    return {"type": "agent", "prompt": "{{ inbox }}", "model": model}


def side_by_side(name, node):
    """A question to a person, and another node that does not wait for the answer."""
    document = one(name, {"type": "passthrough"})
    document["nodes"] |= {"person": HUMAN, "other": node}
    document["end"] = ["person", "other"]
    document["edges"] = [{"from": "step1", "to": "person"}, {"from": "step1", "to": "other"}]
    return document


STATES = {
    "a model call": (one("calling", agent("ollama/slow")), STARTED, 1),
    "a turn at the provider": (one("behind", agent("ollama/slow")), STARTED, 1),
    "code in the sandbox": (one("coding", {"type": "python", "code": SLEEP}), STARTED, 1),
    "a nested topology": (
        one("nested", {"type": "topology", "topology": chain("inner", "scripted/endless", 2)}), STARTED, 2
    ),
    "a pause before the next attempt": (one("backing_off", agent("scripted/refused")), FAILED, 1),
    "a person, while other work goes on": (side_by_side("both", agent("scripted/endless")), STARTED, 2),
    "a person": (one("asking", HUMAN), WAITS, 1),
}  # fmt: skip
"""State → the topology of one run, and by what one knows that the run is there."""


@pytest.fixture(scope="module")
def fake():
    with FakeModels() as fake:
        yield fake


@pytest.fixture(scope="module")
def stopped(tmp_path_factory, template, fake):
    """What came of stopping a run in each state, with one worker whose Ollama answers one call at a time."""
    environ = {"OLLAMA_URL": fake.url, "WORKBENCH_PROVIDER_LIMITS": "ollama=1", "WORKBENCH_RUN_STALE_S": "20"}
    fake.replies.append(Says("Too late", wait_headers=60))
    with running_workbench(tmp_path_factory.mktemp("stopping") / "home", template, **environ) as bench:
        prepare(bench)
        bench.worker()
        configurations = [{"topology": document["name"], "label": state} for state, (document, *_) in STATES.items()]
        bench.start(dataset="twenty", instances=["i000"], configurations=configurations)
        runs = dict(bench.rows(RUNS))
        for state, (_, there, wanted) in STATES.items():
            bench.wait_for(there.format(run=runs[state], wanted=wanted), 1)
        found = json.loads(bench.python(STOP.format(runs=dict(reversed(runs.items())))))
        yield found, bench.logs()


def prepare(bench):
    refused = {"code": "rate_limited", "retry_after": 60}
    (bench.scripts / "refused.json").write_text(json.dumps({"default": {"fault": refused}}))
    texts = {document["name"]: json.dumps(document) for document, *_ in STATES.values()}
    bench.python(
        "from workbench.topologies.services import topology_save\n"
        f"for name, text in {texts!r}.items(): topology_save(name, text, 'For the test', 'test')"
    )


@pytest.mark.parametrize("state", STATES)
def test_a_run_is_stopped_in_time_and_nothing_arrives_afterwards(stopped, state):
    found, logs = stopped
    said = found[state]

    assert said["status"] == "stopped", logs
    assert said["took"] < WITHIN_S, logs
    assert said["reason"] == "Stopped by a person."
    assert said["later"] == said["events"]
    if state != "a person":  # nobody works on that one, so nobody tells
        assert said["told"][-1]["status"] == "stopped"
        assert said["told"][-1]["now"]["calls"] == []


def test_a_call_that_waits_for_its_turn_is_never_made(stopped, fake):
    found, _ = stopped

    phases = {
        state: [call["phase"] for call in found[state]["told"][0]["now"]["calls"]]
        for state in STATES
        if found[state]["told"]
    }

    assert sorted(phases["a model call"] + phases["a turn at the provider"]) == ["answer", "turn"]
    assert phases["a pause before the next attempt"] == ["pause"]
    assert phases["code in the sandbox"] == ["tool"]
    assert sum(request.path == "/api/chat" for request in fake.requests) == 1
