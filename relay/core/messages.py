"""JSON-RPC 2.0 messages: parsed once into an envelope whose payloads stay bytes.

Whatever enters the core passes here, so that every line that leaves it is one JSON object without
a line break (2026-07-28, basic/transports/stdio), whoever wrote it and however it was laid out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum, auto
from typing import NewType, TypeVar

import msgspec

from relay.core.errors import Code, Malformed, Problem

_T = TypeVar("_T")

RequestId = NewType("RequestId", bytes)
"""A request id as its JSON text: ``1`` and ``"1"`` differ and a number keeps all its digits."""

Fields = dict[str, msgspec.Raw]
"""An object of which only the names are decoded."""

PROTOCOL_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"

_FRAMES_TO_SPARE = 64
_BOM = b"\xef\xbb\xbf"
_INTEGER = re.compile(rb"-?[0-9]+")
_SURROGATE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_TOP_LEVEL = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s"\[\]{}:,]+', re.DOTALL)
_LINE_SEPARATORS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))


class Kind(Enum):
    REQUEST = auto()
    NOTIFICATION = auto()
    RESPONSE = auto()


class Message(msgspec.Struct, frozen=True):
    """One JSON-RPC message.

    ``raw`` is the whole message, ``request_id`` is None for a notification and for a response
    whose id is null. Exactly one of ``result`` and ``error`` is set in a response.
    """

    kind: Kind
    raw: bytes
    request_id: RequestId | None = None
    method: str = ""
    params: msgspec.Raw | None = None
    result: msgspec.Raw | None = None
    error: msgspec.Raw | None = None


class _Wire(msgspec.Struct):
    jsonrpc: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    params: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _ErrorBody(msgspec.Struct):
    code: int
    message: str = ""
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_WIRE = msgspec.json.Decoder(_Wire)
_FIELDS = msgspec.json.Decoder(Fields)
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
_ERROR = msgspec.json.Decoder(_ErrorBody)


def parse_client(line: bytes) -> Message:
    """Parse one line of the client; ``raw`` is the line without BOM and outer white space.

    Raise :class:`Malformed`: -32700 for what is not JSON in UTF-8, -32600 for other JSON.
    """
    return _message(_utf8(line))


def parse_server(data: bytes) -> list[Message]:
    """Parse one message of the server, or the messages of a batch; each ``raw`` is one line.

    A batch is no longer MCP, yet servers of the 2025-03-26 age send them. Raise
    :class:`Malformed` for anything else.
    """
    line = _one_line(_utf8(data))
    if not line.startswith(b"["):
        return [_message(line)]
    try:
        members = _tolerant(_ITEMS.decode, line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Malformed(Code.PARSE_ERROR, f"not JSON ({error})") from error
    return [_message(bytes(member)) for member in members]


def request_id_of(raw: msgspec.Raw) -> RequestId | None:
    """The canonical form of an id, or None if it is neither an integer nor a string."""
    text = bytes(raw)
    if _INTEGER.fullmatch(text):
        return RequestId(text)
    if text.startswith(b'"'):
        return RequestId(_escaped(msgspec.json.encode(_decoded_string(text))))
    return None


def text_of(raw: msgspec.Raw | None) -> str | None:
    """The string that ``raw`` holds, or None if it holds anything else."""
    if raw is None or not bytes(raw).startswith(b'"'):
        return None
    return _decoded_string(bytes(raw))


def fields_of(raw: msgspec.Raw | None) -> Fields | None:
    """The members of the object that ``raw`` holds, or None if it holds anything else."""
    if raw is None:
        return None
    try:
        return _FIELDS.decode(raw)
    except msgspec.ValidationError:
        return None


def items_of(raw: msgspec.Raw | None) -> list[msgspec.Raw]:
    """The items of the array that ``raw`` holds; none if it holds anything else."""
    if raw is None or not bytes(raw).startswith(b"["):
        return []
    return _ITEMS.decode(raw)


def problem_of(error: msgspec.Raw | None) -> Problem | None:
    """The JSON-RPC error that ``error`` holds (without its data), or None if it is none."""
    if error is None:
        return None
    try:
        body = _ERROR.decode(error)
    except msgspec.DecodeError:
        return None
    return Problem(body.code, body.message)


def protocol_version_of(message: Message) -> str | None:
    """The version in ``params._meta`` that makes a request modern (2026-07-28, basic, "_meta").

    The key alone is the signal: an envelope that lacks other keys is a faulty modern request.
    ``initialize`` is legacy whatever it carries. A version that is no string reads as "".
    """
    if message.method == "initialize":
        return None
    meta = fields_of((fields_of(message.params) or {}).get("_meta"))
    if meta is None or PROTOCOL_VERSION_KEY not in meta:
        return None
    return text_of(meta[PROTOCOL_VERSION_KEY]) or ""


def request(request_id: RequestId, method: str, params: Fields) -> bytes:
    """One request as a line; the payloads inside ``params`` are copied, not parsed."""
    return _line({"jsonrpc": "2.0", "id": msgspec.Raw(request_id), "method": method}, params)


def notification(method: str, params: Fields) -> bytes:
    """One notification as a line."""
    return _line({"jsonrpc": "2.0", "method": method}, params)


def result(request_id: RequestId, value: object) -> bytes:
    """A successful response as a line."""
    message = {"jsonrpc": "2.0", "id": msgspec.Raw(request_id), "result": value}
    return _escaped(msgspec.json.encode(message))


def failure(request_id: RequestId | None, error: Problem | msgspec.Raw) -> bytes:
    """An error response as a line; without a ``request_id`` its id is null."""
    body: object = error
    if isinstance(error, Problem):
        members: dict[str, object] = {"code": error.code, "message": error.message}
        body = {**members, "data": error.data} if error.data else members
    message = {"jsonrpc": "2.0", "id": msgspec.Raw(request_id or b"null"), "error": body}
    return _escaped(msgspec.json.encode(message))


def _line(head: dict[str, object], params: Fields) -> bytes:
    return _escaped(msgspec.json.encode({**head, "params": params}))


def _utf8(data: bytes) -> bytes:
    data = data.removeprefix(_BOM).strip(b" \t\r\n")
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise Malformed(
                Code.PARSE_ERROR, f"not UTF-8 (byte 0x{data[error.start]:02x} at {error.start})"
            ) from error
    return data


def _one_line(text: bytes) -> bytes:
    if b"\n" in text or b"\r" in text:
        try:
            text = _tolerant(_compact, text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Malformed(Code.PARSE_ERROR, f"not JSON ({error})") from error
    return _escaped(text)


def _compact(text: bytes) -> bytes:
    return msgspec.json.format(text, indent=-1)


def _escaped(text: bytes) -> bytes:
    """Escape the two characters that JSON allows and that some readers take for line ends."""
    if not text.isascii():
        for separator, escape in _LINE_SEPARATORS:
            text = text.replace(separator, escape)
    return text


def _message(text: bytes) -> Message:
    wire = _decode(text)
    request_id = None if wire.id is msgspec.UNSET else request_id_of(wire.id)
    null_id = wire.id is not msgspec.UNSET and bytes(wire.id) == b"null"
    if wire.jsonrpc is msgspec.UNSET or bytes(wire.jsonrpc) != b'"2.0"':
        raise Malformed(
            Code.INVALID_REQUEST, 'no member "jsonrpc" with the value "2.0"', request_id
        )
    if wire.method is not msgspec.UNSET:
        return _call(text, wire, wire.method, request_id)
    if (wire.result is msgspec.UNSET) == (wire.error is msgspec.UNSET):
        raise Malformed(
            Code.INVALID_REQUEST, "neither a request, a notification nor a response", request_id
        )
    if request_id is None and not (null_id and wire.error is not msgspec.UNSET):
        raise Malformed(Code.INVALID_REQUEST, "a response without an id")
    return Message(
        Kind.RESPONSE, text, request_id, result=_set(wire.result), error=_set(wire.error)
    )


def _call(text: bytes, wire: _Wire, method: msgspec.Raw, request_id: RequestId | None) -> Message:
    name = text_of(method)
    if not name:
        raise Malformed(Code.INVALID_REQUEST, "the method is not a name", request_id)
    if wire.id is msgspec.UNSET:
        return Message(Kind.NOTIFICATION, text, None, name, _set(wire.params))
    if request_id is None:
        shown = bytes(wire.id)[:40].decode(errors="replace")
        raise Malformed(
            Code.INVALID_REQUEST, f"a request id is a string or an integer, not {shown}"
        )
    return Message(Kind.REQUEST, text, request_id, name, _set(wire.params))


def _set(raw: msgspec.Raw | msgspec.UnsetType) -> msgspec.Raw | None:
    return None if raw is msgspec.UNSET else raw


def _decode(text: bytes) -> _Wire:
    try:
        return _tolerant(_WIRE.decode, text)
    except msgspec.ValidationError as error:
        what = "an array (batches are not accepted)" if text.startswith(b"[") else "no object"
        raise Malformed(Code.INVALID_REQUEST, f"the message is {what}") from error
    except msgspec.DecodeError as error:
        raise Malformed(Code.PARSE_ERROR, f"not JSON ({error})") from error
    except RecursionError as error:
        raise Malformed(
            Code.INVALID_REQUEST, "the message is nested too deeply", _shallow_id(text)
        ) from error


def _tolerant(parse: Callable[[bytes], _T], text: bytes) -> _T:
    """Parse, reading a lone surrogate escape as U+FFFD.

    Such an escape is valid JSON (RFC 8259, section 8.2) which msgspec refuses. ``raw`` keeps it.
    """
    try:
        return _with_room(parse, text)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        repaired = _without_lone_surrogates(text)
        if repaired == text:
            raise
        return _with_room(parse, repaired)


def _with_room(parse: Callable[[bytes], _T], text: bytes, frames: int = _FRAMES_TO_SPARE) -> _T:
    """Parse some frames down the stack.

    The parser counts nesting against the interpreter's recursion limit: what passes here can be
    looked into from anywhere in the core, and what is too deep is refused here and nowhere else.
    """
    return parse(text) if frames == 0 else _with_room(parse, text, frames - 1)


def _without_lone_surrogates(text: bytes) -> bytes:
    return _SURROGATE.sub(lambda found: b"\\ufffd" if found[1] else found[0], text)


def _decoded_string(text: bytes) -> str:
    return msgspec.json.decode(text, type=str)


def _shallow_id(text: bytes) -> RequestId | None:
    """Find the id of a message too deep for the parser, in one pass over its tokens."""
    depth = 0
    before: tuple[bytes, bytes] = (b"", b"")
    for found in _TOP_LEVEL.finditer(text):
        token = found[0]
        if depth == 1 and before == (b'"id"', b":"):
            return request_id_of(msgspec.Raw(token))
        depth += (token in (b"{", b"[")) - (token in (b"}", b"]"))
        before = (before[1], token)
    return None
