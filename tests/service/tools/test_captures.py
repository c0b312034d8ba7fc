"""capture_info, stats and filter, called as a client calls them."""

from __future__ import annotations

import pytest

from tests.service.tools.rig import Rig


async def test_the_sample_is_summed_up(rig: Rig) -> None:
    info = await rig.data("capture_info", file="sample.candump")
    assert (info["frame_count"], info["unique_ids"]) == (3, 3)
    assert info["interfaces"] == ["can0", "can1"]
    assert (info["first_timestamp"], info["last_timestamp"]) == (0.0, 0.2)
    assert info["duration_seconds"] == 0.2
    assert (info["suggested_max_frames"], info["suggested_seconds"]) == (3, 0.2)


async def test_the_samples_statistics_have_the_known_counts(rig: Rig) -> None:
    stats = await rig.data("stats", file="sample.candump")
    assert (stats["total_frames"], stats["unique_arbitration_ids"]) == (3, 3)
    assert stats["dlc_distribution"] == {"4": 2, "8": 1}
    assert [row["arbitration_id_hex"] for row in stats["top_ids"]] == [
        "0x18F00431",
        "0x18FEEE31",
        "0x18FEF100",
    ]
    assert stats["bus_load"]["total_bits_estimate"] >= 329


async def test_top_limits_the_ids_listed(rig: Rig) -> None:
    stats = await rig.data("stats", file="sample.candump", top=1)
    assert stats["top_ids_returned"] == len(stats["top_ids"]) == 1
    assert stats["unique_arbitration_ids"] == 3


async def test_group_and_source_addresses_select_frames(rig: Rig) -> None:
    by_group = await rig.data("stats", file="sample.candump", pgn=61444)
    assert [row["pgn"] for row in by_group["top_ids"]] == [61444]
    by_source = await rig.data("stats", file="sample.candump", sa="0x31, 7")
    assert by_source["total_frames"] == 2
    nothing = await rig.data("stats", file="sample.candump", pgn=1)
    assert (nothing["total_frames"], nothing["first_timestamp"]) == (0, None)


async def test_an_expression_finds_its_frame(rig: Rig) -> None:
    found = await rig.data("filter", file="sample.candump", expression="id==0x18FEEE31")
    assert found["events"] == ["(0.000000) can0 18FEEE31#11223344"]
    assert (found["matched_frames"], found["searched_frames"]) == (1, 3)
    assert found["next_cursor"] is None


async def test_all_rows_come_page_by_page(rig: Rig) -> None:
    lines = [f"({index}.000000) can0 123#{index:02X}" for index in range(25)]
    file = rig.capture("many.log", *lines)
    seen: list[str] = []
    cursor = None
    for _ in range(3):
        page = await rig.data("filter", file=file, expression="time >= 1", limit=10, cursor=cursor)
        assert page["matched_frames"] == 24
        seen += page["events"]
        cursor = page["next_cursor"]
    assert cursor is None
    assert seen == lines[1:]


async def test_a_cursor_is_good_for_its_own_query_only(rig: Rig) -> None:
    file = rig.capture("many.log", *[f"({index}.0) can0 123#" for index in range(9)])
    page = await rig.data("filter", file=file, expression="all", limit=2)
    cursor = page["next_cursor"]
    for changed in ({"expression": "fd"}, {"offset": 1}, {"file": "sample.candump"}):
        arguments = {"file": file, "expression": "all", "cursor": cursor} | changed
        assert await rig.code("filter", **arguments) == "INVALID_CURSOR"
    for forged in ("x", "-1", "5-00000000", ""):
        call = {"file": file, "expression": "all", "cursor": forged}
        assert await rig.code("filter", **call) == "INVALID_CURSOR"
    rig.capture("many.log", "(0.0) can0 123#11")
    assert await rig.code("filter", file=file, expression="all", cursor=cursor) == "INVALID_CURSOR"


async def test_a_window_is_applied_before_the_search(rig: Rig) -> None:
    found = await rig.data(
        "filter", file="sample.candump", expression="all", offset=1, max_frames=1
    )
    assert found["events"] == ["(0.100000) can0 18F00431#AABBCCDD"]
    stats = await rig.data("stats", file="sample.candump", seconds=0.15)
    assert stats["total_frames"] == 2


READERS = [
    ("capture_info", {}),
    ("stats", {}),
    ("filter", {"expression": "all"}),
    ("decode", {"dbc": "complex.dbc"}),
]


@pytest.mark.parametrize(("tool", "more"), READERS)
async def test_an_empty_capture_is_empty_to_every_tool(
    rig: Rig, tool: str, more: dict[str, str]
) -> None:
    assert await rig.code(tool, file=rig.capture("empty.log"), **more) == "CAPTURE_EMPTY"


@pytest.mark.parametrize(("tool", "more"), READERS)
async def test_what_is_no_capture_is_refused_alike_by_every_tool(
    rig: Rig, tool: str, more: dict[str, str]
) -> None:
    assert await rig.code(tool, file="nowhere.log", **more) == "CAPTURE_SOURCE_UNAVAILABLE"
    assert await rig.code(tool, file="/etc/passwd", **more) == "PATH_OUTSIDE_ROOTS"
    assert await rig.code(tool, file="../x", **more) == "PATH_OUTSIDE_ROOTS"
    other = rig.capture("drive.asc", "date Mon", "base hex")
    assert await rig.code(tool, file=other, **more) == "CAPTURE_FORMAT_UNSUPPORTED"
    assert await rig.code(tool, file="-", **more) == "STDIN_MCP_EXCLUDED"
    assert await rig.code(tool, file="--file=-", **more) == "CAPTURE_SOURCE_UNAVAILABLE"


@pytest.mark.parametrize(("tool", "more"), READERS)
async def test_stray_bytes_are_skipped_with_a_warning(
    rig: Rig, tool: str, more: dict[str, str]
) -> None:
    file = rig.capture("stray.log", "(0.0) can0 123#11", "M\xfcll", "(0.1) can0 123#11")
    envelope = await rig.call(tool, file=file, **more)
    assert envelope["ok"]
    assert any("line 2" in warning for warning in envelope["warnings"])


@pytest.mark.parametrize("tool", ["stats", "filter", "decode"])
async def test_limits_out_of_range_have_codes_of_their_own(rig: Rig, tool: str) -> None:
    more = dict(READERS)[tool]
    for bad in (-1, 0):
        code = await rig.code(tool, file="sample.candump", max_frames=bad, **more)
        assert code == "INVALID_MAX_FRAMES"
        code = await rig.code(tool, file="sample.candump", seconds=float(bad), **more)
        assert code == "INVALID_ANALYSIS_SECONDS"
    code = await rig.code(tool, file="sample.candump", offset=3, **more)
    assert code == "CAPTURE_EMPTY"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"offset": -5}, "INVALID_ARGUMENTS"),
        ({"top": -1}, "INVALID_ARGUMENTS"),
        ({"bogus": 1}, "INVALID_ARGUMENTS"),
        ({"pgn": "notanint"}, "INVALID_ARGUMENTS"),
        ({"pgn": 0x40000}, "INVALID_ARGUMENTS"),
        ({"sa": "0x1FF"}, "INVALID_SOURCE_ADDRESS"),
        ({"sa": "engine"}, "INVALID_SOURCE_ADDRESS"),
        ({"sa": ""}, "INVALID_SOURCE_ADDRESS"),
    ],
)
async def test_senseless_statistics_are_refused(
    rig: Rig, arguments: dict[str, object], code: str
) -> None:
    assert await rig.code("stats", file="sample.candump", **arguments) == code


async def test_a_faulty_expression_is_refused_with_its_place(rig: Rig) -> None:
    envelope = await rig.call("filter", file="sample.candump", expression="id=1")
    [error] = envelope["errors"]
    assert error["code"] == "INVALID_FILTER_EXPRESSION"
    assert envelope["data"] == {"expression": "id=1", "position": 3}


async def test_time_that_goes_back_has_one_meaning_and_a_warning(rig: Rig) -> None:
    file = rig.capture("back.log", *[f"({stamp}.0) can0 123#11" for stamp in (10, 11, 5, 6)])
    for tool in ("capture_info", "stats"):
        envelope = await rig.call(tool, file=file)
        data = envelope["data"]
        assert (data["first_timestamp"], data["last_timestamp"]) == (5.0, 11.0)
        assert data["duration_seconds"] == 6.0
        assert data["backward_steps"] == 1
        assert any("goes back" in warning for warning in envelope["warnings"])
    window = await rig.data("filter", file=file, expression="all", seconds=2)
    assert window["searched_frames"] == 2


async def test_a_negative_time_is_a_time(rig: Rig) -> None:
    file = rig.capture("before.log", "(-1.5) can0 123#11", "(0.0) can0 123#11")
    info = await rig.data("capture_info", file=file)
    assert (info["frame_count"], info["duration_seconds"]) == (2, 1.5)


async def test_every_spelling_of_can_utils_counts(rig: Rig) -> None:
    file = rig.capture(
        "forms.log",
        "(0.0) can0 123##5112233",
        "(0.1) can0 123#R8",
        "(0.2) can0 123#11 R",
        "(0.3) can0 123#1122334455667788_9",
        "  can0  123   [2]  11 22",
        "(0.4) can0 20000004#0004000000000000",
    )
    info = await rig.data("capture_info", file=file)
    assert (info["frame_count"], info["skipped_lines"]) == (6, 0)
    assert (info["fd_frames"], info["remote_frames"], info["error_frames"]) == (1, 1, 1)
    assert info["unique_ids"] == 1


async def test_11_and_29_bits_and_channels_are_told_apart(rig: Rig) -> None:
    file = rig.capture(
        "keys.log", "(0.0) can0 123#", "(0.1) can0 00000123#", "(0.2) can1 123#", "(0.3) can0 123#"
    )
    stats = await rig.data("stats", file=file)
    rows = {(row["channel"], row["arbitration_id_hex"]): row for row in stats["top_ids"]}
    assert {key: row["frame_count"] for key, row in rows.items()} == {
        ("can0", "0x123"): 2,
        ("can0", "0x00000123"): 1,
        ("can1", "0x123"): 1,
    }
    info = await rig.data("capture_info", file=file)
    assert (info["unique_ids"], info["unique_numeric_ids"]) == (2, 1)


async def test_error_frames_are_counted_and_are_no_ids(rig: Rig) -> None:
    file = rig.capture("errors.log", "(0.0) can0 123#11", "(0.1) can0 20000080#0000000000000000")
    stats = await rig.data("stats", file=file)
    assert (stats["error_frames"], stats["unique_arbitration_ids"]) == (1, 1)
    assert stats["dlc_distribution"] == {"1": 1}
