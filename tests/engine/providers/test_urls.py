from __future__ import annotations

import pytest

from workbench.engine.errors import ProviderError
from workbench.engine.providers._urls import is_local, native_url, openai_url


@pytest.mark.parametrize(
    ("text", "native", "openai"),
    [
        ("127.0.0.1:11434", "http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        ("localhost", "http://localhost", "http://localhost/v1"),
        (" 'HTTP://LocalHost:11434/V1/' ", "http://localhost:11434", "http://localhost:11434/v1"),
        ("http://h/api/chat", "http://h", "http://h/v1"),
        ("http://h/v1/chat/completions", "http://h", "http://h/v1"),
        ("http://h/ollama/", "http://h/ollama", "http://h/ollama"),
        ("[::1]:11434", "http://[::1]:11434", "http://[::1]:11434/v1"),
    ],
)
def test_an_address_is_normalised_for_both_dialects(text, native, openai):
    assert native_url(text, variable="X") == native
    assert openai_url(text, variable="X") == openai


@pytest.mark.parametrize(
    "url",
    [
        "https://openrouter.ai/api/v1",
        "https://api.groq.com/openai/v1",
        "https://generativelanguage.googleapis.com/v1beta/openai",
    ],
)
def test_paths_of_clouds_are_kept(url):
    assert openai_url(f"{url}/", variable="X") == url


def test_far_away_without_a_scheme_means_https():
    assert openai_url("api.openai.com", variable="X") == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ftp://h",
        "http://",
        "http://h:port",
        "http://user:secret@h",
        "http://h/v1?key=1",
        "http://a b/",
        "http://[::",
    ],
)
def test_what_is_no_address_is_refused_by_the_name_of_its_variable(text):
    with pytest.raises(ProviderError, match=r"^OLLAMA_URL: ") as raised:
        native_url(text, variable="OLLAMA_URL")

    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1", True),
        ("http://10.0.0.3/v1", True),
        ("http://ollama:11434", True),
        ("http://host.docker.internal", True),
        ("https://api.openai.com/v1", False),
        ("http://8.8.8.8", False),
    ],
)
def test_near_and_far_are_told_apart(url, local):
    assert is_local(url) is local
