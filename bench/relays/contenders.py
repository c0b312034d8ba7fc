"""Who takes part, and how each is started; peers are installed on first use, outside the tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

OURS = "canferry"
OURS_AGAIN = "canferry again"
OURS_LEGACY = "canferry legacy"
MCP_STDIO = "mcp-stdio"
MCP_PROXY = "mcp-proxy"
FLOOR_RELAY = "floor relay"
FLOOR_ECHO = "floor echo"

INSTALL_SECONDS = 300.0

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]


class PeerUnavailable(Exception):
    """A peer could not be installed; the text says why."""


@dataclass(frozen=True)
class _Peer:
    requirement: str
    arguments: tuple[str, ...] = ()


_PEERS = {
    MCP_STDIO: _Peer("mcp-stdio==0.45.2"),
    MCP_PROXY: _Peer("mcp-proxy==0.13.0", ("--transport", "streamablehttp")),
}


def ours(url: str) -> dict[str, list[str]]:
    """The commands of this checkout's relay and of the floors.

    The relay is there twice, to show the noise, and once held to the era that the peers speak:
    by itself it finds the newer one, in which it has more to do for an old client.
    """
    relay = [sys.executable, "-m", "relay", "--log-level", "error", url]
    return {
        OURS: relay,
        OURS_AGAIN: relay,
        OURS_LEGACY: [*relay, "--protocol-era", "legacy"],
        FLOOR_RELAY: [sys.executable, str(_HERE / "floor_relay.py"), url],
        FLOOR_ECHO: [sys.executable, str(_HERE / "floor_echo.py")],
    }


def peers(url: str) -> dict[str, list[str]]:
    """The commands of the peers. :raises PeerUnavailable: if one cannot be installed."""
    return {
        name: [str(_installed(peer.requirement) / name), *peer.arguments, url]
        for name, peer in _PEERS.items()
    }


def environment(cache: Path) -> Mapping[str, str]:
    """The same environment for all: compiled modules are kept, as an installed program has them."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**own, "PYTHONPATH": str(_ROOT), "PYTHONPYCACHEPREFIX": str(cache / "pycache")}


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "canferry-bench"


def _installed(requirement: str) -> Path:
    """The folder of a peer's programs, in an environment made now or earlier."""
    version = f"py{sys.version_info.major}.{sys.version_info.minor}"
    folder = cache_folder() / f"{requirement.replace('==', '-')}-{version}"
    ready = folder / ".ready"
    if not ready.exists():
        print(f"installing {requirement} into {folder} ...", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], requirement)
        pip = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet"]
        _run([*pip, "--disable-pip-version-check", requirement], requirement)
        ready.touch()
    return folder / "bin"


def _run(command: list[str], requirement: str) -> None:
    try:
        subprocess.run(
            command, check=True, timeout=INSTALL_SECONDS, capture_output=True, encoding="utf-8"
        )
    except subprocess.TimeoutExpired:
        raise PeerUnavailable(f"{requirement}: no end within {INSTALL_SECONDS:g} s") from None
    except subprocess.CalledProcessError as error:
        said = str(error.stderr).strip().splitlines() or ["pip said nothing"]
        raise PeerUnavailable(f"{requirement}: {said[-1]}") from None
