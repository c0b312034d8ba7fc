"""A stdio MCP relay: any desktop agent on one side, any remote MCP server on the other."""

from __future__ import annotations

# Beside pyproject.toml, because reading installed metadata costs a fifth of the start-up budget.
__version__ = "0.1.0"
