"""The environment of a child process: what every program needs, and what was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from relay.usage import UsageError

_POSIX = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),
    *("LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ"),
)
_WINDOWS = (
    *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT"),
    *("PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT"),
    *("TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
)


def child_environment(
    environ: Mapping[str, str], asked: Iterable[str], *, windows: bool
) -> dict[str, str]:
    """Of the environment, what a server gets: secrets only where they are named.

    :raises UsageError: if a variable that is asked for does not exist.
    """
    names = [*(_WINDOWS if windows else _POSIX), *asked]
    for name in asked:
        if name not in environ:
            raise UsageError("--env", f"there is no variable {name}", "set it, or drop the option")
    return {name: environ[name] for name in names if name in environ}
