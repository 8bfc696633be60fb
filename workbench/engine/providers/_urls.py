"""The address of a model server, as people write it, made into the one that is called."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from workbench.engine.errors import ProviderError

LISTENS_EVERYWHERE = {"0.0.0.0", "::", "0", "*"}
VERSION = re.compile(r"v\d+[a-z0-9]*", re.IGNORECASE)
NATIVE_PATHS = ("/api/chat", "/api/generate", "/api/tags", "/api/version", "/api")
OPENAI_PATHS = ("/chat/completions", "/completions", "/models")


def native_url(text: str, *, variable: str) -> str:
    """Where `/api/chat` is appended: without `/api`, `/v1` and trailing slashes."""
    parts = _parts(text, variable=variable)
    path = _without_versions(_without(parts.path, NATIVE_PATHS + OPENAI_PATHS))
    return f"{parts.scheme}://{parts.netloc}{_without(path, NATIVE_PATHS)}"


def openai_url(text: str, *, variable: str) -> str:
    """Where `/chat/completions` is appended: it ends in one version, `/v1` unless another path is given."""
    parts = _parts(text, variable=variable)
    path = _without(parts.path, OPENAI_PATHS)
    if path.lower() in NATIVE_PATHS:  # the other dialect's path of the same server
        path = ""
    found = re.search(r"(/v\d+[a-z0-9]*)\1*$", path, re.IGNORECASE)
    if found:
        path = path[: found.start()] + found[1].lower()
    return f"{parts.scheme}://{parts.netloc}{path or '/v1'}"


def is_local(url: str) -> bool:
    """Whether the address is this machine or a private network, where no cloud provider sends bills."""
    host = (urlsplit(url).hostname or "").lower()
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal", ".lan"))


def is_loopback(url: str) -> bool:
    """Whether the address is this very machine."""
    host = (urlsplit(url).hostname or "").lower()
    return host == "localhost" or host.endswith(".localhost") or host == "::1" or host.startswith("127.")


def _parts(text: str, *, variable: str) -> SplitResult:
    text = text.strip().strip("\"'")
    parts = _split(text if "://" in text else f"{_scheme(text)}://{text}", variable=variable)
    scheme, host = parts.scheme.lower(), (parts.hostname or "").lower()
    if scheme not in ("http", "https") or not host or re.search(r"\s", parts.netloc):
        raise _bad(variable, f"{text!r} is no web address. Write something like http://127.0.0.1:11434.")
    if host in LISTENS_EVERYWHERE:
        raise _bad(
            variable, f"{host} is an address to listen on, not one to call. Use 127.0.0.1 or the machine's name."
        )
    if parts.username or parts.password:
        raise _bad(variable, "Leave user name and password out of the address: it is shown on pages.")
    if parts.query or parts.fragment:
        raise _bad(variable, "Leave out what follows '?' or '#' in the address.")
    host = f"[{host}]" if ":" in host else host
    netloc = f"{host}:{parts.port}" if parts.port else host
    return SplitResult(scheme, netloc, re.sub(r"/{2,}", "/", parts.path).rstrip("/"), "", "")


def _split(url: str, *, variable: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # a port that is no number is only noticed when asked for
    except ValueError as error:
        raise _bad(variable, f"{url!r} is no web address: {error}.") from error
    return parts


def _scheme(text: str) -> str:
    """What was meant by an address without a scheme: plain HTTP near by or with a port, HTTPS far away."""
    host = re.split(r"[/?#]", text)[0]
    return "http" if re.search(r":\d+$", host) or is_local(f"http://{host}") else "https"


def _without(path: str, endings: tuple[str, ...]) -> str:
    for ending in endings:
        if path.lower().endswith(ending):
            return path[: -len(ending)].rstrip("/")
    return path


def _without_versions(path: str) -> str:
    kept = path.split("/")
    while kept and VERSION.fullmatch(kept[-1]):
        kept.pop()
    return "/".join(kept)


def _bad(variable: str, sentence: str) -> ProviderError:
    return ProviderError(f"{variable}: {sentence}", code="bad_url")
