"""Pages of a run's files: what changed and by whom, conflicts, and files that code made, none of which is trusted."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.urls import reverse

from tests.engine.support import topology
from tests.experiments.executing import execute, queued_run
from tests.experiments.rows import make_run
from workbench.engine.workspaces import repository_of

pytestmark = pytest.mark.django_db(transaction=True)

PASS = {"type": "passthrough"}
HOSTILE = r"""
import base64, io, os, tarfile, zipfile
os.makedirs("out")
png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
open("out/plot.png", "wb").write(base64.b64decode(png))
open("out/drawn.svg", "w").write("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script><circle r='9'/></svg>")
open("out/data.csv", "w").write("name,value\n<b>x</b>,=1+1\n" + "y,2\n" * 500)
open("out/page.html", "w").write("<h1>Made</h1><script>document.title='pwned'</script><form method=post>")
with zipfile.ZipFile("out/pack.zip", "w") as z: z.writestr("../../etc/passwd", "x")
with tarfile.open("out/pack.tgz", "w:gz") as t: t.addfile(tarfile.TarInfo("inside/it"), io.BytesIO())
open("out/broken.zip", "w").write("no archive")
open("out/broken.tgz", "wb").write(bytes.fromhex("1f8b0800000000000003") + 50 * bytes([255]))
open("out/data.bin", "wb").write(bytes(range(256)))
os.symlink("/etc/passwd", "link.txt")
open("new\nline<img src=x onerror=alert(1)>", "w").write("1")
open("caf\udce9", "w").write("2")
open("long.txt", "w").write("".join(f"{n}\n" for n in range(1000)))
"""


def write(path, content):
    return {"type": "tool", "tool": "write_file", "args": {"path": path, "content": content}}


@pytest.fixture(autouse=True)
def workspaces(settings, tmp_path):
    settings.WORKSPACES = tmp_path / "workspaces"
    return settings.WORKSPACES


def ran(document):
    run = queued_run(document)
    execute(run, {})
    return run


@pytest.fixture
def hostile():
    run = ran(topology({"make": {"type": "python", "code": HOSTILE}, "note": write("a.txt", "x")}, [("make", "note")]))
    assert run.status == "succeeded", run.reason
    return run


@pytest.fixture
def opened(client, hostile):
    """`opened(name)`: the page of a file, and of its raw form."""
    version = (repository_of(settings_folder(hostile)) / "refs/heads/main").read_text().strip()

    def get(path, url="run_file", **more):
        return client.get(reverse(url, args=[hostile.pk, version]), {"path": path, **more})

    return get


def settings_folder(run):
    from workbench.experiments.workspace import workspace_of

    return workspace_of(run)


def test_page_tells_what_changed_in_all_and_by_each_visit(client):
    run = ran(topology({"a": write("f.txt", "one\ntwo\n"), "b": write("f.txt", "one\n2 < 3\n")}, [("a", "b")]))

    page = client.get(reverse("run_files", args=[run.pk])).content.decode()
    assert "2 lines added" in page
    assert "2 &lt; 3" in page
    assert page.index("What a, visit 1, changed") < page.index("What b, visit 1, changed")

    commit = (repository_of(settings_folder(run)) / "refs/visits/b/1").read_text().strip()
    page = client.get(reverse("run_files", args=[run.pk]), {"visit": commit}).content.decode()
    assert "<del>two</del>" in page
    assert "<ins>2 &lt; 3</ins>" in page
    assert f"?visit={commit}" in client.get(reverse("run_visit", args=[run.pk, "b", 1])).content.decode()
    assert client.get(reverse("run_files", args=[run.pk]), {"visit": "0" * 40}).status_code == 404


def test_page_of_a_run_without_files_says_so_and_makes_none(client, workspaces):
    run = make_run(status="succeeded")

    assert "used a file" in client.get(reverse("run_files", args=[run.pk])).content.decode()
    assert (
        "used a file"
        in client.get(reverse("run_files", args=[run.pk]), headers={"HX-Request": "true"}).content.decode()
    )
    assert client.get(reverse("run_files", args=[run.pk]), headers={"HX-Request": "true"}).status_code == 286
    assert client.get(reverse("run_diff", args=[run.pk])).status_code == 404
    assert not workspaces.exists()


def test_conflict_is_shown_with_both_sides(client):
    run = ran(
        topology(
            {"s": PASS, "ann": write("f", "one\n"), "ben": write("f", "two\n"), "t": PASS},
            [("s", "ann"), ("s", "ben"), ("ann", "t"), ("ben", "t")],
        )
    )

    assert (run.status, run.code) == ("failed", "merge_conflict")
    page = client.get(reverse("run_files", args=[run.pk])).content.decode()
    conflict = page[page.index('class="conflict"') : page.index("<h2>What changed")]
    assert conflict.index("ann 1") < conflict.index("<ins>one</ins>") < conflict.index("<ins>two</ins>")


def test_files_that_code_made_are_shown_as_what_they_are(opened):
    shown = {
        name: opened(f"out/{name}").content.decode()
        for name in (
            "plot.png",
            "data.csv",
            "page.html",
            "pack.zip",
            "pack.tgz",
            "broken.zip",
            "broken.tgz",
            "data.bin",
        )
    }

    assert "as=image" in shown["plot.png"]
    assert "<td>=1+1</td>" in shown["data.csv"]
    assert "&lt;b&gt;x&lt;/b&gt;" in shown["data.csv"]
    assert "first 200 rows" in shown["data.csv"]
    assert '<iframe class="artefact" sandbox=""' in shown["page.html"]
    assert "<h1>Made" not in shown["page.html"]
    assert "../../etc/passwd" in shown["pack.zip"]
    assert "inside/it" in shown["pack.tgz"]
    assert "read to its end" in shown["broken.zip"]
    assert "read to its end" in shown["broken.tgz"]
    assert "Not a text" in shown["data.bin"]
    assert "/etc/passwd</span>. It is not followed" in opened("link.txt").content.decode()


@pytest.mark.parametrize(
    ("name", "shown", "kind"),
    [
        ("out/page.html", "page", "text/html; charset=utf-8"),
        ("out/drawn.svg", "image", "image/svg+xml"),
        ("out/page.html", "", "application/octet-stream"),
        ("out/page.html", "image", "application/octet-stream"),
        ("out/data.bin", "page", "application/octet-stream"),
    ],
)
def test_raw_forms_are_sealed(opened, name, shown, kind):
    answer = opened(name, "run_file_raw", **{"as": shown})

    assert answer["Content-Type"] == kind
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert "allow-" not in answer["Content-Security-Policy"]
    assert answer.get("Content-Disposition", "").startswith("attachment") == (kind == "application/octet-stream")


def test_hostile_names_are_text_and_find_their_files(client, hostile, opened):
    page = client.get(reverse("run_files", args=[hostile.pk])).content.decode()

    assert "<img src=x" not in page
    assert "new\\n" in page
    odd = ["\\x" + name.hex() for name in (b"new\nline<img src=x onerror=alert(1)>", b"caf\xe9")]
    answers = [opened(name, "run_file_raw") for name in odd]
    assert [answer.content for answer in answers] == [b"1", b"2"]
    assert all("\n" not in answer["Content-Disposition"] for answer in answers)
    for path in ("../../../etc/passwd", "/etc/passwd", "nothing", "\\xzz", "out", ""):
        assert opened(path).status_code == 404


def test_versions_are_those_of_the_run_alone(client, hostile):
    for version in ("main", "0" * 40, "refs"):
        assert client.get(reverse("run_file", args=[hostile.pk, version]), {"path": "a.txt"}).status_code == 404


def test_long_diffs_are_cut_and_stand_whole_on_their_own_page(client, hostile):
    page = client.get(reverse("run_files", args=[hostile.pk])).content.decode()
    assert "600 more lines" in page

    link = page[page.rindex("href", 0, page.index("All that changed in it")) :].split('"')[1].replace("&amp;", "&")
    assert "<ins>999</ins>" in client.get(link).content.decode()


def test_everything_can_be_saved(client, hostile, opened):
    diff = client.get(reverse("run_diff", args=[hostile.pk]))
    version = opened("a.txt").context["version"]
    archive = client.get(reverse("run_archive", args=[hostile.pk, version]))

    assert diff["Content-Disposition"] == f'attachment; filename="run-{hostile.pk}.diff"'
    assert b"+++ b/a.txt\n" in diff.content
    names = zipfile.ZipFile(io.BytesIO(archive.content)).namelist()
    assert {"a.txt", "out/data.csv"} <= set(names)
    assert not any(name.startswith(("/", "..")) or "\n" in name for name in names)


@pytest.mark.browser
def test_pages_of_files_are_well_made_and_what_code_made_stays_apart(live, page, hostile, well_made, opened):
    version = opened("a.txt").context["version"]
    page.goto(f"{live}/runs/{hostile.pk}/")
    page.get_by_role("link", name="All files, and what changed by visit").click()
    page.get_by_text("long.txt").first.click()
    well_made(page)

    page.goto(f"{live}/runs/{hostile.pk}/files/{version}/?path=out/data.csv")
    well_made(page)


@pytest.mark.browser
def test_a_page_that_code_made_runs_no_script(live, page, hostile, opened):
    version = opened("a.txt").context["version"]
    tab = page.context.new_page()  # one of its own: what the policy refuses there is what this is about
    tab.goto(f"{live}/runs/{hostile.pk}/files/{version}/?path=out/page.html")
    assert tab.frame_locator("iframe").get_by_role("heading", name="Made").is_visible()

    tab.goto(f"{live}/runs/{hostile.pk}/files/{version}/raw/?path=out/page.html&as=page")
    assert tab.title() != "pwned"
    assert tab.evaluate("origin") == "null"
    tab.close()
