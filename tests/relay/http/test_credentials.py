"""Credentials that change: one more try for a request, one renewal for many refusals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from relay.core.events import Failure
from relay.given_headers import GivenHeader, parse_header
from relay.http.credentials import AuthorizedHttpClient
from relay.http.errors import HttpError, InvalidHeaderError
from relay.http.fake import FakeHttpClient, FakeResponse
from relay.http.file_credentials import FileCredentials
from relay.http.interface import HttpRequest
from relay.usage import UsageError
from tests.relay.http.exchanges import GET, POST, failure_of, fetch
from tests.relay.http.server import PATIENCE

REFUSED = FakeResponse([b"denied"], 401, {"www-authenticate": "Bearer"})


class Tokens:
    """Credentials that are renewed when the test lets them."""

    def __init__(self, *renewals: str) -> None:
        self.token = "first"
        self.refusals: list[tuple[int, Mapping[str, str]]] = []
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self._renewals = iter(renewals)

    async def headers(self) -> list[tuple[str, str]]:
        return [("Authorization", f"Bearer {self.token}")]

    async def refused(self, status: int, headers: Mapping[str, str]) -> bool:
        self.refusals.append((status, headers))
        self.asked.set()
        await self.go.wait()
        renewed = next(self._renewals, None)
        self.token = renewed or self.token
        return renewed is not None


def at_once(*renewals: str) -> Tokens:
    """Credentials whose renewal waits for nothing."""
    tokens = Tokens(*renewals)
    tokens.go.set()
    return tokens


def token_of(request: HttpRequest) -> str | None:
    return dict(request.headers).get("Authorization", "").removeprefix("Bearer ") or None


def admitting(token: str) -> FakeHttpClient:
    """A server that answers who has the token, and refuses the others."""

    def respond(request: HttpRequest) -> FakeResponse:
        return FakeResponse([b"ok"]) if token_of(request) == token else REFUSED

    return FakeHttpClient(respond)


@pytest.mark.obligation(37)
async def test_credentials_go_with_every_request() -> None:
    http, tokens = admitting("first"), at_once()
    client = AuthorizedHttpClient(http, tokens)
    assert (await fetch(client, POST)).body == b"ok"
    assert (await fetch(client, GET)).body == b"ok"
    assert [request.body for request in http.requests] == [POST.body, b""]
    assert tokens.refusals == []


async def test_a_header_of_the_request_itself_wins() -> None:
    http = FakeHttpClient([FakeResponse()])
    client = AuthorizedHttpClient(http, at_once())
    await fetch(client, HttpRequest("GET", (("authorization", "mine"),)))
    assert http.requests[0].headers == (("authorization", "mine"),)


async def test_a_refused_request_is_sent_again_with_other_credentials() -> None:
    http, tokens = admitting("second"), at_once("second")
    request = HttpRequest("POST", (("X-A", "b"),), b"body", "/messages")
    answer = await fetch(AuthorizedHttpClient(http, tokens), request)
    assert answer.body == b"ok"
    assert [token_of(each) for each in http.requests] == ["first", "second"]
    assert tokens.refusals == [(401, REFUSED.headers)]
    for sent in http.requests:
        assert (sent.method, sent.body, sent.target) == ("POST", b"body", "/messages")
        assert ("X-A", "b") in sent.headers


@pytest.mark.obligation(39)
async def test_a_request_is_sent_again_once_and_no_more() -> None:
    http = admitting("never")
    answer = await fetch(AuthorizedHttpClient(http, at_once("second", "third")))
    assert (answer.status, answer.body) == (401, b"denied")
    assert len(http.requests) == 2


async def test_a_refusal_without_other_credentials_goes_up() -> None:
    http, tokens = admitting("never"), at_once()
    for _ in range(2):
        answer = await fetch(AuthorizedHttpClient(http, tokens))
        assert (answer.status, answer.body) == (401, b"denied")
    assert len(http.requests) == 2


async def test_more_rights_may_be_asked_for_too() -> None:
    http = FakeHttpClient([FakeResponse([b"scope"], 403), FakeResponse([b"ok"])])
    answer = await fetch(AuthorizedHttpClient(http, at_once("wider")))
    assert answer.body == b"ok"


@pytest.mark.parametrize("status", [200, 202, 400, 404, 407, 500])
async def test_no_other_status_is_a_refusal(status: int) -> None:
    tokens = at_once("second")
    client = AuthorizedHttpClient(FakeHttpClient([FakeResponse([b"x"], status)]), tokens)
    assert (await fetch(client)).status == status
    assert tokens.refusals == []


async def test_many_refusals_at_once_are_one_renewal() -> None:
    http, tokens = admitting("second"), Tokens("second")
    client = AuthorizedHttpClient(http, tokens)
    with anyio.fail_after(PATIENCE):
        calls = [asyncio.create_task(fetch(client)) for _ in range(10)]
        await http.started(9)
        await tokens.asked.wait()
        tokens.go.set()
        answers = await asyncio.gather(*calls)
    assert {answer.body for answer in answers} == {b"ok"}
    assert len(tokens.refusals) == 1
    assert len(http.requests) == 20


async def test_a_refusal_of_what_was_renewed_meanwhile_renews_nothing() -> None:
    late = asyncio.Event()

    def respond(request: HttpRequest) -> FakeResponse:
        if token_of(request) == "second":
            return FakeResponse([b"ok"])
        return FakeResponse(status=401, before_head=[late] if request == slow else [])

    http, tokens = FakeHttpClient(respond), at_once("second")
    client = AuthorizedHttpClient(http, tokens)
    slow = HttpRequest("GET", (("Authorization", "Bearer first"),))
    with anyio.fail_after(PATIENCE):
        waiting = asyncio.create_task(fetch(client, GET))
        await http.started(0)
        assert (await fetch(client)).body == b"ok"
        late.set()
        assert (await waiting).body == b"ok"
    assert len(tokens.refusals) == 1


async def test_a_renewal_outlives_the_request_that_began_it() -> None:
    http, tokens = admitting("second"), Tokens("second")
    client = AuthorizedHttpClient(http, tokens)
    with anyio.fail_after(PATIENCE):
        first = asyncio.create_task(fetch(client))
        await tokens.asked.wait()
        second = asyncio.create_task(fetch(client))
        await http.started(1)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        tokens.go.set()
        assert (await second).body == b"ok"
    assert len(tokens.refusals) == 1


async def test_cancelling_ends_the_exchange_of_either_try() -> None:
    def respond(request: HttpRequest) -> FakeResponse:
        refused = token_of(request) == "first" and request.method == "POST"
        return REFUSED if refused else FakeResponse(before_head=[asyncio.Event()])

    http = FakeHttpClient(respond)
    client = AuthorizedHttpClient(http, at_once("second"))
    with anyio.fail_after(PATIENCE):
        for request, last in ((GET, 0), (POST, 2)):
            call = asyncio.create_task(fetch(client, request))
            exchange = await http.started(last)
            call.cancel()
            await exchange.ended.wait()
            assert exchange.aborted
            with pytest.raises(asyncio.CancelledError):
                await call


async def test_what_a_renewal_fails_with_goes_to_every_request_that_waits() -> None:
    error = HttpError(Failure.CONNECT, "sign in first", may_have_executed=False)

    class Failing(Tokens):
        async def refused(self, status: int, headers: Mapping[str, str]) -> bool:
            await super().refused(status, headers)
            raise error

    http, tokens = admitting("never"), Failing()
    client = AuthorizedHttpClient(http, tokens)
    with anyio.fail_after(PATIENCE):
        calls = [asyncio.create_task(failure_of(client)) for _ in range(2)]
        await http.started(1)
        await tokens.asked.wait()
        tokens.go.set()
        assert await asyncio.gather(*calls) == [error, error]


async def test_closing_ends_a_renewal() -> None:
    http, tokens = admitting("never"), Tokens()
    client = AuthorizedHttpClient(http, tokens)
    with anyio.fail_after(PATIENCE):
        call = asyncio.create_task(failure_of(client))
        await tokens.asked.wait()
        await client.aclose()
        error = await call
    assert http.closed
    assert (error.failure, error.may_have_executed) == (Failure.CLOSED, False)


def bearer_in(file: Path) -> GivenHeader:
    return parse_header(f"Authorization: Bearer ${{file:{file}}}", {})


async def reading(file: Path) -> FileCredentials:
    return await asyncio.to_thread(FileCredentials, [bearer_in(file)])


async def test_a_file_that_was_written_anew_is_read_when_the_server_refuses(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    http = admitting("second")
    client = AuthorizedHttpClient(http, await reading(file))
    assert (await fetch(client)).status == 401
    file.write_text("second\n")
    assert (await fetch(client)).body == b"ok"
    assert [token_of(each) for each in http.requests] == ["first", "first", "second"]


async def test_a_file_is_read_again_for_no_other_reason(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    credentials = await reading(file)
    file.write_text("second")
    assert not await credentials.refused(403, {})
    assert await credentials.headers() == [("Authorization", "Bearer first")]


@pytest.mark.parametrize("content", [None, "", "two\nlines"])
async def test_a_file_that_became_unusable_changes_nothing_and_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str | None
) -> None:
    file = tmp_path / "token"
    file.write_text("s3cret")
    credentials = await reading(file)
    file.unlink() if content is None else file.write_text(content)
    with caplog.at_level(logging.WARNING):
        assert not await credentials.refused(401, {})
    assert await credentials.headers() == [("Authorization", "Bearer s3cret")]
    assert str(file) in caplog.text
    assert "s3cret" not in caplog.text and "two" not in caplog.text


def test_files_that_cannot_be_used_at_the_start_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        FileCredentials([bearer_in(tmp_path / "nowhere")])
    (tmp_path / "key").write_text("s3cret")
    with pytest.raises(InvalidHeaderError):
        FileCredentials([parse_header(f"sp ace: ${{file:{tmp_path / 'key'}}}", {})])
