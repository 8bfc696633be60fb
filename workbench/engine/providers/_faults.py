"""What a model server's refusal means: its status and words made into a typed error and a sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from workbench.engine.errors import ProviderError
from workbench.engine.plugins import nearest
from workbench.engine.providers._http import Target

WORDS = (
    (
        "context_exceeded",
        r"exceed_context_size|context_length_exceeded|maximum context length|exceeds? the (available )?context",
    ),
    ("tools_unsupported", r"does not support tools|tool(s| use| calling)? (is|are) not supported"),
    ("out_of_memory", r"requires more system memory|out of memory"),
    ("quota", r"insufficient_quota|insufficient (credits|balance)|billing"),
)
HINTS = {
    "context_exceeded": "Shorten the prompt, or give the model a larger window (num_ctx).",
    "tools_unsupported": "Choose a model that can call tools, or take the tools from the node.",
    "out_of_memory": "Choose a smaller model, or a smaller window (num_ctx).",
    "quota": "Check the account's credit.",
}


def refusal(target: Target, status: int | None, body: Any, headers: Mapping[str, str], *, model: str) -> ProviderError:
    """The error for an HTTP status and a body, whichever dialect they are in. `status` None: said within a stream."""
    said = server_words(body, target)
    code = next((code for code, words in WORDS if re.search(words, _flat(body), re.IGNORECASE)), None)
    if code:
        return ProviderError(f"{target.name} refuses {model!r}: {said} {HINTS[code]}", code=code)
    if status in (401, 403):
        key = f" Check the key in {target.proxy_variable.removesuffix('_USE_PROXY')}_API_KEY." if target.key else ""
        return ProviderError(
            f"{target.name} at {target.url} refuses access ({status}): {said}{key}", code="unauthorized"
        )
    if status == 429:
        return _rate_limited(target, said, headers)
    if status is None or status >= 500:
        number = "" if status is None else f" ({status})"
        sentence = f"{target.name} at {target.url} failed{number}: {said}"
        busy = status in (503, 529)
        return ProviderError(sentence, code="server_error", temporary=True, retry_after=retry_after(headers), busy=busy)
    code = "not_found" if status == 404 else "http_error"
    return ProviderError(f"{target.name} at {target.url} refuses the request ({status}): {said}", code=code)


def model_missing(target: Target, model: str, installed: list[str] | None, *, pull: bool) -> ProviderError:
    """That the server has no such model, with what it has and how to get it."""
    installed = None if installed is None else sorted(installed)
    sentence = f"{target.name} at {target.url} has no model {model!r}."
    if installed is None:
        sentence += " It does not say which it has."
    elif not installed:
        sentence += " It has none at all."
    else:
        more = f" and {len(installed) - 20} more" if len(installed) > 20 else ""
        sentence += f"{nearest(model, installed)} It has: {', '.join(installed[:20])}{more}."
    if pull:
        sentence += f" To get it: `ollama pull {model}`."
    return ProviderError(sentence, code="model_not_found")


def broken_off(target: Target, text: str) -> ProviderError:
    """That the answer stopped before its end, with what there is of it."""
    sentence = f"{target.name} at {target.url} closed the connection before its answer was complete."
    return ProviderError(sentence, code="connection_lost", temporary=True, partial=text)


def same_model(one: str, other: str) -> bool:
    """Whether two names mean one model: a name without a tag means its `latest`."""
    return one.removesuffix(":latest") == other.removesuffix(":latest")


def server_words(body: Any, target: Target) -> str:
    """What the server said, as a sentence of bounded length without the key."""
    text = _message(body)
    if target.key:
        text = text.replace(target.key, "***")
    text = re.sub(r"[\x00-\x1f\x7f]+", " ", text).strip()
    text = f"{text[:500]}…" if len(text) > 500 else text or "it gives no reason"
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def body_of(text: str) -> Any:
    """A body as JSON where it is JSON, else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def retry_after(headers: Mapping[str, str]) -> float | None:
    """How long the server asks to wait, in seconds."""
    milliseconds, text = headers.get("retry-after-ms", ""), headers.get("retry-after", "").strip()
    try:
        if milliseconds:
            return max(0.0, float(milliseconds) / 1000)
        if re.fullmatch(r"[0-9.]+", text):
            return float(text)
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds()) if text else None
    except (TypeError, ValueError):
        return None


def _rate_limited(target: Target, said: str, headers: Mapping[str, str]) -> ProviderError:
    wait = retry_after(headers)
    ask = "" if wait is None else f" It asks to wait {wait:g} s."
    return ProviderError(
        f"{target.name} at {target.url} has too many requests (429): {said}{ask}",
        code="rate_limited",
        temporary=True,
        retry_after=wait,
        busy=True,
    )


def _message(body: Any) -> str:
    """The words in a body: `error` as text or object, `message`, `detail`, or the body itself; HTML says nothing."""
    for _ in range(4):
        if not isinstance(body, Mapping):
            break
        body = next((body[key] for key in ("error", "message", "detail", "type") if body.get(key)), "")
    text = body if isinstance(body, str) else json.dumps(body)
    return "" if text.lstrip().startswith("<") else text


def _flat(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body)
