"""The fake model server as a fixture: `from tests.fake_models import fake_models` in a conftest brings it."""

from __future__ import annotations

import pytest

from workbench.engine.providers._fake_models import Asked, FakeModels, Raw, Says

__all__ = ["Asked", "FakeModels", "Raw", "Says", "fake_models"]


@pytest.fixture
def fake_models():
    """One server for the test; its queue is `replies`, what it was asked is in `requests` and `chats`."""
    with FakeModels() as fake:
        yield fake
