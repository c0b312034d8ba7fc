"""Settings: flags over variables over defaults, and a clear word about what cannot be used."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from relay.settings import OPTIONS, Settings, resolve
from relay.usage import UsageError

URL = "https://rig.example/mcp"


def settle(
    given: Mapping[str, object] | None = None,
    headers: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    url: str = URL,
) -> Settings:
    return resolve(url, given or {}, headers, environ or {})


def headers_of(settings: Settings) -> list[tuple[str, str]]:
    return [(header.name, header.value()) for header in settings.headers]


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
    assert {option.name for option in OPTIONS} < set(Settings.__struct_fields__)


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
        ("drain_timeout", "-1", "give seconds"),
        ("protocol_era", "new", "use auto, legacy, modern"),
        ("transport", "http2", "use auto, streamable-http, sse"),
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
    assert "is not a URL" in refused(url="http://[::1/mcp")
    assert "s3cret" not in refused(url="http://ann:s3cret@rig:99999/mcp")


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30.0), ("0.5", 0.5), ("0", 0.0), ("1e2", 100.0)]
)
def test_a_drain_of_no_seconds_is_no_drain(text: str, seconds: float) -> None:
    assert settle({"drain_timeout": text}).drain_timeout == seconds


def test_the_bearer_file_is_a_flag_or_a_variable(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("t0ken\n")
    expected = [("Authorization", "Bearer t0ken")]
    assert headers_of(settle({"bearer_file": str(file)})) == expected
    assert headers_of(settle(environ={"CANFERRY_RELAY_BEARER_FILE": str(file)})) == expected


def test_the_proxy_is_a_flag_or_a_variable_and_wins_over_that_of_everybody() -> None:
    environ = {"CANFERRY_RELAY_PROXY": "http://mine:1", "HTTPS_PROXY": "http://theirs:2"}
    chosen = settle({"proxy": "http://flag:3"}, environ=environ).proxy
    assert chosen and (chosen.url, chosen.source) == ("http://flag:3", "--proxy")
    chosen = settle(environ=environ).proxy
    assert chosen and (chosen.url, chosen.source) == ("http://mine:1", "CANFERRY_RELAY_PROXY")
    assert settle({"proxy": "none"}, environ=environ).proxy is None


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


@pytest.mark.skipif(os.name != "posix", reason="the mode of a file says nothing elsewhere")
@pytest.mark.parametrize(("mode", "warned"), [(0o600, False), (0o640, False), (0o604, True)])
def test_a_secret_that_everybody_can_read_is_warned_about(
    tmp_path: Path, mode: int, warned: bool
) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret")
    file.chmod(mode)
    for settings in (
        settle({"bearer_file": str(file)}),
        settle(headers=[f"X-Key: ${{file:{file}}}"]),
    ):
        assert ["chmod o-r" in warning for warning in settings.warnings] == [True] * warned
        assert not any("s3cret" in warning for warning in settings.warnings)


def test_an_old_transport_carries_no_modern_session() -> None:
    assert "--protocol-era" in refused({"transport": "sse", "protocol_era": "modern"})
    assert settle({"transport": "sse", "protocol_era": "legacy"}).transport == "sse"


def test_a_key_needs_its_certificate(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.touch()
    assert refused({"key": str(key)}).startswith("--key")
    assert settle({"key": str(key), "cert": str(key)}).key == str(key)


def test_the_host_is_shown_with_its_port() -> None:
    assert settle(url="http://[::1]:8765/mcp").host == "[::1]:8765"


@pytest.mark.obligation(36)
def test_nothing_is_given_up_before_slow_servers_begin_or_keep_alive() -> None:
    chosen = settle()
    assert chosen.timeout_head is not None
    assert chosen.timeout_head > 20  # the head of a long call comes after 15 s
    assert chosen.timeout_read is not None
    assert chosen.timeout_read > 30  # as do comments that keep a stream alive
