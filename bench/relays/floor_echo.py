"""The floor of stdio: a process that answers by itself, with no HTTP behind it."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

_LOCK = threading.Lock()


def emit(line: bytes) -> None:
    with _LOCK:
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()


def reply(request_id: object, result: object) -> None:
    message = {"jsonrpc": "2.0", "id": request_id, "result": result}
    emit(json.dumps(message, separators=(",", ":")).encode())


def content(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def call(request_id: object, params: dict[str, Any]) -> None:
    arguments = params["arguments"]
    match params["name"]:
        case "echo":
            reply(request_id, content(arguments["text"]))
        case "blob" | "event":
            reply(request_id, content("x" * arguments["bytes"]))
        case "sleep":
            timer = threading.Timer(arguments["seconds"], reply, (request_id, content("slept")))
            timer.daemon = True
            timer.start()
        case "progress":
            token, count = params["_meta"]["progressToken"], arguments["count"]
            for number in range(1, count + 1):
                progress = {"progressToken": token, "progress": number, "total": count}
                note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}
                emit(json.dumps(note).encode())
            reply(request_id, content(f"sent {count}"))


def main() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        if message["method"] == "tools/call":
            call(message["id"], message["params"])
        else:
            version = message["params"]["protocolVersion"]
            server = {"name": "floor", "version": "1"}
            capabilities: dict[str, Any] = {"tools": {}}
            result = {"protocolVersion": version, "capabilities": capabilities}
            reply(message["id"], {**result, "serverInfo": server})


main()
