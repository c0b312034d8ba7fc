"""The command line: what is wrong is said on one line, and the exit code tells."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from relay import __version__
from relay.cli import main
from relay.settings import OPTIONS


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line on stderr of a command line that cannot be used."""
    try:
        code: object = main(arguments)
    except SystemExit as end:
        code = end.code
    shown = capsys.readouterr()
    assert code == 2 and shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith("canferry-relay: ")
    return line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "URL"),
        (["chek"], "'chek' is neither a URL nor a command"),
        (["rig.example/mcp"], "'rig.example/mcp' is neither a URL nor a command"),
        (["http://h/mcp", "http://i/mcp"], "unrecognized arguments: http://i/mcp"),
        (["http://h/mcp", "--timeout-rea", "3"], "--timeout-rea"),
        (["http://h/mcp", "--timeout-read", "soon"], "--timeout-read: bad value 'soon'"),
        (["check", "http://h/mcp", "--protocol-era", "new"], "--protocol-era: unknown value 'new'"),
        (["http://h/mcp", "--json"], "--json"),
        (["http://h/mcp", "--log-file", "/nowhere/x"], "--log-file: cannot write '/nowhere/x'"),
        (["http://h/mcp", "--trace", "/nowhere/x"], "--trace: cannot write '/nowhere/x'"),
        (["replay-trace", "/nowhere/x"], "cannot read '/nowhere/x'"),
    ],
)
def test_a_wrong_command_line_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert says in refused(capsys, *arguments)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://host/mcp", "neither http:// nor https://"),
        ("http://", "names no server"),
        ("http://host:0/mcp", "names no server"),
        ("http://host:99999/mcp", "is not a URL"),
        ("http://ho st/mcp", "names no server"),
    ],
)
def test_a_url_that_leads_nowhere_is_refused(
    capsys: pytest.CaptureFixture[str], url: str, says: str
) -> None:
    assert says in refused(capsys, url)


def test_a_password_in_the_url_is_refused_and_not_repeated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = refused(capsys, "https://ann:s3cret@rig.example/mcp")
    assert "Authorization header" in text and "s3cret" not in text


def test_a_header_that_cannot_be_sent_is_refused_and_its_value_not_repeated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "'sp ace'" in refused(capsys, "http://h/mcp", "-H", "sp ace: v")
    text = refused(capsys, "http://h/mcp", "-H", "X-Key: s3cret\r\nInjected: b")
    assert "X-Key" in text and "s3cret" not in text


def test_a_certificate_that_is_none_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    empty = tmp_path / "ca.pem"
    empty.touch()
    assert "--cacert" in refused(capsys, "https://h/mcp", "--cacert", str(empty))
    assert "--cert" in refused(capsys, "https://h/mcp", "--cert", str(empty))


def test_a_file_that_is_no_trace_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "t"
    path.write_text("{}\n")
    assert "is no trace" in refused(capsys, "replay-trace", str(path))


@pytest.mark.parametrize("arguments", [["--version"], ["check", "--version"]])
def test_the_version_is_the_installed_one(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(arguments)
    assert capsys.readouterr().out == f"canferry-relay {__version__}\n"
    assert __version__ == metadata.version("canferry")


def test_help_names_every_option_and_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(option.flag in text for option in OPTIONS)
    for part in ("--header", "--bearer-env", "check URL", "replay-trace FILE", "\n  70  "):
        assert part in text
