"""The client's side: lines in from stdin, lines out to stdout, and how the client ends."""

from relay.stdio.client import StdioClient

__all__ = ["StdioClient"]
