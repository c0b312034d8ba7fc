"""The registry over MCP; nothing below knows that MCP exists."""

from __future__ import annotations

from service.mcp.server import build_server
from service.mcp.stdio import serve_stdio

__all__ = ["build_server", "serve_stdio"]
