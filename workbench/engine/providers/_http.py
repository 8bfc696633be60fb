"""What every provider that speaks HTTP shares: time-outs, one kind of connection, and faults told as sentences."""

from __future__ import annotations

import asyncio
import errno
import math
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from workbench.engine.errors import ProviderError
from workbench.engine.providers._urls import is_local, is_loopback

if TYPE_CHECKING:
    import ssl

    import aiohttp
    import httpx

CONTAINER_MARKERS = (Path("/.dockerenv"), Path("/run/.containerenv"))
PROBE_SECONDS = 5.0
KEPT_SECONDS = 4.0
"""How long an unused connection is kept: less than the 5 s after which common servers close it."""


class Timeouts(NamedTuple):
    """Seconds to wait for a connection, for the first token (a cold model loads first), between tokens."""

    connect: float = 5.0
    first_token: float = 300.0
    idle: float = 60.0

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        return cls(
            *(
                seconds_from(environ, f"WORKBENCH_{name.upper()}_TIMEOUT_S", default)
                for name, default in cls._field_defaults.items()
            )
        )


def seconds_from(environ: Mapping[str, str], variable: str, default: float) -> float:
    """A positive number of seconds from the environment. Raises `ProviderError` for anything else."""
    text = environ.get(variable, "").strip()
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ProviderError(f"{variable} must be a number of seconds above 0; it is {text!r}.", code="setting")
    return value


class Target(NamedTuple):
    """The server that is called, as sentences name it."""

    name: str
    url: str
    variable: str
    start: str
    timeouts: Timeouts
    use_proxy: bool = False
    proxy_variable: str = ""
    key: str = ""


class Watch:
    """The clock of one call: hangs up when the first token, or the next one, is too long in coming.

    >>> async with watch:
    ...     async for part in stream:
    ...         watch.token()
    """

    def __init__(self, target: Target, *, listing: bool = False) -> None:
        self.target, self._listing = target, listing
        self.first_token_seconds: float | None = None
        self._last_token: float | None = None

    async def __aenter__(self) -> Self:
        self._began = perf_counter()
        self._timeout = asyncio.timeout(self.target.timeouts.first_token)
        await self._timeout.__aenter__()
        return self

    async def __aexit__(self, *details: Any) -> None:
        try:
            await self._timeout.__aexit__(*details)
        except TimeoutError as error:
            raise self._too_late() from error

    @property
    def seconds(self) -> float:
        return perf_counter() - self._began

    @property
    def quiet_seconds(self) -> float | None:
        """Seconds since something of the answer came; None: nothing has."""
        return None if self._last_token is None else monotonic() - self._last_token

    def token(self) -> None:
        """Something of the answer came."""
        if self.first_token_seconds is None:
            self.first_token_seconds = self.seconds
        self._last_token = asyncio.get_running_loop().time()  # the clock of `monotonic`
        self._timeout.reschedule(self._last_token + self.target.timeouts.idle)

    def _too_late(self) -> ProviderError:
        target, limits = self.target, self.target.timeouts
        if self._listing:
            silent = f"accepts connections but does not answer within {limits.first_token:g} s"
            sentence = f"{target.name} at {target.url} {silent}. It may be overloaded, or something else listens there."
            return ProviderError(sentence, code="timed_out", temporary=True)
        if self.first_token_seconds is None:
            return ProviderError(
                f"{target.name} at {target.url} did not begin to answer within {limits.first_token:g} s. A model "
                "that is being loaded may need longer: raise WORKBENCH_FIRST_TOKEN_TIMEOUT_S.",
                code="first_token_timeout",
                temporary=True,
            )
        return ProviderError(
            f"{target.name} at {target.url} began to answer and then sent nothing for {limits.idle:g} s "
            "(WORKBENCH_IDLE_TIMEOUT_S).",
            code="idle_timeout",
            temporary=True,
        )


class LoopBound:
    """A client that is made on the running event loop and made anew on another: connections belong to their loop."""

    def __init__(self) -> None:
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def get(self, make: Any) -> Any:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._client, self._loop = make(), loop
        return self._client

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.close()


def transport(*, use_proxy: bool, reuse: bool = True) -> httpx.AsyncBaseTransport:
    """Connections for the official clients, over aiohttp: half the cost of their own, and no limit but the caller's.

    `reuse` false: a connection of its own for each call. llama.cpp's server closes some right after an answer, and a call
    that is sent on one of these is lost.
    """
    import httpx
    import httpx_aiohttp

    context = httpx.create_ssl_context()
    return httpx_aiohttp.AiohttpTransport(
        verify=context, client=lambda: _session(context, use_proxy=use_proxy, reuse=reuse)
    )


def session(target: Target) -> aiohttp.ClientSession:
    """The same connections without a client above them, for where its share of a call is larger than all the rest."""
    import aiohttp
    import httpx

    waits = aiohttp.ClientTimeout(total=None, sock_connect=target.timeouts.connect)  # `Watch` does the rest
    return _session(httpx.create_ssl_context(), use_proxy=target.use_proxy, reuse=True, timeout=waits)


def _session(context: ssl.SSLContext, *, use_proxy: bool, reuse: bool, **more: Any) -> aiohttp.ClientSession:
    import aiohttp

    connector, cookies = _connector(context, reuse=reuse), aiohttp.DummyCookieJar()
    return aiohttp.ClientSession(connector=connector, cookie_jar=cookies, trust_env=use_proxy, **more)


def _connector(context: ssl.SSLContext, *, reuse: bool) -> aiohttp.TCPConnector:
    import aiohttp

    if not reuse:
        return aiohttp.TCPConnector(limit=0, ssl=context, force_close=True)
    return aiohttp.TCPConnector(limit=0, ssl=context, keepalive_timeout=KEPT_SECONDS)


def timeout(target: Target) -> httpx.Timeout:
    """Only the connection is left to the client to time; `Watch` does the rest."""
    import httpx

    return httpx.Timeout(None, connect=target.timeouts.connect, pool=target.timeouts.connect)


def connection_fault(target: Target, error: BaseException) -> ProviderError | None:
    """What went wrong on the way to the server, or None where that is not what `error` is about."""
    import aiohttp

    causes = list(_causes(error))

    def caused_by(*kinds: type[BaseException]) -> bool:
        return any(isinstance(cause, kinds) for cause in causes)

    if caused_by(aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError):
        return ProviderError(f"The proxy on the way to {target.url} does not answer.", code="proxy", temporary=True)
    if caused_by(aiohttp.ClientConnectorDNSError):
        return ProviderError(_not_found(target), code="host_not_found")
    if any(getattr(cause, "errno", None) == errno.ECONNREFUSED for cause in causes):
        return ProviderError(_refused(target), code="connection_refused", temporary=True)
    if caused_by(aiohttp.ConnectionTimeoutError, aiohttp.ServerTimeoutError):
        seconds = f"{target.timeouts.connect:g} s"
        sentence = (
            f"{target.name} at {target.url} can't be reached: no connection within {seconds}.{_proxy_hint(target)}"
        )
        return ProviderError(sentence, code="connect_timeout", temporary=True)
    if caused_by(aiohttp.ClientConnectorCertificateError, aiohttp.ClientSSLError):
        return ProviderError(
            f"{target.name} at {target.url} has no certificate that can be trusted.", code="certificate"
        )
    if caused_by(aiohttp.ClientConnectorError):
        return ProviderError(f"{target.name} at {target.url} can't be reached.", code="unreachable", temporary=True)
    if caused_by(aiohttp.ClientError, OSError, _httpx_error()):
        sentence = f"{target.name} at {target.url} closed the connection before its answer was complete."
        return ProviderError(sentence, code="connection_lost", temporary=True)
    return None


def proxy_note(target: Target) -> str:
    """A warning where calls go through a proxy that someone may have forgotten."""
    proxy = _proxy_of(target.url)
    if not (target.use_proxy and proxy):
        return ""
    return f" Calls go through the proxy {_host(proxy)}, since {target.proxy_variable}=1."


def _causes(error: BaseException | None) -> Any:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _httpx_error() -> type[Exception]:
    import httpx

    return httpx.TransportError


def _not_found(target: Target) -> str:
    name = f"There is no machine named {_host(target.url)!r} (asked for {target.url})."
    return f"{name} Check the address in {target.variable}.{_proxy_hint(target)}"


def _refused(target: Target) -> str:
    sentence = f"{target.name} does not answer at {target.url}: the connection was refused. {target.start}"
    if not is_loopback(target.url):
        return f"{sentence} On another machine Ollama must be told to listen: OLLAMA_HOST=0.0.0.0."
    if any(marker.exists() for marker in CONTAINER_MARKERS):
        return (
            f"{sentence} Inside a container, {_host(target.url)} is the container itself: use the host name "
            'host.docker.internal, and give the service extra_hosts: ["host.docker.internal:host-gateway"]. Ollama '
            "must then listen beyond its own machine: OLLAMA_HOST=0.0.0.0."
        )
    return f"{sentence} If Ollama runs in a container it must listen beyond it: OLLAMA_HOST=0.0.0.0."


def _proxy_hint(target: Target) -> str:
    if target.use_proxy or is_local(target.url) or not _proxy_of(target.url):
        return ""
    return f" A proxy is set in this process's environment but not used: set {target.proxy_variable}=1 to use it."


def _proxy_of(url: str) -> str:
    scheme, host = url.split("://", 1)[0], _host(url)
    return "" if urllib.request.proxy_bypass(host) else urllib.request.getproxies().get(scheme, "")


def _host(url: str) -> str:
    from urllib.parse import urlsplit

    return urlsplit(url).hostname or url
