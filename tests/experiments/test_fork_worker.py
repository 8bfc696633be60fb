"""A fork on a real worker: queued by the page's service, begun by its ticket, ended like any run."""

from __future__ import annotations

FORK = """
from workbench.engine.forking import Change
from workbench.engine.recorded import Place
from workbench.experiments.forking import Wish, run_fork
from workbench.experiments.forking_many import experiment_fork
from workbench.experiments.models import Experiment, Run

wish = Wish(Place((), "step4", 1), Change(settings={"prompt": "Again: {{ inbox }}"}))
"""


def test_forks_of_a_run_and_of_an_experiment_make_only_their_own_calls(bench):
    bench.worker()
    keys = ["i000", "i001", "i002"]
    number = bench.start(dataset="twenty", instances=keys, configurations=[{"topology": "quick"}])
    bench.wait_for(f"SELECT status FROM experiments_experiment WHERE id = {number}", "finished")

    alone = int(bench.python(FORK + "print(run_fork(Run.objects.order_by('pk').first(), wish).pk)"))
    many = int(bench.python(FORK + f"print(experiment_fork(Experiment.objects.get(pk={number}), wish).pk)"))

    bench.wait_for(f"SELECT status FROM experiments_run WHERE id = {alone}", "succeeded")
    bench.wait_for(f"SELECT status FROM experiments_experiment WHERE id = {many}", "finished")
    calls = "SELECT MIN(model_calls), MAX(model_calls), COUNT(*) FROM experiments_run WHERE"
    assert bench.rows(f"{calls} parent_id IS NOT NULL") == [(2, 2, 4)]
    assert bench.rows(f"{calls} experiment_id = {number}") == [(5, 5, 3)]
    taken = "SELECT COUNT(*) FROM experiments_runevent WHERE attempt = 0 AND kind = 'model_called'"
    assert bench.rows(taken) == [(4 * 3,)]
