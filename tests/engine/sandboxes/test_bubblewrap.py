from __future__ import annotations

import socket
import time

import pytest

from workbench.engine.errors import SandboxError
from workbench.engine.sandboxes import choose_sandbox
from workbench.engine.sandboxes.bubblewrap import Bubblewrap


@pytest.fixture
def refused(execute):
    """Run code that must not work; returns what it said."""

    def refused(code, **kwargs):
        finished = execute("bubblewrap", code, **kwargs)
        assert finished.exit_code != 0, finished
        return finished.stderr.decode()

    return refused


@pytest.mark.parametrize(
    "path", ["/etc/shadow", "/etc/passwd", "/proc/1/root/etc/shadow", "/proc/sys/../../etc/shadow"]
)
def test_secrets_of_the_machine_are_not_there(refused, path):
    assert "No such file" in refused(f"open({path!r})")


def test_only_programs_and_the_workspace_are_to_be_seen(execute, tmp_path):
    said = execute("bubblewrap", "import os; print(sorted(os.listdir('/')), os.getcwd(), os.listdir('/tmp'))").stdout

    assert b"'home'" not in said
    assert b"'var'" not in said
    assert said.endswith(b" /workspace []\n")
    found = execute("bubblewrap", f"import os; print(os.path.exists({str(tmp_path / 'secret.txt')!r}))").stdout
    assert found == b"False\n"


def test_links_lead_nowhere_outside(refused, workspace, tmp_path):
    (workspace / "link").symlink_to(tmp_path / "secret.txt")
    (workspace / "up").symlink_to("../secret.txt")

    assert "No such file" in refused("open('link')")
    assert "No such file" in refused("open('up')")
    assert "No such file" in refused("import os; os.symlink('/etc/shadow', 'mine'); open('mine')")


def test_hard_links_to_the_outside_can_not_be_made(refused):
    assert "OSError" in refused("import os, sys; os.link(sys.executable, 'linked')")


@pytest.mark.parametrize("path", ["/x", "/usr/x", "/dev/x", "/proc/self/comm", "/etc/x", "/bin/sh"])
def test_the_rest_is_read_only(refused, path):
    assert "OSError" in refused(f"open({path!r}, 'a').write('x')")


def test_settings_of_the_machine_can_not_be_written_even_where_root_started_it(refused):
    code = "path = '/proc/sys/vm/swappiness'; was = open(path).read(); open(path, 'w').write(was)"

    assert "Read-only" in refused(code)


def test_temporary_files_are_private_and_bounded(execute, refused):
    assert execute("bubblewrap", "open('/tmp/x', 'w').write('x'); open('/dev/shm/x', 'w')").exit_code == 0
    assert execute("bubblewrap", "import os; print(os.listdir('/tmp') + os.listdir('/dev/shm'))").stdout == b"[]\n"
    for folder in ("/tmp", "/dev/shm"):
        code = f"open('{folder}/x', 'wb').write(bytes(3_000_000))"
        assert "No space left" in refused(code, temporary_bytes=1_000_000)


def test_network_is_out_of_reach_and_so_is_this_machine(refused):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert "refused" in refused(f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)")
    assert "unreachable" in refused("import socket; socket.create_connection(('192.0.2.1', 80), 2)")
    assert "gaierror" in refused("import socket; socket.getaddrinfo('example.org', 80)")


def test_other_processes_are_neither_seen_nor_hit(execute):
    code = "import os; print(sum(name.isdigit() for name in os.listdir('/proc')), flush=True); os.kill(-1, 9)"

    assert int(execute("bubblewrap", code).stdout) <= 3


def test_nobody_with_no_rights_runs_it(execute):
    lines = "[line.split()[1] for line in open('/proc/self/status') if line.startswith(('CapEff', 'NoNew'))]"
    code = f"import os; print(os.getuid(), {lines})"

    assert execute("bubblewrap", code).stdout == b"65534 ['0000000000000000', '1']\n"


@pytest.mark.parametrize(
    "call", ["unshare', '-Ur', 'true", "mount', '-t', 'tmpfs', 'x', '/workspace", "chroot', '/usr"]
)
def test_rights_can_not_be_had_again(execute, call):
    code = f"import subprocess as s, sys; sys.exit(s.run(['{call}']).returncode)"

    assert execute("bubblewrap", code).exit_code != 0


def test_detached_processes_end_too(execute, workspace):
    code = (
        "import subprocess as s\n"
        "s.Popen('sleep 0.6; touch late', shell=True, start_new_session=True, stdout=s.DEVNULL, stderr=s.DEVNULL)"
    )
    execute("bubblewrap", code)

    time.sleep(0.9)
    assert not (workspace / "late").exists()


def test_virtual_environment_of_the_workbench_is_not_there(refused):
    assert "ModuleNotFoundError" in refused("import workbench")
    assert "ModuleNotFoundError" in refused("import django")


def test_without_bubblewrap_it_says_what_to_install():
    assert "apt install bubblewrap" in Bubblewrap.available({"PATH": "/nowhere"})
    with pytest.raises(SandboxError, match=r"no safe place.*apt install bubblewrap.*WORKBENCH_ALLOW_UNSANDBOXED=1"):
        choose_sandbox({"PATH": "/nowhere"})


def test_bubblewrap_that_is_not_allowed_to_work_is_no_sandbox(tmp_path):
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2; exit 1\n")
    program.chmod(0o755)

    said = Bubblewrap.available({"PATH": str(tmp_path)})

    assert "can't make a sandbox here (No permissions to create a new namespace)" in said
