"""Settings: flags over variables over defaults, and a clear word about what cannot be used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from relay.settings import OPTIONS, Settings, UsageError, resolve

URL = "https://rig.example/mcp"


def settle(
    given: Mapping[str, object] | None = None,
    headers: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    url: str = URL,
) -> Settings:
    return resolve(url, given or {}, headers, environ or {})


def refused(
    given: Mapping[str, object] | None = None,
    headers: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    url: str = URL,
) -> str:
    with pytest.raises(UsageError) as error:
        settle(given, headers, environ, url)
    return str(error.value)


def test_a_url_alone_is_enough() -> None:
    assert settle() == Settings(url=URL)


def test_a_flag_wins_over_a_variable_and_that_over_the_default() -> None:
    environ = {"CANFERRY_RELAY_TIMEOUT_READ": "7", "CANFERRY_RELAY_LOG_LEVEL": "debug"}
    settings = settle({"timeout_read": "9"}, environ=environ)
    assert (settings.timeout_read, settings.log_level, settings.timeout_head) == (9, "debug", 60)


def test_every_option_has_a_setting() -> None:
    assert {option.name for option in OPTIONS} < set(Settings.__dataclass_fields__)


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30.0), ("0.5", 0.5), ("0", None), ("1e2", 100.0)]
)
def test_times_are_seconds_and_zero_is_no_limit(text: str, seconds: float | None) -> None:
    assert settle({"timeout_head": text}).timeout_head == seconds


@pytest.mark.parametrize(
    ("text", "size"), [("512", 512), ("64M", 64 << 20), ("1GiB", 1 << 30), ("2 kB", 2048), ("0", 0)]
)
def test_sizes_take_a_unit(text: str, size: int) -> None:
    assert settle({"max_message_size": text}).max_message_size == size


@pytest.mark.parametrize(
    ("name", "text", "remedy"),
    [
        ("timeout_read", "soon", "give seconds"),
        ("timeout_read", "-1", "give seconds"),
        ("timeout_read", "inf", "give seconds"),
        ("max_message_size", "big", "give bytes"),
        ("max_message_size", "-5", "give bytes"),
        ("protocol_era", "new", "use auto, legacy, modern"),
        ("log_level", "loud", "use debug"),
        ("cacert", "/nowhere/ca.pem", "check the path"),
    ],
)
def test_a_bad_value_is_named_with_its_option_and_a_remedy(
    name: str, text: str, remedy: str
) -> None:
    option = next(option for option in OPTIONS if option.name == name)
    from_flag = refused({name: text})
    assert from_flag.startswith(option.flag) and repr(text) in from_flag and remedy in from_flag
    from_variable = refused(environ={option.variable: text})
    assert from_variable.startswith(option.variable) and remedy in from_variable


def test_a_switch_can_be_a_variable() -> None:
    assert settle(environ={"CANFERRY_RELAY_INSECURE": "true"}).insecure
    assert not settle(environ={"CANFERRY_RELAY_INSECURE": "0"}).insecure
    assert "true or false" in refused(environ={"CANFERRY_RELAY_INSECURE": "maybe"})


def test_a_url_that_cannot_be_read_is_refused() -> None:
    assert "cannot be read" in refused(url="http://[::1/mcp")


def test_headers_are_split_and_filled_from_the_environment() -> None:
    environ = {"KEY": "s3cret"}
    settings = settle(headers=["X-Key: k-${KEY}", "X-Empty:", "x-url: http://a:1"], environ=environ)
    assert settings.headers == (("X-Key", "k-s3cret"), ("X-Empty", ""), ("x-url", "http://a:1"))


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("no-colon", "'no-colon' is not a header"),
        ("X-Key: ${NOWHERE}", "X-Key needs the variable NOWHERE"),
    ],
)
def test_a_bad_header_is_refused(header: str, says: str) -> None:
    text = refused(headers=[header])
    assert text.startswith("--header") and says in text


def test_a_bearer_comes_from_the_named_variable_or_the_usual_one() -> None:
    environ = {"MCP_BEARER_TOKEN": "usual", "RIG": "named\n"}
    assert settle(environ=environ).headers == (("Authorization", "Bearer usual"),)
    named = settle({"bearer_env": "RIG"}, environ=environ)
    assert named.headers == (("Authorization", "Bearer named"),)


def test_an_authorization_header_wins_over_the_usual_variable() -> None:
    environ = {"MCP_BEARER_TOKEN": "usual"}
    settings = settle(headers=["authorization: Basic eA=="], environ=environ)
    assert settings.headers == (("authorization", "Basic eA=="),)


def test_two_authorizations_asked_for_are_refused() -> None:
    text = refused({"bearer_env": "RIG"}, ["Authorization: x"], {"RIG": "s3cret"})
    assert "--bearer-env" in text and "s3cret" not in text


@pytest.mark.parametrize("token", ["", "  ", "two words", "ünicode"])
def test_a_variable_without_a_token_is_refused(token: str) -> None:
    assert "RIG" in refused({"bearer_env": "RIG"}, environ={"RIG": token})


def test_secrets_do_not_show_in_the_settings_text() -> None:
    assert "s3cret" not in repr(settle(environ={"MCP_BEARER_TOKEN": "s3cret"}))


@pytest.mark.parametrize(
    ("url", "warned"),
    [
        ("http://rig.example/mcp", True),
        ("http://10.0.0.7/mcp", True),
        ("http://127.0.0.1:8765/mcp", False),
        ("http://[::1]/mcp", False),
        ("http://localhost/mcp", False),
        ("https://rig.example/mcp", False),
    ],
)
def test_credentials_in_the_clear_are_warned_about(url: str, warned: bool) -> None:
    warnings = settle(environ={"MCP_BEARER_TOKEN": "s3cret"}, url=url).warnings
    assert [("unencrypted" in warning) for warning in warnings] == [True] * warned
    assert settle(url=url).warnings == ()


def test_an_insecure_connection_is_warned_about() -> None:
    assert "--insecure" in settle({"insecure": True}).warnings[0]


def test_a_key_needs_its_certificate(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.touch()
    assert refused({"key": str(key)}).startswith("--key")
    assert settle({"key": str(key), "cert": str(key)}).key == str(key)


def test_the_host_is_shown_with_its_port() -> None:
    assert settle(url="http://[::1]:8765/mcp").host == "[::1]:8765"
