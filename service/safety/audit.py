"""The record of every transmission and refusal: appended before the frame leaves, never changed."""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from service.errors import AuditFileError, AuditWriteError

logger = logging.getLogger("service.audit")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who wanted to put what on which bus, and what the gate said.

    ``frames`` are in candump's bare form (``123#1122``); ``code`` is the refusal's or empty.
    """

    verdict: Literal["permitted", "refused"]
    bus: str
    principal: str
    client: str
    tool: str
    frames: tuple[str, ...]
    code: str = ""
    reason: str = ""


class Audit:
    """One JSON object a line in ``path`` (fsynced), or the log alone without a path.

    Errors: AuditFileError (the file cannot be opened).
    """

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._is_torn = False
        if path is not None:
            self._descriptor = _open(path)

    def record(self, entry: AuditEntry) -> str:
        """Write the entry down and give its id. Errors: AuditWriteError (it is not on the disk)."""
        audit_id = secrets.token_hex(8)
        line = json.dumps(
            {
                "audit_id": audit_id,
                "at": round(self._clock(), 6),
                "verdict": entry.verdict,
                "code": entry.code,
                "reason": entry.reason,
                "bus": entry.bus,
                "principal": entry.principal,
                "client": entry.client,
                "tool": entry.tool,
                "frames": entry.frames,
            },
            ensure_ascii=False,
        )
        with self._lock:
            if self._descriptor is not None:
                try:
                    if self._is_torn:
                        _mend(self._descriptor)
                    _append(self._descriptor, line)
                    self._is_torn = False
                except OSError as error:
                    self._is_torn = True
                    raise AuditWriteError(f"the audit file took no record: {error}") from error
        logger.info("%s", line)
        return audit_id

    def close(self) -> None:
        with self._lock:
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        _mend(descriptor)
    except OSError as error:
        raise AuditFileError(f"{path}: {error.strerror or error}") from error
    return descriptor


def _mend(descriptor: int) -> None:
    """Keep a record that a crash or a full disk tore off the next one."""
    if size := os.fstat(descriptor).st_size:
        os.lseek(descriptor, size - 1, os.SEEK_SET)
        if os.read(descriptor, 1) != b"\n":
            os.write(descriptor, b"\n")


def _append(descriptor: int, line: str) -> None:
    rest = memoryview(f"{line}\n".encode("utf-8", "backslashreplace"))
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)
