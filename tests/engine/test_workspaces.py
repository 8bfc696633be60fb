"""The files of a run: versions, branches side by side, going on after a crash, hostile code, quotas."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.engine.support import asks, planned, run, topology
from workbench.engine.context import RunInput
from workbench.engine.events import EVENT, MemoryJournal
from workbench.engine.filestore import Quota
from workbench.engine.workspaces import Workspace, repository_of, workspace_fork

PASS = {"type": "passthrough"}
LITERAL = {"type": "literal", "content": "go"}


def write(path, content):
    return {"type": "tool", "tool": "write_file", "args": {"path": path, "content": content}}


def code(text, **fields):
    return {"type": "python", "code": text, **fields}


LIST = {"type": "tool", "tool": "list_files", "args": {}}


def side_by_side(a, b, last=LIST, **fields):
    """Two nodes that nothing orders, and one that both lead to."""
    return topology(
        {"s": LITERAL, "a": a, "b": b, "t": last},
        [("s", "a"), ("s", "b"), ("a", "t"), ("b", "t")],
        **fields,
    )


def of_kind(journal, kind):
    return [event for event in journal.events if event.kind == kind]


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def git(workspace, *command):
    done = subprocess.run(
        ["git", f"--git-dir={repository_of(workspace)}", *command], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_run_that_touches_no_file_makes_none(tmp_path):
    workspace = tmp_path / "w"

    result, _ = run(topology({"a": asks("p"), "t": PASS}, [("a", "t")]), {"default": "x"}, workspace=workspace)

    assert (result.status, result.commit, result.diff) == ("succeeded", "", "")
    assert list(tmp_path.iterdir()) == []


def test_each_visit_that_changed_files_leaves_a_commit_that_any_git_reads(tmp_path):
    given = RunInput("go", files={"src/app.py": "print(1)\n"})
    document = topology(
        {"a": write("src/app.py", "print(2)\n"), "b": LIST, "c": write("new.txt", "x")}, [("a", "b"), ("b", "c")]
    )

    result, journal = run(document, workspace=tmp_path / "w", given=given)

    commits = {event.node: event.commit for event in of_kind(journal, "visit_ended")}
    assert commits["b"] == ""
    assert git(tmp_path / "w", "show", "--format=", "--name-status", commits["a"]) == "M\tsrc/app.py\n"
    assert git(tmp_path / "w", "log", "--format=%s", "main").split() == ["c/1", "a/1", "start"]
    assert result.commit == commits["c"] == git(tmp_path / "w", "rev-parse", "main").strip()
    assert "-print(1)\n+print(2)\n" in result.diff
    assert files_in(tmp_path / "w") == {"src/app.py": "print(2)\n", "new.txt": "x"}
    git(tmp_path / "w", "fsck", "--strict")


def test_branches_side_by_side_do_not_see_each_other_and_meet_joined(tmp_path):
    see = "import os; open('{0}','w').write('{0}'); print(sorted(os.listdir()))"
    document = side_by_side(code(see.format("a")), code(see.format("b")))

    result, _ = run(document, workspace=tmp_path / "w")

    assert result.node_outputs["a"] == ["['a']\n"]
    assert result.node_outputs["b"] == ["['b']\n"]
    assert result.output == "a\nb"
    assert files_in(tmp_path / "w") == {"a": "a", "b": "b"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["w", "w.git"]


def test_changes_of_one_file_side_by_side_are_joined_line_by_line(tmp_path):
    lines = [f"{number}\n" for number in range(9)]
    one, other = "".join(["A\n", *lines[1:]]), "".join([*lines[:8], "B\n"])
    given = RunInput("go", files={"f": "".join(lines)})

    result, _ = run(side_by_side(write("f", one), write("f", other)), workspace=tmp_path / "w", given=given)

    assert result.status == "succeeded"
    assert files_in(tmp_path / "w")["f"] == "".join(["A\n", *lines[1:8], "B\n"])


@pytest.mark.parametrize("last", [LIST, LITERAL], ids=["where they meet", "at the end"])
def test_contradiction_fails_the_run_and_shows_both_sides(tmp_path, last):
    document = side_by_side(write("f", "one"), write("f", "two"), last)

    result, journal = run(document, workspace=tmp_path / "w")

    assert (result.status, result.code) == ("failed", "merge_conflict")
    assert "a 1 and b 1" in result.reason
    assert "f." in result.reason
    [conflict] = of_kind(journal, "merge_conflicted")
    assert (conflict.paths, conflict.names) == (("f",), ("a 1", "b 1"))
    assert [git(tmp_path / "w", "show", f"{side}:f") for side in conflict.sides] == ["one", "two"]
    assert "+one" in result.diff


@pytest.mark.parametrize(("merge", "stands", "dropped"), [("first", "1", 2), ("vote", "2", 1)])
def test_topology_may_say_whose_files_stand(tmp_path, merge, stands, dropped):
    writers = {"a": write("f", "1"), "b": write("f", "2"), "c": write("f", "2")}
    document = topology(
        {"s": LITERAL, **writers, "t": LIST},
        [*(("s", name) for name in writers), *((name, "t") for name in writers)],
        workspace={"merge": merge},
    )

    result, journal = run(document, workspace=tmp_path / "w")

    assert result.status == "succeeded"
    assert files_in(tmp_path / "w") == {"f": stands}
    assert [note.code for note in of_kind(journal, "noted")] == ["merge_dropped"] * dropped


def test_units_of_a_map_work_apart_and_are_joined_in_their_order(tmp_path):
    each = "import os,sys; name=sys.stdin.read().strip(); assert not os.listdir(); open(name,'w').write(name)"
    document = topology(
        {"s": LITERAL, "m": code(each), "t": LIST},
        [("s", "m", {"map": {"split": {"regex": "[a-z]"}, "max_parallel": 3}}), ("m", "t")],
    )

    result, journal = run(document, workspace=tmp_path / "w", given="go")

    assert result.status == "succeeded", result.reason
    assert set(files_in(tmp_path / "w")) == {"g", "o"}
    assert [event.node for event in of_kind(journal, "visit_ended") if event.commit] == ["m"]


def test_nested_topology_works_on_the_same_files(tmp_path):
    inner = topology({"x": write("inner", "i"), "y": LIST}, [("x", "y")])
    document = topology(
        {"a": write("outer", "o"), "n": {"type": "topology", "topology": inner}, "t": LIST}, [("a", "n"), ("n", "t")]
    )

    result, _ = run(document, workspace=tmp_path / "w")

    assert result.node_outputs["n"] == ["inner\nouter"]
    assert result.output == "inner\nouter"


TWO_CALLS = topology(
    {"a": asks("p", tools=["write_file"]), "b": asks("q", tools=["write_file"]), "t": LIST}, [("a", "b"), ("b", "t")]
)


def call(path, content):
    return {"text": "", "tool_calls": [{"name": "write_file", "arguments": {"path": path, "content": content}}]}


TWO_SCRIPT = {"nodes": {"a": [call("x", "1"), call("y", "2"), "A"], "b": [call("x", "3"), "B"]}}


def test_run_that_died_goes_on_with_the_files_as_they_were_when_the_interrupted_call_began(tmp_path):
    whole, journal = run(TWO_CALLS, TWO_SCRIPT, workspace=tmp_path / "whole")
    events = [EVENT.validate_json(event.model_dump_json()) for event in journal.events]

    for cut in range(1, len(events)):
        workspace = tmp_path / f"cut{cut}"
        workspace_fork(tmp_path / "whole", workspace)
        workspace.mkdir()
        (workspace / "x").write_text("half do")  # what the interrupted call, and one after it, may have left
        (workspace / "junk").mkdir()
        (workspace / "junk" / "more").write_text("junk")
        again, rest = run(TWO_CALLS, TWO_SCRIPT, workspace=workspace, journal=MemoryJournal(events[:cut]))

        assert (again.status, again.output, again.commit, again.diff) == (
            whole.status,
            "x\ny",
            whole.commit,
            whole.diff,
        )
        assert files_in(workspace) == {"x": "3", "y": "2"}
        made = [event for event in [*events[:cut], *rest.events] if event.kind == "visit_ended"]
        assert [event.commit for event in made] == [event.commit for event in events if event.kind == "visit_ended"]


def named(content="x"):
    """A node that writes a file named as its last message."""
    return write("{{ inbox[-1].text }}", content)


INNER = topology({"x": write("inner", "{{ run.id }}"), "y": write("inner", "{{ nodes.x.output }}")}, [("x", "y")])
BRANCHES = side_by_side(write("a", "1"), write("b", "2"), write("c", "3"))
MAPPED = topology(
    {
        "s": {"type": "literal", "content": "x y z"},
        "m": named(),
        "n": {"type": "topology", "topology": INNER},
        "t": LIST,
    },
    [("s", "m", {"map": {"split": {"regex": "[a-z]"}}}), ("s", "n"), ("m", "t"), ("n", "t")],
)
LOOP = topology(
    {"w": write("log", "{{ visit }}"), "v": write("side", "{{ visit }}"), "t": LIST},
    [("w", "v"), ("v", "w", {"max": 2}), ("v", "t", {"when": {"otherwise": True}})],
)
RETRIED = topology(
    {"a": write("kept", "k"), "b": asks("p", tools=["write_file"], retries=1), "t": LIST}, [("a", "b"), ("b", "t")]
)
RETRIED_SCRIPT = {"nodes": {"b": [call("one", "1"), {"fault": "broken"}, call("two", "2"), "done"]}}


@pytest.mark.parametrize(
    ("document", "script", "left"),
    [
        (BRANCHES, {}, "a b c"),
        (MAPPED, {}, "inner x y z"),
        (LOOP, {}, "log side"),
        (RETRIED, RETRIED_SCRIPT, "kept two"),
    ],
    ids=["branches", "map and nested", "loop", "retries"],
)
def test_run_that_died_anywhere_leaves_the_same_versions(tmp_path, document, script, left):
    whole, journal = run(document, script, workspace=tmp_path / "whole")
    events = [EVENT.validate_json(event.model_dump_json()) for event in journal.events]
    ends = {(event.path, event.node, event.visit): event.commit for event in events if event.kind == "visit_ended"}
    assert whole.status == "succeeded", whole.reason
    assert sorted(files_in(tmp_path / "whole")) == left.split()

    for cut in range(1, len(events)):
        workspace = tmp_path / f"cut{cut}"
        workspace_fork(tmp_path / "whole", workspace)
        workspace.mkdir()
        (workspace / "junk").write_text("junk")
        again, rest = run(document, script, workspace=workspace, journal=MemoryJournal(events[:cut]))

        assert (again.status, again.commit, again.diff) == (whole.status, whole.commit, whole.diff)
        made = [event for event in [*events[:cut], *rest.events] if event.kind == "visit_ended"]
        assert {(event.path, event.node, event.visit): event.commit for event in made} == ends
        assert files_in(workspace) == files_in(tmp_path / "whole")


def test_a_later_attempt_works_apart_from_a_stalled_one(tmp_path):
    """A worker that was given up may wake and go on writing; the folder is only filled at the end."""
    whole, journal = run(BRANCHES, workspace=tmp_path / "whole")
    events = [event for event in journal.events if event.kind in ("visit_started", "visit_ended", "tool_called")][:4]
    stalled = tmp_path / "again"
    workspace_fork(tmp_path / "whole", stalled)
    space = Workspace(stalled, {}, Quota(), attempt=1)
    old = space.take(space.store.tree_of(space.start()), alone=True)

    again, _ = run(BRANCHES, workspace=stalled, journal=MemoryJournal(events), attempt=2)

    assert old.path == stalled
    assert (again.status, again.commit) == ("succeeded", whole.commit)
    assert files_in(stalled) == {"a": "1", "b": "2", "c": "3"}
    assert not (tmp_path / "again.beside").exists()


def test_join_at_the_first_goes_on_with_the_files_that_it_began_with(tmp_path):
    slow = code("import time; time.sleep(0.5); open('b','w').write('2')")
    document = topology(
        {"s": LITERAL, "a": write("a", "1"), "b": slow, "j": {**write("j", "3"), "join": "first"}, "t": LIST},
        [("s", "a"), ("s", "b"), ("a", "j"), ("b", "j"), ("j", "t")],
    )
    whole, journal = run(document, workspace=tmp_path / "whole")
    events = [EVENT.validate_json(event.model_dump_json()) for event in journal.events]
    assert (whole.output, set(files_in(tmp_path / "whole"))) == ("a\nj", {"a", "b", "j"})

    for cut in [at for at, event in enumerate(events, 1) if event.kind == "visit_ended"]:
        workspace_fork(tmp_path / "whole", tmp_path / f"cut{cut}")
        again, _ = run(document, workspace=tmp_path / f"cut{cut}", journal=MemoryJournal(events[:cut]))

        assert (again.status, again.output, again.diff) == ("succeeded", whole.output, whole.diff)


def test_each_retry_begins_with_the_files_as_they_were(tmp_path):
    text = "import os,sys; print(os.listdir()); open('half','w').write('x'); sys.exit(0 if os.path.exists('ok') else 1)"
    document = topology({"a": write("kept", "k"), "b": code(text, retries=2), "t": LIST}, [("a", "b"), ("b", "t")])

    result, journal = run(document, workspace=tmp_path / "w")

    assert result.status == "failed"
    calls = [event for event in of_kind(journal, "tool_called") if event.node == "b"]
    assert len(calls) == 3
    assert len({event.files for event in calls}) == 1  # the same start leaves the same
    assert git(tmp_path / "w", "ls-tree", "--name-only", calls[0].files).split() == ["half", "kept"]


def test_what_a_stopped_run_had_written_is_kept_as_partial(tmp_path):
    document = topology(
        {"a": write("done", "d"), "b": code("open('half','w').write('h'); import time; time.sleep(60)"), "t": PASS},
        [("a", "b"), ("b", "t")],
    )

    result, journal = run(document, workspace=tmp_path / "w", stop_after=2)

    assert (result.status, result.partial) == ("stopped", True)
    assert set(files_in(tmp_path / "w")) == {"done", "half"}
    assert "+++ b/half" in of_kind(journal, "run_ended")[0].diff


HOSTILE = r"""
import os, socket
os.symlink("/etc", "out")
os.symlink("../../../../../../etc/passwd", "up")
os.mkfifo("pipe")
os.makedirs(".git/hooks"); open(".git/hooks/post-checkout", "w").write("#!/bin/sh\ntouch /tmp/pwned\n")
os.chmod(".git/hooks/post-checkout", 0o777)
open(".git/config", "w").write("[core]\n\tfsmonitor = touch /tmp/pwned\n\tworktree = /\n")
open(".gitattributes", "w").write("* filter=x diff=x merge=x\n")
open("new\nline\x1b[31m", "w").write("1"); open(b"caf\xe9", "w").write("2"); open("--help", "w").write("3")
os.makedirs("locked/in"); open("locked/in/f", "w").write("4"); os.chmod("locked", 0)
os.chmod("caf\udce9", 0)
socket.socket(socket.AF_UNIX).bind("sock")
print("done")
"""


def test_hostile_files_are_kept_as_data_and_lead_nowhere(tmp_path):
    read = {"type": "tool", "tool": "read_file", "args": {"path": "up"}, "on_error": "continue"}
    document = topology(
        {"h": code(HOSTILE), "r": read, "w": write("after", "x"), "t": LIST},
        [("h", "r"), ("r", "w", {"when": {"status": "failed"}}), ("w", "t")],
    )

    result, journal = run(document, workspace=tmp_path / "w")

    assert result.status == "succeeded", result.reason
    assert "leads out of the workspace" in of_kind(journal, "tool_called")[1].result
    assert os.readlink(tmp_path / "w" / "up").endswith("etc/passwd")
    assert "root:" not in result.diff
    assert "/etc/passwd" in result.diff
    assert ".git/" not in result.diff
    assert '"a/new\\nline\\033[31m"' in result.diff
    assert (tmp_path / "w" / ".git" / "config").exists()

    # A folder that lost them, and got others, holds the same again.
    again, _ = run(
        document,
        workspace=tmp_path / "w",
        journal=MemoryJournal(
            [event for event in journal.events if event.kind in ("visit_started", "visit_ended")][:2]
        ),
    )
    assert again.diff == result.diff


def test_rights_that_code_took_from_its_folders_are_given_back(tmp_path):
    text = "import os\nfor n in (0o600, 0o500, 0o000): os.mkdir(str(n)); open(f'{n}/f', 'w'); os.chmod(str(n), n)"

    result, _ = run(topology({"c": code(text), "t": LIST}, [("c", "t")]), workspace=tmp_path / "w")

    assert result.status == "succeeded", result.reason
    assert all((tmp_path / "w" / str(n)).stat().st_mode & 0o700 == 0o700 for n in (0o600, 0o500, 0o000))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("open('big','wb').truncate(10**7)", "1,000,000 bytes"),
        ("[open(str(n),'w') for n in range(60)]", "50 files"),
        ("import os\nfor n in range(200): os.mkdir('d'); os.chdir('d')", "folders"),
    ],
    ids=["bytes", "number", "depth"],
)
def test_code_that_leaves_too_much_fails_and_is_undone(tmp_path, text, said):
    document = topology({"a": write("kept", "k"), "b": code(text), "t": LIST}, [("a", "b"), ("b", "t")])

    result, _ = run(document, workspace=tmp_path / "w", quota=Quota(1_000_000, 50))

    assert (result.status, result.code) == ("failed", "workspace_quota")
    assert said in result.reason
    assert files_in(tmp_path / "w") == {"kept": "k"}


def test_code_is_ended_while_it_fills_the_disk(tmp_path):
    text = "import time\nfor n in range(600): open(str(n),'wb').write(b'x'*100_000); time.sleep(0.05)"
    document = topology({"b": code(text), "t": LIST}, [("b", "t")])

    result, _ = run(document, workspace=tmp_path / "w", quota=Quota(1_000_000, 50))

    assert (result.status, result.code) == ("failed", "workspace_quota")


def test_agent_reads_that_it_wrote_too_much_and_may_go_on(tmp_path):
    script = {"nodes": {"a": [call("big", "x" * 2000), call("small", "x"), "ok"]}}
    document = topology({"a": asks("p", tools=["write_file"]), "t": LIST}, [("a", "t")])

    result, journal = run(document, script, workspace=tmp_path / "w", quota=Quota(1000, 50))

    assert (result.status, result.output) == ("succeeded", "small")
    refused = of_kind(journal, "tool_called")[0]
    assert (refused.status, refused.code, refused.files) == ("failed", "workspace_quota", "")
    assert "1,000 bytes" in refused.result


def test_check_names_nodes_that_write_side_by_side_unless_the_topology_says_how_they_are_joined():
    from tests.engine.support import problems_of

    named = [
        problem.path
        for problem in problems_of(side_by_side(write("f", "1"), code("x")))
        if problem.code == "parallel_writers"
    ]

    assert named == ["/nodes/a", "/nodes/b"]
    assert not [
        it
        for it in problems_of(side_by_side(write("f", "1"), code("x"), workspace={"merge": "vote"}))
        if it.code == "parallel_writers"
    ]
    assert planned(side_by_side(LITERAL, LITERAL, workspace={"merge": "vote"})).merge == "vote"
