from __future__ import annotations

import pytest

from tests.experiments.live.telling import Telling


@pytest.fixture
def tells():
    """`tells(run)`: the run goes on in this process."""
    made = []

    def make(run) -> Telling:
        made.append(Telling(run))
        return made[-1]

    yield make
    for telling in made:
        telling.close()
