"""``canferry-service``: serve the rig, and every tool as a command."""

from __future__ import annotations

from service.cli.run import main

__all__ = ["main"]
