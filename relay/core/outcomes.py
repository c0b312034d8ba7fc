"""What an HTTP exchange that brought no response means for the request that waits for it.

The relay's own errors are -32603 (-32601 where a bare 404 says that there is nothing at the URL)
with the facts in ``data``: ``status``, ``contentType``, ``snippet``, ``hint``, ``retryAfter`` (in
seconds, where the server asks for more than is waited out) and, for a tool call that may have run
although its answer is lost, ``mayHaveExecuted``.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay.core.errors import Code, Problem
from relay.core.events import Failure
from relay.core.retries import retry_after
from relay.core.sse import is_event_stream, media_type

TOOL_CALL = "tools/call"
AUTHORIZATION_HINT = (
    "give a token with --bearer-env NAME or --bearer-file FILE,"
    " or a header with -H 'Authorization: Bearer ${NAME}'"
)

_SNIPPET = 200
_MAY_HAVE_EXECUTED = "; the call may have executed"

_FAILURES: dict[Failure, tuple[str, str]] = {
    Failure.CONNECT: (
        "cannot reach the server",
        "check the URL, and that the server runs and the network lets you through",
    ),
    Failure.TLS: (
        "the server's TLS handshake failed",
        "check the certificate; a private authority is named with --cacert",
    ),
    Failure.HEADERS_TIMEOUT: (
        "the server did not begin to answer in time",
        "raise --timeout-head if such requests take that long",
    ),
    Failure.IDLE_TIMEOUT: (
        "the server fell silent in the middle of its answer",
        "raise --timeout-read if the server is silent that long on purpose",
    ),
    Failure.CLOSED: (
        "the connection was lost before the answer came",
        "check the server's log; send the request again if that is safe",
    ),
    Failure.TOO_LARGE: (
        "the server's answer exceeds the size limit",
        "ask for less, or raise --max-message-size",
    ),
    Failure.PROTOCOL: (
        "the server's answer is not proper HTTP",
        "check that the URL names an MCP server and no proxy spoils the answer",
    ),
}


def failed(failure: Failure, detail: str, method: str, *, may_have_executed: bool) -> Problem:
    """The error for an exchange that broke off."""
    text, hint = _FAILURES[failure]
    if detail:
        text = f"{text}: {detail}"
    data: dict[str, object] = {"failure": failure.value, "hint": hint}
    return _with_doubt(text, data, method, may_have_executed)


def unanswered(
    status: int, headers: Mapping[str, str], evidence: bytes, method: str, *, in_session: bool
) -> Problem:
    """The error for a response that is complete and holds no JSON-RPC response.

    ``evidence`` is what its body began with, ``in_session`` whether the request bore a session id.
    """
    content_type = headers.get("content-type", "")
    data: dict[str, object] = {"status": status}
    if content_type:
        data["contentType"] = media_type(content_type)
    if evidence:
        data["snippet"] = _snippet(evidence)
    wait = retry_after(status, headers)
    if wait is not None:
        data["retryAfter"] = wait
    if status == 404 and not in_session and not evidence:
        data["hint"] = "check the path of the URL: nothing answers there"
        return Problem(Code.METHOD_NOT_FOUND, "the server knows no such endpoint (HTTP 404)", data)
    text, hint = _reading(status, headers, content_type, evidence)
    if status == 404 and in_session:
        text, hint = "the server has ended the session (HTTP 404)", "connect again"
    data["hint"] = hint
    return _with_doubt(text, data, method, status < 300 or status >= 500)


def overdue(method: str, limit: str, *, sent: bool) -> Problem:
    """The error for a request that took longer than any may."""
    text = f"{method} was not answered within the overall limit of {limit}"
    data: dict[str, object] = {"hint": "raise --timeout-total if such requests take that long"}
    return _with_doubt(text, data, method, sent)


def _with_doubt(text: str, data: dict[str, object], method: str, doubt: bool) -> Problem:
    if doubt and method == TOOL_CALL:
        text += _MAY_HAVE_EXECUTED
        data["mayHaveExecuted"] = True
    return Problem(Code.INTERNAL_ERROR, text, data)


def _reading(
    status: int, headers: Mapping[str, str], content_type: str, evidence: bytes
) -> tuple[str, str]:
    """What happened, and the next step."""
    if status < 300:
        return _empty_success(status, content_type, evidence)
    if status < 400:
        target = headers.get("location", "nowhere").partition("?")[0][:_SNIPPET]
        return (
            f"the server redirects to {target} (HTTP {status})",
            "if that is the right place, give its URL to the relay",
        )
    return _refusal(status, headers)


def _refusal(status: int, headers: Mapping[str, str]) -> tuple[str, str]:
    match status:
        case 401 | 403:
            challenge = headers.get("www-authenticate", "")[:300]
            says = f"; it says: {challenge}" if challenge else ""
            return f"the server refuses authorization (HTTP {status}){says}", AUTHORIZATION_HINT
        case 413:
            return "the request exceeds the server's size limit (HTTP 413)", "send less at once"
        case 429:
            return "the server is asked too often (HTTP 429)", f"try again {_when(status, headers)}"
        case 404:
            return "the server found nothing at the URL (HTTP 404)", "check the path of the URL"
        case _ if status >= 500:
            hint = f"check the server's log, or try again {_when(status, headers)}"
            return f"the server failed (HTTP {status})", hint
        case _:
            return (
                f"the server refused the request (HTTP {status})",
                "check that the URL names an MCP server, and the server's log",
            )


def _empty_success(status: int, content_type: str, evidence: bytes) -> tuple[str, str]:
    if is_event_stream(content_type):
        return (
            "the connection was lost: the stream ended before the answer",
            "check the server's log; send the request again if that is safe",
        )
    hint = "check that the URL names an MCP server"
    if not evidence:
        return f"the server accepted the request but gave no answer (HTTP {status})", hint
    if media_type(content_type) == "application/json":
        return f"the server's answer is not the JSON-RPC response asked for (HTTP {status})", hint
    kind = media_type(content_type) or "no content type"
    return f"the server answered with {kind} instead of JSON-RPC (HTTP {status})", hint


def _when(status: int, headers: Mapping[str, str]) -> str:
    wait = retry_after(status, headers)
    return "later" if wait is None else f"in {wait:g} s"


def _snippet(evidence: bytes) -> str:
    text = evidence[: 4 * _SNIPPET].decode(errors="replace")
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:_SNIPPET]
