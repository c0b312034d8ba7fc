"""The headers that a user gives: filled in from variables and files, and never shown."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from relay.given_headers import MAX_SECRET, GivenHeader, SecretFile, bearer, parse_header
from relay.usage import UsageError


def authorization(
    variable: str | None = None,
    file: SecretFile | None = None,
    others: Sequence[GivenHeader] = (),
    environ: Mapping[str, str] | None = None,
) -> list[tuple[str, str]]:
    return [(each.name, each.value()) for each in bearer(variable, file, others, environ or {})]


def token_in(path: Path, content: str = "t0ken\n") -> SecretFile:
    path.write_text(content, encoding="utf-8")
    return SecretFile(str(path), "--bearer-file", token=True)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("X-Key: k-${KEY}-${KEY}", "X-Key", "k-s3cret-s3cret"),
        ("X-Empty:", "X-Empty", ""),
        ("x-url: http://a:1", "x-url", "http://a:1"),
        ("X-Cash: $5 ${}", "X-Cash", "$5 ${}"),
    ],
)
def test_a_header_is_split_and_filled_from_the_environment(
    text: str, name: str, value: str
) -> None:
    header = parse_header(text, {"KEY": "s3cret"})
    assert (header.name, header.value(), header.files) == (name, value, [])


def test_a_header_is_filled_from_files_each_time_it_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "key"
    header = parse_header(f"X-Key: a ${{file:{file}}} ${{B}}", {"B": "b"})
    for secret in ("one", "two"):
        file.write_text(f" {secret}\n")
        assert header.value() == f"a {secret} b"


def test_what_a_variable_holds_is_never_taken_for_a_reference(tmp_path: Path) -> None:
    reference = f"${{file:{tmp_path}}}"
    assert parse_header("X-Key: ${A}", {"A": reference}).value() == reference


def test_a_file_of_the_home_directory_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "key").write_text("s3cret")
    assert parse_header("X-Key: ${file:~/key}", {}).value() == "s3cret"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no-colon", "'no-colon' is not a header"),
        ("X-Key: ${NOWHERE}", "X-Key needs the variable NOWHERE"),
    ],
)
def test_a_bad_header_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_header(text, {})
    assert refused.value.option == "--header" and says in str(refused.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "one line of text"),
        (b" \n", "one line of text"),
        (b"two\nlines", "one line of text"),
        (b"a\0b", "one line of text"),
        (b"x" * (MAX_SECRET + 1), "one line of text"),
        (None, "cannot read"),
    ],
)
def test_a_file_without_a_secret_is_named_and_not_shown(
    tmp_path: Path, content: bytes | None, says: str
) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UsageError) as refused:
        parse_header(f"X-Key: ${{file:{file}}}", {}).value()
    text = str(refused.value)
    assert text.startswith("--header X-Key: ") and repr(str(file)) in text and says in text
    assert "two" not in text and "xx" not in text


def test_octets_of_a_file_go_out_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_bytes(b"caf\xe9")
    value = parse_header(f"X-Key: ${{file:{file}}}", {}).value()
    assert value.encode("utf-8", "surrogateescape") == b"caf\xe9"


def test_a_bearer_comes_from_the_named_variable_or_the_usual_one() -> None:
    environ = {"MCP_BEARER_TOKEN": "usual", "RIG": "named\n"}
    assert authorization(environ=environ) == [("Authorization", "Bearer usual")]
    assert authorization("RIG", environ=environ) == [("Authorization", "Bearer named")]
    assert authorization() == []


def test_a_bearer_comes_from_a_file_before_the_usual_variable(tmp_path: Path) -> None:
    file = token_in(tmp_path / "token")
    environ = {"MCP_BEARER_TOKEN": "usual"}
    assert authorization(file=file, environ=environ) == [("Authorization", "Bearer t0ken")]


def test_an_authorization_header_wins_over_the_usual_variable() -> None:
    basic = GivenHeader("authorization", ("Basic eA==",))
    assert authorization(others=[basic], environ={"MCP_BEARER_TOKEN": "usual"}) == []


def test_two_authorizations_asked_for_are_refused(tmp_path: Path) -> None:
    file, basic = token_in(tmp_path / "token"), GivenHeader("Authorization", ("x",))
    for variable, named, others in (
        ("RIG", None, [basic]),
        (None, file, [basic]),
        ("RIG", file, []),
    ):
        with pytest.raises(UsageError) as refused:
            authorization(variable, named, others, {"RIG": "s3cret"})
        assert "use one of them" in str(refused.value) and "s3cret" not in str(refused.value)


@pytest.mark.parametrize("token", ["", "  ", "two words", "ünicode"])
def test_what_is_no_token_is_refused_and_not_shown(tmp_path: Path, token: str) -> None:
    with pytest.raises(UsageError, match="RIG"):
        authorization("RIG", environ={"RIG": token})
    file = token_in(tmp_path / "token", token)
    with pytest.raises(UsageError) as refused:
        authorization(file=file)
    text = str(refused.value)
    assert str(file.path) in text and "does not hold a token" in text
    assert not token.strip() or token not in text


def test_no_secret_is_in_the_text_of_a_header(tmp_path: Path) -> None:
    assert "s3cret" not in repr(parse_header("X-Key: ${A}", {"A": "s3cret"}))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in the file system")
def test_only_a_file_can_be_read_again(tmp_path: Path) -> None:
    assert token_in(tmp_path / "token").lasting
    os.mkfifo(tmp_path / "pipe")
    pipe = SecretFile(str(tmp_path / "pipe"), "--bearer-file")
    assert not pipe.lasting and not pipe.exposed
