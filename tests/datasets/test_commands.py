"""`workbench dataset`: import, list, show."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from tests import databases
from workbench.cli import workbench
from workbench.datasets.models import DatasetVersion

LINE = '{"id": "a", "problem": "What?", "reference": ["x", "y"], "metadata": {"k": "é"}}\n'


def run(*arguments):
    return CliRunner().invoke(workbench, ["dataset", *map(str, arguments)])


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "my-set.jsonl"
    path.write_text(LINE, encoding="utf-8")
    return path


@pytest.mark.django_db
def test_import_says_what_was_made_and_a_second_time_that_nothing_was(file):
    first, second = run("import", file, "--name", "mine", "--title", "My own"), run("import", file, "--name", "mine")

    assert (first.exit_code, first.stdout) == (0, "mine@1: 1 instance.\n")
    assert (second.exit_code, second.stdout) == (0, "mine@1 holds exactly this already: there is no new version.\n")


@pytest.mark.django_db
def test_name_is_the_files_where_none_is_given(file):
    assert run("import", file).stdout == "my-set@1: 1 instance.\n"


@pytest.mark.django_db
def test_bad_lines_are_named_and_nothing_is_imported(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("id,problem\na,p\na,p\n" + "b\n" * 30)

    result = run("import", path)

    assert result.exit_code == 2
    assert "workbench: Line 3, id: 'a' stands in line 2 already." in result.stderr
    assert "… and 11 more." in result.stderr
    assert result.stderr.endswith("nothing was imported.\n")
    assert not DatasetVersion.objects.exists()


@pytest.mark.django_db
def test_list_and_show_tell_people_and_programs_the_same(file):
    run("import", file, "--name", "mine", "--title", "My own")

    assert json.loads(run("list", "--json").stdout) == [
        {"name": "mine", "title": "My own", "version": 1, "instances": 1}
    ]
    assert "mine  version   1        1 instances  My own" in run("list").stdout
    assert "a  What?" in run("show", "mine").stdout
    shown = json.loads(run("show", "mine@1", "--json").stdout)
    assert shown["instances"] == [
        {"id": "a", "problem": "What?", "files": {}, "reference": ["x", "y"], "metadata": {"k": "é"}, "split": ""}
    ]


@pytest.mark.django_db
def test_list_of_nothing_says_how_to_begin():
    assert "workbench dataset import FILE" in run("list").stdout


def test_first_command_on_an_empty_home_makes_the_database_and_an_unknown_name_is_a_sentence(tmp_path, file):
    home = {**os.environ, "WORKBENCH_HOME": str(tmp_path / "home")}

    def command(*arguments):
        program = [sys.executable, "-c", "from workbench.cli import main; main()", "dataset", *map(str, arguments)]
        return subprocess.run(program, capture_output=True, text=True, env=home, check=False)

    done, missing, nowhere = command("import", file), command("show", "my-sat"), command("import", "none.jsonl")

    assert (done.returncode, done.stdout) == (0, "my-set@1: 1 instance.\n")
    assert (missing.returncode, missing.stderr) == (
        2,
        "workbench: There is no data set 'my-sat'. Did you mean 'my-set'? There is my-set.\n",
    )
    assert "none.jsonl can't be read: no such file or directory." in nowhere.stderr


@pytest.mark.parametrize("command", [["dataset", "list"], ["doctor"]])
def test_file_that_is_no_database_is_a_sentence_that_says_what_to_do(tmp_path, command):
    (tmp_path / "workbench.sqlite3").write_text("no database " * 1000)
    environ = {**os.environ, "WORKBENCH_HOME": str(tmp_path)}
    environ.pop("DATABASE_URL", None)

    program = [sys.executable, "-c", "from workbench.cli import main; main()", *command]
    done = subprocess.run(program, capture_output=True, text=True, env=environ, check=False)

    assert done.returncode == (2 if command[0] == "dataset" else 1)
    assert "file is not a database" in done.stdout + done.stderr
    assert ("`workbench doctor`" if command[0] == "dataset" else "Move the file away") in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_commands_that_come_at_once_to_an_empty_home_all_succeed(tmp_path, file):
    environ = {**os.environ, **databases.environ(tmp_path / "home")}
    program = [sys.executable, "-c", "from workbench.cli import main; main()", "dataset", "import", str(file)]

    together = [subprocess.Popen([*program, "--name", name], env=environ, stderr=subprocess.PIPE) for name in "abc"]

    assert [(one.communicate()[1], one.returncode) for one in together] == [(b"", 0)] * 3
