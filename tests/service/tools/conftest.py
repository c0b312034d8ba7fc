"""The rig that the tests of the tools share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.tools.rig import Rig, opened


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    with opened(tmp_path) as made:
        yield made
