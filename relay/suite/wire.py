"""JSON-RPC messages to and from a server under test, as JSON and not as anybody's types."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from relay.core.errors import Code
from relay.suite.canonical import compact
from relay.suite.document import Json, NotUtf8, Object, decode, parse
from relay.suite.judgement import Answer, RpcError, RpcResult
from relay.suite.reader import InvalidJson
from relay.suite.wording import shown

Era: TypeAlias = Literal["legacy", "modern"]


class Request(Struct, frozen=True):
    """A request on its way. ``revision`` is the one that is agreed upon, if one is yet."""

    id: int
    method: str
    params: Object
    era: Era
    revision: str | None = None

    @property
    def body(self) -> bytes:
        """The message on one line, without its end."""
        return _encoded({"id": self.id, "method": self.method, "params": self.params})


class Answered(Struct, frozen=True):
    """A response. One that is neither a result nor an error says in ``answer`` what is wrong."""

    id: Json
    answer: Answer | str


class Asked(Struct, frozen=True):
    """A request of the server."""

    id: Json
    method: str


class Told(Struct, frozen=True):
    """A notification of the server."""

    method: str


Incoming: TypeAlias = Answered | Asked | Told


class NoMessage(Exception):
    """Bytes that are no JSON-RPC message; the text says why."""


def notification(method: str, params: Object) -> bytes:
    """A notification on one line, without its end."""
    return _encoded({"method": method, "params": params} if params else {"method": method})


def reply(asked: Asked) -> bytes:
    """What a client without any capability answers to a server's request."""
    if asked.method == "ping":
        return _encoded({"id": asked.id, "result": {}})
    error: Object = {
        "code": int(Code.METHOD_NOT_FOUND),
        "message": f"this client runs tests and does not offer {asked.method}",
    }
    return _encoded({"id": asked.id, "error": error})


def read(data: bytes) -> list[Incoming]:
    """The message in these bytes, or the messages of a batch; raise :class:`NoMessage`."""
    try:
        value = parse(decode(data))
    except (NotUtf8, InvalidJson) as error:
        raise NoMessage(str(error)) from error
    return [_incoming(one) for one in (value if isinstance(value, list) and value else [value])]


def _incoming(value: Json) -> Incoming:
    if not isinstance(value, dict):
        raise NoMessage(f"{shown(value)} is no JSON-RPC message")
    if value.get("jsonrpc") != "2.0":
        raise NoMessage('there is no member "jsonrpc" with the value "2.0"')
    method = value.get("method")
    if isinstance(method, str):
        return Asked(value["id"], method) if "id" in value else Told(method)
    if "result" in value or "error" in value:
        return Answered(value.get("id"), _answer(value))
    raise NoMessage("the object is neither a request, a notification nor a response")


def _answer(response: Object) -> Answer | str:
    if "error" not in response:
        return RpcResult(response["result"])
    error = response["error"]
    if "result" in response and error is not None:
        return "the response has both a result and an error"
    if error is None:
        return RpcResult(response["result"]) if "result" in response else "the error is null"
    if not isinstance(error, dict):
        return f"the error is {shown(error)}, where JSON-RPC has an object"
    code, message = error.get("code"), error.get("message")
    if not isinstance(code, int) or isinstance(code, bool):
        return f"the code of the error is {shown(code)}, where JSON-RPC has an integer"
    if not isinstance(message, str):
        return f"the message of the error is {shown(message)}, where JSON-RPC has a string"
    return RpcError(code, message, error.get("data"))


def _encoded(members: Object) -> bytes:
    return compact({"jsonrpc": "2.0", **members}).encode()
