"""URLs taken apart."""

from __future__ import annotations

import pytest

from relay.core.events import Failure
from relay.http.errors import HttpError, InvalidUrlError
from relay.http.target import Target, parse_target


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "authority"),
    [
        ("http://rig", "rig", 80, "/", "rig"),
        ("https://Rig.Example/mcp", "rig.example", 443, "/mcp", "rig.example"),
        ("https://rig:443/", "rig", 443, "/", "rig"),
        ("http://rig:443/", "rig", 443, "/", "rig:443"),
        ("http://127.0.0.1:8765/mcp?a=b&c", "127.0.0.1", 8765, "/mcp?a=b&c", "127.0.0.1:8765"),
        ("http://[::1]:8765/mcp", "::1", 8765, "/mcp", "[::1]:8765"),
        ("http://[fe80::1%25eth0]/mcp", "fe80::1%eth0", 80, "/mcp", "[fe80::1]"),
        ("http://rig/a%2Fb/ä?ö=%20", "rig", 80, "/a%2Fb/%C3%A4?%C3%B6=%20", "rig"),
        ("http://rig/mcp#part", "rig", 80, "/mcp", "rig"),
        ("http://bücher.example/", "xn--bcher-kva.example", 80, "/", "xn--bcher-kva.example"),
    ],
)
def test_a_url_is_taken_apart(url: str, host: str, port: int, path: str, authority: str) -> None:
    target = parse_target(url)
    assert (target.host, target.port, target.path, target.authority) == (
        host,
        port,
        path,
        authority,
    )


@pytest.mark.parametrize(
    "url",
    [
        "",
        "rig.example/mcp",
        "ftp://rig/",
        "ws://rig/",
        "http://",
        "http://:80/",
        "http://rig:0/",
        "http://rig:99999/",
        "http://rig:port/",
        "http://[::1/",
        "http://rig/a b",
        "http://rig/a\r\nX: y",
        "http://a..b" + "ä" * 70 + "/",
    ],
)
def test_what_names_no_server_is_refused(url: str) -> None:
    with pytest.raises(InvalidUrlError):
        parse_target(url)


@pytest.mark.parametrize("url", ["http://user:hunter2@rig/", "ftp://user:hunter2@rig/"])
def test_a_password_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidUrlError) as caught:
        parse_target(url)
    assert "hunter2" not in str(caught.value)


HERE = Target("http", "rig", 8080, "/mcp?a=b")


@pytest.mark.parametrize(
    ("location", "there"),
    [
        ("/mcp/", Target("http", "rig", 8080, "/mcp/")),
        ("other", Target("http", "rig", 8080, "/other")),
        ("http://rig:8080/x", Target("http", "rig", 8080, "/x")),
        ("https://rig/x", Target("https", "rig", 443, "/x")),
        ("https://rig:8443/x", Target("https", "rig", 8443, "/x")),
        ("//rig:8080/x", Target("http", "rig", 8080, "/x")),
        ("http://rig/x", None),
        ("http://other:8080/x", None),
        ("https://other/x", None),
        ("//other:8080/x", None),
        ("http://user@rig:8080/x", None),
        ("ftp://rig:8080/x", None),
        ("/x y", None),
    ],
)
def test_credentials_stay_with_their_server(location: str, there: Target | None) -> None:
    assert HERE.redirected(location) == there


def test_a_redirect_never_leaves_tls() -> None:
    assert Target("https", "rig", 443, "/").redirected("http://rig/") is None


@pytest.mark.parametrize(
    ("reference", "there"),
    [
        ("", HERE),
        ("/messages/?session_id=1", Target("http", "rig", 8080, "/messages/?session_id=1")),
        ("messages", Target("http", "rig", 8080, "/messages")),
        ("?session_id=1", Target("http", "rig", 8080, "/mcp?session_id=1")),
        ("http://rig:8080/m", Target("http", "rig", 8080, "/m")),
        ("http://RIG:8080/m#part", Target("http", "rig", 8080, "/m")),
    ],
)
def test_a_request_may_name_another_place_on_the_same_origin(reference: str, there: Target) -> None:
    assert HERE.of_request(reference) == there


@pytest.mark.parametrize(
    "reference",
    [
        "http://other:8080/m?session_id=hunter2",
        "//other:8080/m",
        "http://rig/m",
        "https://rig:8080/m",
        "http://user:hunter2@rig:8080/m",
        "http://rig:port/m",
        "/a b",
        "file:///etc/passwd",
    ],
)
def test_a_request_for_another_origin_is_refused(reference: str) -> None:
    with pytest.raises(HttpError) as caught:
        HERE.of_request(reference)
    assert caught.value.failure is Failure.PROTOCOL
    assert not caught.value.may_have_executed
    assert "http://rig:8080" in caught.value.detail
    assert "hunter2" not in caught.value.detail
