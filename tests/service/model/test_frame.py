"""A frame cannot be invalid."""

from __future__ import annotations

from typing import Any

import pytest

from service.model.frame import Frame, InvalidFrameError


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"arbitration_id": -1}, "11 bit"),
        ({"arbitration_id": 0x800}, "11 bit"),
        ({"arbitration_id": 0x20000000, "is_extended": True}, "29 bit"),
        ({"arbitration_id": 1, "data": bytes(9)}, "at most 8"),
        ({"arbitration_id": 1, "data": bytes(9), "is_fd": True}, "CAN FD carries"),
        ({"arbitration_id": 1, "is_remote": True, "is_fd": True}, "no remote"),
        ({"arbitration_id": 1, "is_remote": True, "data": b"1"}, "no data"),
        ({"arbitration_id": 1, "is_remote": True, "remote_length": 9}, "at most 8"),
        ({"arbitration_id": 1, "remote_length": 1}, "only a remote"),
        ({"arbitration_id": 1, "remote_length": 1, "is_fd": True}, "only a remote"),
        ({"arbitration_id": 1, "bitrate_switch": True}, "CAN FD only"),
        ({"arbitration_id": 1, "error_state_indicator": True}, "CAN FD only"),
        ({"arbitration_id": 1, "is_error": True, "is_extended": True}, "error frame"),
        ({"arbitration_id": 1, "is_error": True, "is_fd": True}, "error frame"),
    ],
)
def test_parts_that_no_controller_could_send_are_refused(
    parts: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InvalidFrameError, match=reason):
        Frame(**parts)


def test_a_remote_frame_has_the_length_it_names() -> None:
    assert Frame(1, is_remote=True, remote_length=5).length == 5
    assert Frame(1, b"abc").length == 3
