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
_SHORT = 1 << 12  # bytes; in more, brackets may take longer to count than frames to make
_BOM = b"\xef\xbb\xbf"
_INTEGER = re.compile(rb"-?[0-9]+")
_SURROGATE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# A string that is not closed is one token as well: a token never begins inside another one.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}:,]|[^\s"\[\]{}:,]++', re.DOTALL)
_LINE_SEPARATORS = (("\u2028", b"\\u2028"), ("\u2029", b"\\u2029"))
_VERSION_2 = msgspec.Raw(b'"2.0"')
_NULL = msgspec.Raw(b"null")


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
_STRING = msgspec.json.Decoder(str)
_ERROR = msgspec.json.Decoder(_ErrorBody)


def parse_client(line: bytes) -> Message:
    """Parse one line of the client; ``raw`` is the line without BOM and outer white space.

    Raise :class:`Malformed`: -32700 for what is not JSON in UTF-8, -32600 for other JSON.
    """
    text, _ = _utf8(line)
    return _message(text)


def parse_server(data: bytes) -> list[Message]:
    """Parse one message of the server, or the messages of a batch; each ``raw`` is one line.

    A batch is no longer MCP, yet servers of the 2025-03-26 age send them. Raise
    :class:`Malformed` for anything else.
    """
    line = _one_line(*_utf8(data))
    if not line.startswith(b"["):
        return [_message(line)]
    try:
        members = _tolerant(_ITEMS.decode, line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Malformed(Code.PARSE_ERROR, f"not JSON ({error})") from error
    return [_message(bytes(member)) for member in members]


def split_batch(line: bytes) -> list[bytes]:
    """The members of a batch; none if the line is no array, or an empty or an illegible one."""
    try:
        text, _ = _utf8(line)
        members = _tolerant(_ITEMS.decode, text) if text.startswith(b"[") else []
    except (Malformed, msgspec.DecodeError, RecursionError):
        return []
    return [bytes(member) for member in members]


def request_id_of(raw: msgspec.Raw) -> RequestId | None:
    """The canonical form of an id, or None if it is neither an integer nor a string."""
    text = bytes(raw)
    if text.isdigit() or _INTEGER.fullmatch(text):
        return RequestId(text)
    if text.startswith(b'"'):
        return RequestId(_encoded(_STRING.decode(text)))
    return None


def text_of(raw: msgspec.Raw | None) -> str | None:
    """The string that ``raw`` holds, or None if it holds anything else."""
    if raw is None:
        return None
    try:
        return _STRING.decode(raw)
    except msgspec.ValidationError:
        return None


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
    if raw is None:
        return []
    try:
        return _ITEMS.decode(raw)
    except msgspec.ValidationError:
        return []


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
    head = {"jsonrpc": "2.0", "id": msgspec.Raw(request_id), "method": method}
    return _encoded({**head, "params": params})


def notification(method: str, params: Fields) -> bytes:
    """One notification as a line."""
    return _encoded({"jsonrpc": "2.0", "method": method, "params": params})


def new_request(request_id: RequestId, method: str, params: Fields) -> Message:
    """One request of the relay's own making.

    Built and not parsed: a payload in it may be nested as deeply as the parser allows, and more
    frames than it was parsed under may be on the stack by now.
    """
    line = request(request_id, method, params)
    return Message(Kind.REQUEST, line, request_id, method, msgspec.Raw(_encoded(params)))


def new_notification(method: str, params: Fields) -> Message:
    """One notification of the relay's own making; built like :func:`new_request`."""
    line = notification(method, params)
    return Message(Kind.NOTIFICATION, line, None, method, msgspec.Raw(_encoded(params)))


def result(request_id: RequestId, value: object) -> bytes:
    """A successful response as a line."""
    return _encoded({"jsonrpc": "2.0", "id": msgspec.Raw(request_id), "result": value})


def failure(request_id: RequestId | None, error: Problem | msgspec.Raw) -> bytes:
    """An error response as a line; without a ``request_id`` its id is null."""
    body: object = error
    if isinstance(error, Problem):
        members: dict[str, object] = {"code": error.code, "message": error.message}
        body = {**members, "data": error.data} if error.data else members
    return _encoded({"jsonrpc": "2.0", "id": msgspec.Raw(request_id or b"null"), "error": body})


def _encoded(value: object) -> bytes:
    text = msgspec.json.encode(value)
    return text if text.isascii() else _escaped(text, text.decode())


def _utf8(data: bytes) -> tuple[bytes, str]:
    """The text without BOM and outer white space; and decoded, if it is more than ASCII."""
    data = data.removeprefix(_BOM).strip(b" \t\r\n")
    if data.isascii():
        return data, ""
    try:
        return data, data.decode()
    except UnicodeDecodeError as error:
        raise Malformed(
            Code.PARSE_ERROR, f"not UTF-8 (byte 0x{data[error.start]:02x} at {error.start})"
        ) from error


def _one_line(text: bytes, decoded: str) -> bytes:
    if b"\n" in text or b"\r" in text:
        try:
            text = _tolerant(_compact, text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Malformed(Code.PARSE_ERROR, f"not JSON ({error})") from error
    return _escaped(text, decoded)


def _compact(text: bytes) -> bytes:
    return msgspec.json.format(text, indent=-1)


def _escaped(text: bytes, decoded: str) -> bytes:
    """Escape the two characters that JSON allows and that some readers take for line ends.

    They are looked for in ``decoded``, where they are one character: many times quicker than three
    bytes that begin like half of all text.
    """
    for separator, escape in _LINE_SEPARATORS:
        if separator in decoded:
            text = text.replace(separator.encode(), escape)
    return text


def _message(text: bytes) -> Message:
    wire = _decode(text)
    request_id = None if wire.id is msgspec.UNSET else request_id_of(wire.id)
    if wire.jsonrpc != _VERSION_2:
        raise Malformed(
            Code.INVALID_REQUEST, 'no member "jsonrpc" with the value "2.0"', request_id
        )
    if wire.method is not msgspec.UNSET:
        return _call(text, wire, wire.method, request_id)
    if (wire.result is msgspec.UNSET) == (wire.error is msgspec.UNSET):
        raise Malformed(
            Code.INVALID_REQUEST, "neither a request, a notification nor a response", request_id
        )
    if request_id is None and (wire.id != _NULL or wire.error is msgspec.UNSET):
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
        return parse(text) if _is_flat(text) else _with_room(parse, text)
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


def _is_flat(text: bytes) -> bool:
    """Whether a text can be seen to nest less than the room that is kept."""
    return len(text) < _SHORT and text.count(b"{") + text.count(b"[") < _FRAMES_TO_SPARE


def _without_lone_surrogates(text: bytes) -> bytes:
    if not _ESCAPED_SURROGATE.search(text):
        return text
    return _SURROGATE.sub(lambda found: b"\\ufffd" if found[1] else found[0], text)


def _shallow_id(text: bytes) -> RequestId | None:
    """Find the id of a message too deep for the parser, in one pass over its tokens."""
    depth = 0
    before: tuple[bytes, bytes] = (b"", b"")
    for found in _TOKEN.finditer(text):
        token = found[0]
        if depth == 1 and before == (b'"id"', b":"):
            try:
                return request_id_of(msgspec.Raw(token))
            except msgspec.DecodeError:  # nothing has looked at this part of the text yet
                return None
        depth += (token in (b"{", b"[")) - (token in (b"}", b"]"))
        before = (before[1], token)
    return None
