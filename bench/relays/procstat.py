"""Memory and CPU of a process and all it started, read from Linux' /proc; None elsewhere."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_PEAK_RESET = "5"  # proc(5), /proc/PID/clear_refs


def rss_mib(pid: int) -> float | None:
    """Resident memory now, in MiB."""
    return _sum_mib(pid, "VmRSS:")


def peak_mib(pid: int) -> float | None:
    """The most resident memory since :func:`reset_peak`, in MiB."""
    return _sum_mib(pid, "VmHWM:")


def reset_peak(pid: int) -> None:
    for process in _tree(pid):
        with suppress(OSError):
            (_PROC / str(process) / "clear_refs").write_text(_PEAK_RESET, encoding="ascii")


def cpu_seconds(pid: int) -> float | None:
    """CPU time used so far, in seconds, to the nanosecond of each process's own clock."""
    if not _PROC.is_dir():
        return None
    used = 0.0
    for process in _tree(pid):
        with suppress(OSError):
            # The clock of a process, as clock_getcpuclockid(3) makes it on Linux.
            used += time.clock_gettime(~process << 3 | 2)
    return used


def _tree(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*"):
        with suppress(OSError):
            # The name in parentheses may hold anything; state and parent follow it.
            fields = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, pending = [], [pid]
    while pending:
        found.append(pending.pop())
        pending += children.get(found[-1], [])
    return found


def _sum_mib(pid: int, key: str) -> float | None:
    kib = 0
    for process in _tree(pid):
        with suppress(OSError):
            status = (_PROC / str(process) / "status").read_text(encoding="utf-8")
            kib += sum(int(line.split()[1]) for line in status.splitlines() if line[:6] == key)
    return kib / 1024 if kib else None
