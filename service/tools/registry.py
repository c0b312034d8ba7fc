"""The registry that the tool modules fill."""

from __future__ import annotations

from service.context import Context
from service.registry import Registry

registry: Registry[Context] = Registry()
