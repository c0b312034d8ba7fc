"""The floor of a relay in Python: one keep-alive socket, one message at a time, no protocol.

It shows what a pipe and one HTTP hop cost; nobody could use it: a slow call holds up all others.
"""

from __future__ import annotations

import http.client
import sys
from urllib.parse import urlsplit


def main() -> None:
    url = urlsplit(sys.argv[1])
    connection = http.client.HTTPConnection(url.hostname or "", url.port)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        connection.request("POST", url.path, line, headers)
        response = connection.getresponse()
        if session := response.getheader("Mcp-Session-Id"):
            headers["Mcp-Session-Id"] = session
        if response.getheader("Content-Type") == "text/event-stream":
            for event_line in response:
                if event_line.startswith(b"data:"):
                    out.write(event_line[5:].lstrip())
                    out.flush()
        elif body := response.read():
            out.write(body + b"\n")
            out.flush()


main()
