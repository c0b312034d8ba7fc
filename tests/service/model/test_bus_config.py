"""What an operator may say about a bus."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from service.model.bus_config import BusConfig


def test_a_bus_is_virtual_and_unarmed_unless_said_otherwise() -> None:
    config = BusConfig()
    assert (config.interface, config.armed) == ("virtual", False)


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"simulate": "truck", "interface": "socketcan"}, "virtual"),
        ({"replay": "drive.log", "interface": "pcan"}, "virtual"),
        ({"replay": "drive.log", "simulate": "truck"}, "exclude"),
        ({"bitrat": 500_000}, "Extra inputs"),
        ({"bitrate": 0}, "greater than"),
    ],
)
def test_what_makes_no_sense_is_refused(keys: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        BusConfig(**keys)
