"""Limits of providers as they are set."""

from __future__ import annotations

import pytest

from workbench.engine.throttle import Rate, WrongRates, rate_of, read_rates


def test_limits_are_read_for_each_provider():
    assert read_rates(" ollama=2, openai_compatible=16/60rpm ,") == {
        "ollama": Rate(2),
        "openai_compatible": Rate(16, 60),
    }
    assert read_rates("") == {}


@pytest.mark.parametrize("text", ["ollama", "ollama=0", "ollama=2/rpm", "ollama=-1", "ollama=two", "Ollama=2", "=3"])
def test_what_is_no_limit_is_refused_with_an_example(text):
    with pytest.raises(WrongRates, match="Write ollama=2"):
        read_rates(text)


def test_providers_without_a_setting_have_sensible_limits_and_scripts_none():
    assert rate_of("ollama", {}) == Rate(4)
    assert rate_of("embedded", {"ollama": Rate(9)}) == Rate(2)
    assert rate_of("openai_compatible", {}) == Rate(64)
    assert rate_of("scripted", {}) is None
    assert rate_of("scripted", {"scripted": Rate(2)}) == Rate(2)


def test_a_limit_reads_as_people_say_it():
    assert str(Rate(1)) == "1 call at once"
    assert str(Rate(16, 1000)) == "16 calls at once, 1,000 a minute"
