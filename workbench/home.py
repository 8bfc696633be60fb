"""The workbench's home: the folder that holds database, broker, topologies, workspaces, logs, and the secret key.

No Django here: `workbench up` looks at the home before anything else, and the settings read it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import platformdirs

from workbench.engine.errors import WorkbenchError

SOCKET_PATH_MAX = 100  # the kernel's limit is 108 bytes on Linux, 104 on macOS
PLAIN_PATH = re.compile(r"[A-Za-z0-9_./+@=-]+")
KEY_MIN_LENGTH = 32
KEY_MIN_LETTERS = 8
WELL_KNOWN = ("changeme", "change-me", "change_me", "django-insecure", "secret", "password", "insecure", "example")


class BadSecretKey(WorkbenchError):
    """A secret key that would let strangers sign cookies."""

    code = "secret_key"


class BadHome(WorkbenchError):
    """A home that can't be used."""

    code = "home"


def home_path(environ: Mapping[str, str] = os.environ) -> Path:
    """`WORKBENCH_HOME`, or the platform's folder for data."""
    return Path(environ.get("WORKBENCH_HOME") or platformdirs.user_data_path("workbench")).expanduser().absolute()


def secret_key(home: Path, environ: Mapping[str, str] = os.environ) -> str:
    """`SECRET_KEY` where it is set, and then it must be a good one; else one made once and kept in the home."""
    given = environ.get("SECRET_KEY")
    if given is None:
        return _kept_key(home / "secret-key")
    fault = key_fault(given)
    if fault:
        raise BadSecretKey(
            f"SECRET_KEY {fault}, so anybody could forge a login. Unset it to have one made, or set the output of: "
            'python3 -c "import secrets; print(secrets.token_urlsafe(50))"'
        )
    return given


def key_fault(key: str) -> str:
    """What is wrong with a key, as the end of a sentence; empty where it is good."""
    if not key.strip():
        return "is empty"
    if any(word in key.lower() for word in WELL_KNOWN) or key.lower() in "abcdefghijklmnopqrstuvwxyz0123456789":
        return "is a well-known example"
    if len(key) < KEY_MIN_LENGTH:
        return f"has only {len(key)} characters where {KEY_MIN_LENGTH} are needed"
    if len(set(key)) < KEY_MIN_LETTERS:
        return "repeats a few characters"
    return ""


def _kept_key(path: Path) -> str:
    try:
        key = path.read_text().strip()
    except FileNotFoundError:
        return _made_key(path)
    except OSError as error:
        raise BadHome(
            f"{path} can’t be read ({reason(error)}). Make it readable, or choose another WORKBENCH_HOME."
        ) from error
    fault = key_fault(key)
    if fault:
        raise BadSecretKey(f"The secret key in {path} {fault}. Restore the file, or delete it to have a new one made.")
    return key


def _made_key(path: Path) -> str:
    """Written beside and linked into place: of two starts at once one wins, and no file is ever half written."""
    key = secrets.token_urlsafe(50)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".secret-key-") as file:
            file.write(key)
            file.flush()
            os.link(file.name, path)
    except FileExistsError:
        if path.is_file():
            return path.read_text().strip()
        raise BadHome(f"The home {path.parent} is a file. Choose another WORKBENCH_HOME.") from None
    except OSError as error:
        raise BadHome(unwritable(path.parent, error)) from error
    return key


@contextlib.contextmanager
def setting_up(home: Path) -> Iterator[None]:
    """One process at a time makes tables and starters: the others wait for it, and find them made."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        file = (home / "setup.lock").open("a")
    except OSError as error:
        raise BadHome(unwritable(home, error)) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def unwritable(home: Path, error: OSError) -> str:
    """The sentence for a home where nothing can be written."""
    return (
        f"The home {home} can’t be written to ({reason(error)}). "
        "Make it writable, or set WORKBENCH_HOME to another folder."
    )


def reason(error: OSError) -> str:
    """What the system says, without path and number."""
    return (error.strerror or str(error)).lower()


def broker_socket(home: Path) -> Path:
    """Where the embedded broker listens: in the home, or in a short folder where that path fits no socket or URL."""
    path = home / "broker.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_MAX and PLAIN_PATH.fullmatch(str(path)):
        return path
    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"workbench-{os.getuid()}" / f"{name}.sock"
