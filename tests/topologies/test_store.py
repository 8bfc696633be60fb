"""The Git store: append-only, one writer at a time, and nothing outside changes what it does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workbench.topologies.gitcommand import StoreError
from workbench.topologies.store import Author, Conflict, Store

ME = Author("Ada")

WRITER = """
import sys
from pathlib import Path
import django
django.setup()
from workbench.topologies.store import Author, Store
store = Store(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    name = f"w{sys.argv[2]}" if number % 2 else "shared"
    message = f"{sys.argv[2]}/{number}"
    store.save(name, f'"{message}"\\n', message=message, author=Author("w"))
"""


def test_a_save_is_one_commit_with_its_message_and_author(store, git):
    saved = store.save("one", "{}\n", message="First\n\nBecause.", author=Author("Zoë <x>", "zoe@example.org"))

    assert git("log", "--format=%H %an <%ae>%n%B").startswith(
        f"{saved.commit} Zoë x <zoe@example.org>\nFirst\n\nBecause."
    )
    assert store.read("one") == saved
    assert (store.root / "one.json").read_text() == "{}\n"


def test_after_a_save_git_sees_nothing_uncommitted(store, git):
    store.save("one", "{}\n", message="First", author=ME)
    store.save("two", "{}\n", message="Second", author=ME)
    store.delete("one", message="Gone", author=ME)

    assert git("status", "--porcelain") == ""
    assert git("fsck", "--strict") == ""


def test_a_text_that_is_there_already_makes_no_commit(store, git):
    first = store.save("one", "{}\n", message="First", author=ME)

    again = store.save("one", "{}\n", message="Again", author=ME)

    assert again == first
    assert git("rev-list", "--count", "HEAD") == "1"


def test_a_stale_save_changes_nothing_and_shows_what_the_other_changed(store):
    base = store.save("one", '{\n "a": 1\n}\n', message="Base", author=ME)
    theirs = store.save("one", '{\n "a": 2\n}\n', message="Theirs", author=ME, expected=base.commit)

    with pytest.raises(Conflict) as caught:
        store.save("one", '{\n "a": 3\n}\n', message="Mine", author=ME, expected=base.commit)

    assert caught.value.newer == theirs
    assert '- "a": 1' in caught.value.difference
    assert '+ "a": 2' in caught.value.difference
    assert store.read("one") == theirs


def test_a_new_topology_never_replaces_an_old_one(store):
    store.save("one", "{}\n", message="First", author=ME)

    with pytest.raises(Conflict):
        store.save("one", "[]\n", message="Other", author=ME, expected="")


def test_a_save_of_what_somebody_deleted_is_a_conflict(store):
    base = store.save("one", "{}\n", message="First", author=ME)
    store.delete("one", message="Gone", author=ME)

    with pytest.raises(Conflict) as caught:
        store.save("one", "[]\n", message="Mine", author=ME, expected=base.commit)

    assert caught.value.newer is None


def test_deleting_keeps_the_history_and_every_version_can_be_read(store):
    first = store.save("one", "1\n", message="First", author=ME)
    second = store.save("one", "2\n", message="Second", author=ME)
    gone = store.delete("one", message="Gone", author=ME)

    assert store.read("one") is None
    assert [version.commit for version in store.history("one")] == [gone, second.commit, first.commit]
    assert [bool(version.blob) for version in store.history("one")] == [False, True, True]
    assert store.read("one", first.commit).text == "1\n"


def test_names_that_are_no_names_are_refused(store):
    for name in ("", ".git", "../x", "a/b", "a b", "-a", "_new", "x" * 101, "a\n", "ü"):
        with pytest.raises(StoreError, match="can't be a topology's name"):
            store.save(name, "{}\n", message="", author=ME)


def test_names_that_differ_only_in_case_are_refused(store):
    store.save("Debate", "{}\n", message="First", author=ME)

    with pytest.raises(StoreError, match="differs only in upper and lower case"):
        store.save("debate", "{}\n", message="Second", author=ME)


def test_commits_made_outside_are_noticed(store, git):
    base = store.save("one", "1\n", message="First", author=ME)
    (store.root / "one.json").write_text("outside\n")
    git("commit", "-qam", "Outside")

    assert store.read("one").text == "outside\n"
    with pytest.raises(Conflict):
        store.save("one", "2\n", message="Mine", author=ME, expected=base.commit)


def test_an_outside_commit_after_ours_does_not_undo_ours(store, git):
    store.save("one", "1\n", message="First", author=ME)
    (store.root / "two.json").write_text("2\n")
    git("add", "two.json")
    git("commit", "-qm", "Outside")

    assert {entry.name for entry in store.entries()} == {"one", "two"}


def test_an_uncommitted_edit_outside_is_not_overwritten(store):
    store.save("one", "1\n", message="First", author=ME)
    (store.root / "one.json").write_text("somebody is writing here\n")

    with pytest.raises(StoreError, match="not committed"):
        store.save("one", "2\n", message="Mine", author=ME)

    assert (store.root / "one.json").read_text() == "somebody is writing here\n"


def test_foreign_files_are_listed_with_a_sentence_and_never_followed(store, git, tmp_path):
    store.save("one", "1\n", message="First", author=ME)
    (tmp_path / "secret.json").write_text("secret")
    (store.root / "link.json").symlink_to(tmp_path / "secret.json")
    (store.root / "notes.txt").write_text("hello")
    (store.root / "a name.json").write_text("{}")
    (store.root / "huge.json").write_text("x" * (5 * 1024 * 1024 + 1))
    (store.root / "folder").mkdir()
    (store.root / "folder" / "x.json").write_text("{}")
    git("add", "-A")
    git("commit", "-qm", "Outside")

    problems = {entry.name: entry.problem for entry in store.entries()}

    assert problems["one"] == ""
    assert "symbolic link" in problems["link.json"]
    assert "not a .json" in problems["notes.txt"]
    assert "characters" in problems["a name.json"]
    assert "larger than 5 MB" in problems["huge.json"]
    assert "folder" in problems["folder"]
    assert store.read("huge") is None
    with pytest.raises(StoreError, match=r"not a plain file|not a topology"):
        store.save("link", "{}\n", message="Mine", author=ME)
    assert (tmp_path / "secret.json").read_text() == "secret"


def test_case_clashes_made_outside_are_listed(store, git):
    store.save("one", "1\n", message="First", author=ME)
    blob = git("hash-object", "-w", "one.json")
    git("update-index", "--add", "--cacheinfo", f"100644,{blob},ONE.json")
    git("commit", "-qm", "Outside")

    assert any("differs from" in entry.problem for entry in store.entries())


def test_hooks_filters_and_signing_of_the_repository_never_run(store, git, tmp_path):
    store.save("one", "1\n", message="First", author=ME)
    trap = tmp_path / "trap"
    for hook in ("reference-transaction", "post-commit", "pre-commit"):
        path = store.root / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {trap}\n")
        path.chmod(0o755)
    (store.root / ".gitattributes").write_text("*.json filter=evil diff=evil\n")
    for key in ("filter.evil.clean", "filter.evil.smudge", "diff.evil.command", "diff.evil.textconv", "core.fsmonitor"):
        git("config", key, f"touch {trap}; cat")
    git("config", "commit.gpgSign", "true")
    git("config", "gpg.program", f"touch {trap}")

    second = store.save("one", "2\n", message="Second", author=ME)
    store.difference(store.history("one")[1].blob, second.blob)
    store.entries()

    assert not trap.exists()


def test_the_environment_of_the_process_does_not_lead_astray(store, monkeypatch, tmp_path):
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_GLOBAL"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Mallory")

    store.save("one", "1\n", message="First", author=ME)

    assert store.history("one")[0].author == "Ada"
    assert not (tmp_path / "elsewhere").exists()


def test_while_another_git_writes_a_save_waits_and_then_says_so(store, monkeypatch):
    store.save("one", "1\n", message="First", author=ME)
    monkeypatch.setattr("workbench.topologies.store.LOCK_SECONDS", 0.1)
    (store.root / ".git" / "index.lock").touch()

    with pytest.raises(StoreError, match=r"index\.lock"):
        store.save("one", "2\n", message="Second", author=ME)

    assert store.read("one").text == "1\n"


def test_a_repository_on_no_branch_is_refused_with_a_sentence(store, git):
    saved = store.save("one", "1\n", message="First", author=ME)
    git("checkout", "-q", "--detach", saved.commit)

    with pytest.raises(StoreError, match="on no branch"):
        store.save("one", "2\n", message="Second", author=ME)


def test_a_repository_that_vanished_is_empty_and_is_made_again(store):
    store.save("one", "1\n", message="First", author=ME)
    subprocess.run(["rm", "-rf", store.root], check=True)

    assert store.entries() == []
    assert store.history("one") == []
    assert store.save("one", "1\n", message="Again", author=ME).text == "1\n"


def test_writers_in_several_processes_lose_no_commit(repository: Path):
    writers, commits = 4, 8
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "workbench.settings"}

    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(repository), str(number), str(commits)], env=environment)
        for number in range(writers)
    ]

    assert [process.wait(120) for process in processes] == [0] * writers
    store = Store(repository)
    messages = {
        version.message for name in ["shared", *(f"w{n}" for n in range(writers))] for version in store.history(name)
    }
    assert messages == {f"{writer}/{number}" for writer in range(writers) for number in range(commits)}


def test_a_repository_that_many_make_at_once_appears_whole(tmp_path):
    def first_save(number: int) -> str:
        barrier.wait(30)
        return Store(root).save(f"w{number}", "{}\n", message="First", author=ME).commit

    for attempt in range(3):
        root, barrier = tmp_path / str(attempt), threading.Barrier(8)
        with ThreadPoolExecutor(8) as pool:
            commits = list(pool.map(first_save, range(8)))

        assert len(set(commits)) == 8
        assert sorted(path.name for path in root.iterdir()) == [".git", *(f"w{n}.json" for n in range(8))]


def test_committing_stays_quick_as_the_history_grows(store):
    for number in range(30):
        store.save("one", f"{number}\n", message=str(number), author=ME)

    started = time.perf_counter()
    store.save("one", "last\n", message="Last", author=ME)
    committed = time.perf_counter() - started
    started = time.perf_counter()
    versions = store.history("one")
    read = time.perf_counter() - started

    assert len(versions) == 31
    assert committed < 1.5, "a commit takes 50 ms on a quiet machine"
    assert read < 1.0
