"""Heads of requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.core.events import Failure
from relay.http.errors import HttpError, InvalidHeaderError
from relay.http.headers import Headers, RequestHeaders
from relay.http.interface import HttpRequest
from relay.http.target import Target, parse_target

TARGET = parse_target("http://rig:8080/mcp")


def rendered(given: Headers, *own: tuple[str, str]) -> list[str]:
    head = RequestHeaders(given).render(TARGET, HttpRequest("GET", own)).decode()
    assert head.endswith("\r\n\r\n")
    return head.split("\r\n")[:-2]


def test_the_defaults_are_sent() -> None:
    assert rendered(()) == [
        "GET /mcp HTTP/1.1",
        "Host: rig:8080",
        "User-Agent: canferry-relay",
        "Accept-Encoding: gzip",
    ]


def test_given_headers_replace_the_defaults_whatever_their_case() -> None:
    given = [("USER-agent", "mine"), ("accept-encoding", "identity"), ("host", "tunnel")]
    assert rendered(given) == [
        "GET /mcp HTTP/1.1",
        "USER-agent: mine",
        "accept-encoding: identity",
        "host: tunnel",
    ]


def test_the_headers_of_the_protocol_win() -> None:
    lines = rendered(
        [("accept", "application/json"), ("X-A", "1")], ("Accept", "text/event-stream")
    )
    assert lines[2:4] == ["Accept: text/event-stream", "X-A: 1"]
    assert not any(line.startswith("accept:") for line in lines)


def test_a_given_header_may_be_repeated() -> None:
    lines = rendered([("X-A", "1"), ("x-a", "2")])
    assert lines[2:4] == ["X-A: 1", "x-a: 2"]


def test_octets_go_out_as_the_environment_had_them() -> None:
    value = b"caf\xc3\xa9 \xff".decode("utf-8", "surrogateescape")
    head = RequestHeaders([("X-A", value)]).render(TARGET, HttpRequest("GET"))
    assert b"X-A: caf\xc3\xa9 \xff\r\n" in head


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\n", "ä", 'a"', "a\0"])
def test_a_name_that_is_no_token_is_refused(name: str) -> None:
    with pytest.raises(InvalidHeaderError, match="not a header name"):
        RequestHeaders([(name, "value")])


@pytest.mark.parametrize("value", ["secret\r\nX: y", "secret\n", "\rsecret", "sec\0ret"])
def test_a_value_with_a_line_end_is_refused_and_not_repeated(value: str) -> None:
    with pytest.raises(InvalidHeaderError) as caught:
        RequestHeaders([("Authorization", value)])
    assert "Authorization" in str(caught.value)
    assert "sec" not in str(caught.value)


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Connection", "Expect"])
def test_headers_that_frame_the_message_are_refused(name: str) -> None:
    with pytest.raises(InvalidHeaderError, match="frames the message"):
        RequestHeaders([(name, "1")])


def test_a_request_with_a_header_that_cannot_be_sent_is_not_made() -> None:
    with pytest.raises(HttpError) as caught:
        rendered((), ("X-A", "secret\r\n"))
    assert (caught.value.failure, caught.value.may_have_executed) == (Failure.PROTOCOL, False)
    assert "secret" not in caught.value.detail


REQUESTS = st.builds(
    HttpRequest,
    st.sampled_from(["GET", "POST", "DELETE"]),
    st.sampled_from([(), (("Accept", "a"),), (("accept", "b"),), (("X-A", "1"), ("Host", "h"))]),
    st.sampled_from([b"", b"x", b"x" * 12]),
)
TARGETS = st.sampled_from(
    [TARGET, parse_target("http://rig:8080/other"), parse_target("http://b/")]
)


@given(sent=st.lists(st.tuples(TARGETS, REQUESTS), max_size=20))
def test_a_head_is_the_same_whatever_was_sent_before(
    sent: list[tuple[Target, HttpRequest]],
) -> None:
    headers = RequestHeaders([("X-A", "given")])
    for target, request in sent:
        first, *lines = headers.render(target, request).decode().split("\r\n")
        assert first == f"{request.method} {target.path} HTTP/1.1"
        assert lines[-2:] == ["", ""]
        expected = RequestHeaders([("X-A", "given")]).of_request(target, request)
        assert lines[:-2] == [f"{name}: {value}" for name, value in expected]


def test_a_header_that_cannot_be_sent_is_refused_every_time() -> None:
    headers = RequestHeaders(())
    for _ in range(2):
        with pytest.raises(HttpError):
            headers.render(TARGET, HttpRequest("GET", (("X-A", "a\n"),)))
