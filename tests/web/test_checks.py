"""What is set wrongly is found before the first request, with what to do."""

from __future__ import annotations

from django.core.checks import run_checks


def found() -> dict[str, str]:
    return {
        message.id: f"{message.msg} {message.hint}" for message in run_checks() if message.id.startswith("workbench.")
    }


def test_good_settings_are_silent():
    assert found() == {}


def test_home_that_is_no_folder_is_an_error(settings, tmp_path):
    settings.WORKBENCH_HOME = tmp_path / "nowhere"

    assert "set WORKBENCH_HOME to another" in found()["workbench.E001"]


def test_open_doors_are_warned_of(settings):
    settings.ALLOWED_HOSTS, settings.DEBUG = ["*"], True

    assert "Name the hosts instead" in found()["workbench.W001"]
    assert "Unset WORKBENCH_DEBUG" in found()["workbench.W002"]
