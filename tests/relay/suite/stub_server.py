"""A server on stdin and stdout that does what its tools are named after; it knows no SDK.

The first argument says in which way the whole server is odd.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

Json = Any

MODE = sys.argv[1] if len(sys.argv) > 1 else "normal"
MODERN = "2026-07-28"
TOOLS = ["ok", "error", "plain"]
PAGES = {None: (["p1"], "two"), "two": (["p2"], "three"), "three": (["p3"], None)}


def text(body: str, **more: Json) -> Json:
    return {"content": [{"type": "text", "text": body}], **more}


def content(*blocks: Json) -> Json:
    return {"content": list(blocks)}


OK = '{"a":1,"b":[1,2]}'
BLOCK = {"type": "text", "text": OK}
IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
RESULTS: dict[str, Json] = {
    "ok": text(OK),
    "error": text("it went wrong", isError=True),
    "badval": text("MCP error -32602: Input validation error: city", isError=True),
    "plain": text("hello there"),
    "two": content(BLOCK, BLOCK),
    "none": content(),
    "image": content(IMAGE),
    "textimg": content(BLOCK, IMAGE),
    "resource": content({"type": "resource", "resource": {"uri": "file:///a", "text": OK}}),
    "link": content({"type": "resource_link", "uri": "file:///a", "name": "a"}),
    "structured_only": {"content": [], "structuredContent": {"a": 1}},
    "nocontent": {"structuredContent": {"a": 1}},
    "iserr_str": text(OK, isError="false"),
    "notext": content({"type": "text"}),
    "contentobj": {"content": {"type": "text", "text": OK}},
    "scalar": text("42"),
    "ws": text(f" \n\t{OK}\n"),
    "bom": text(f"\ufeff{OK}"),
    "nan": text('{"a":NaN}'),
    "inf": text('{"a":1e400}'),
    "error_json": text('{"error":"no"}', isError=True),
    "ansi": text("\x1b[31mred\x1b[0m"),
    "big": text(json.dumps({"x": "y" * 3_000_000})),
}


class Stub:
    def __init__(self) -> None:
        self.methods: list[str] = []
        self.cancelled: list[Json] = []
        self.held: list[Json] = []

    def send(self, message: Json) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", **message}))

    def raw(self, line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    def run(self) -> None:
        while line := sys.stdin.readline():
            self.take(json.loads(line))

    def take(self, message: Json) -> None:
        method, number = message["method"], message.get("id")
        self.methods.append(method)
        if method == "notifications/cancelled":
            self.cancelled.append(message["params"]["requestId"])
        if number is None:
            return
        if MODE == "strict" and self.methods == ["server/discover"]:
            sys.exit("expected initialize")
        if method == "tools/call":
            params = message["params"]
            self.call(number, params["name"], params["arguments"])
        elif (answer := self.answer(method, message["params"])) is not None:
            self.send({"id": number, **answer})

    def answer(self, method: str, params: Json) -> Json:
        if MODE == "silent" and method == "server/discover":
            return None
        if MODE == "modern":
            if method == "server/discover":
                return {"result": {"supportedVersions": [MODERN], "resultType": "complete"}}
            if method == "initialize":
                data = {"supported": [MODERN]}
                return {"error": {"code": -32022, "message": "modern only", "data": data}}
        if method == "initialize":
            info = {"name": "stub", "version": "1"}
            version = "1999-01-01" if MODE == "ancient" else params["protocolVersion"]
            return {"result": {"protocolVersion": version, "serverInfo": info}}
        if method == "tools/list":
            return self.listed(params.get("cursor"))
        return {"error": {"code": -32601, "message": f"no {method}"}}

    def listed(self, cursor: str | None) -> Json:
        if MODE == "listerr":
            return {"error": {"code": -32000, "message": "no list today"}}
        names, following = (TOOLS, None) if MODE == "normal" else PAGES[cursor]
        following = "two" if MODE == "cursorloop" else following
        page = {"tools": [{"name": name, "inputSchema": {}} for name in names]}
        return {"result": page if following is None else {**page, "nextCursor": following}}

    def call(self, number: int, tool: str, given: Json) -> None:
        if tool in RESULTS:
            self.result(number, RESULTS[tool])
        elif found := getattr(self, f"tool_{tool}", None):
            found(number, given)
        else:
            error = {"code": -32602, "message": f"unknown tool: {tool}", "data": {"tool": tool}}
            self.send({"id": number, "error": error})

    def result(self, number: int, result: Json) -> None:
        self.send({"id": number, "result": result})

    # -- tools that do something --

    def tool_hang(self, number: int, given: Json) -> None:
        """No answer, ever."""

    tool_slow = tool_hang

    def tool_exit0(self, number: int, given: Json) -> None:
        sys.exit(0)

    def tool_crash(self, number: int, given: Json) -> None:
        sys.stderr.write("x" * given.get("stderr", 0) + "it broke here\n")
        sys.stderr.flush()
        os._exit(7)

    def tool_kill(self, number: int, given: Json) -> None:
        os.kill(os.getpid(), 15)
        time.sleep(60)

    def tool_answer_and_exit(self, number: int, given: Json) -> None:
        self.result(number, RESULTS["ok"])
        os._exit(9)

    def tool_last_words(self, number: int, given: Json) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": content()}))
        sys.stdout.flush()
        os._exit(0)

    def tool_close_stdin(self, number: int, given: Json) -> None:
        os.close(0)
        self.result(number, RESULTS["ok"])
        time.sleep(60)

    def tool_close_stdout(self, number: int, given: Json) -> None:
        os.close(1)
        time.sleep(60)

    def tool_rpcerror(self, number: int, given: Json) -> None:
        self.send({"id": number, "error": {"code": -32603, "message": "inside"}})

    def tool_progress(self, number: int, given: Json) -> None:
        self.send({"method": "notifications/progress", "params": {"progress": 1}})
        self.result(number, RESULTS["ok"])

    def tool_noise(self, number: int, given: Json) -> None:
        for index in range(given.get("lines", 1)):
            self.raw(f"noise {index} " + "z" * given.get("length", 0))
        self.raw("")
        self.result(number, RESULTS["ok"])

    def tool_raw(self, number: int, given: Json) -> None:
        """Write lines as they are given."""
        for line in given["lines"]:
            self.raw(line.replace("$ID", str(number)))

    def tool_hold(self, number: int, given: Json) -> None:
        self.held.append(number)

    def tool_release(self, number: int, given: Json) -> None:
        """Answer what was held, and only then this."""
        for held in self.held:
            self.result(held, text("late"))
        self.result(number, text(json.dumps({"cancelled": self.cancelled, "held": self.held})))

    def tool_ask(self, number: int, given: Json) -> None:
        """Ask the client; what it answers is the result."""
        replies = {}
        for index, method in enumerate(given["methods"]):
            self.send({"id": f"q{index}", "method": method, "params": {}})
            reply = json.loads(sys.stdin.readline())
            replies[reply["id"]] = reply.get("result", reply.get("error", {}).get("code"))
        self.result(number, text(json.dumps(replies)))

    def tool_facts(self, number: int, given: Json) -> None:
        facts = {
            "environ": sorted(os.environ),
            "cwd": str(Path.cwd()),
            "methods": self.methods,
            "pid": os.getpid(),
        }
        self.result(number, text(json.dumps(facts), structuredContent=facts))

    def tool_spawn(self, number: int, given: Json) -> None:
        """Start a process that holds on to the pipes."""
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        self.result(number, text(json.dumps({"pid": child.pid})))

    def tool_input_required(self, number: int, given: Json) -> None:
        self.result(number, {"resultType": "input_required", "requestState": "s"})


if __name__ == "__main__":
    if MODE == "exit3":
        sys.exit(sys.stderr.write("boom at start\nline two\n") and 3)
    if MODE == "obstinate":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if MODE == "noisy":
        sys.stdout.write("starting up\n")
    if MODE == "deaf":
        sys.stdout.write(f"deaf {os.getpid()}\n")
        sys.stdout.flush()
        sys.stderr.write("waiting for a device\n")
        sys.stderr.flush()
        time.sleep(600)
    Stub().run()
    if MODE in ("stays", "obstinate"):
        time.sleep(600)
