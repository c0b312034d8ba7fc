"""Environments beside ours, each built once from a lock: other releases of the SDK, and Node.

``python -m tests_integration.harness.environments [NAME ...]`` builds those that are missing or
older than their lock; :func:`environment` gives one to a test.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests_integration.harness.process import ROOT

if sys.platform == "win32":
    import msvcrt

    def acquire(file: IO[bytes]) -> None:
        while True:
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
                return
            except OSError:
                pass  # it gives up after ten seconds; a build takes longer
else:
    import fcntl

    def acquire(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)


HOME = ROOT / ".peers"
REQUIREMENTS = ROOT / "tests_integration" / "peers" / "requirements"
COMMAND = "python -m tests_integration.harness.environments"
STAMP = "built-from"

BUILD_SECONDS = 900.0
"""How long one step of a build may take: what it downloads comes over any network."""

HERE = (platform.system(), platform.machine(), sys.base_prefix, sys.version)
"""What a built environment depends on beside its lock."""


class Missing(Exception):
    """An environment is not built, or from another lock; the text says how to build it."""


class NoNpm(Missing):
    """The machine has no npm to build an environment with."""


@dataclass(frozen=True)
class Environment:
    """An environment that is built."""

    root: Path

    @property
    def python(self) -> str:
        """The interpreter of a Python environment."""
        place = ("Scripts", "python.exe") if sys.platform == "win32" else ("bin", "python")
        return str(self.root.joinpath(*place))

    @property
    def node(self) -> str:
        """The interpreter of the Node environment."""
        # Found in its package, as not every npm links what several packages for platforms offer.
        [program] = self.root.glob("node_modules/node-*/bin/node*")
        return str(program)

    def module(self, name: str) -> str:
        """A program of the Node environment, as it is named under ``node_modules``."""
        return str(self.root / "node_modules" / name)


@dataclass(frozen=True)
class Recipe:
    """What an environment is built from, and how."""

    locks: Sequence[Path]
    build: Callable[[Path, Sequence[Path]], None]
    """Fill an empty folder from the locks."""
    here: Sequence[str] = HERE

    def stamp(self) -> str:
        """What tells one build from another."""
        digest = hashlib.sha256(repr(self.here).encode())
        for lock in self.locks:
            digest.update(lock.read_bytes())
        return digest.hexdigest()


def run(*command: str, cwd: Path = ROOT) -> None:
    """Run one step of a build; its complaints go to our stderr."""
    subprocess.run(command, cwd=cwd, check=True, timeout=BUILD_SECONDS, stdout=subprocess.DEVNULL)


def build_python(root: Path, locks: Sequence[Path]) -> None:
    """A virtual environment without a pip of its own: ours installs into it."""
    run(sys.executable, "-m", "venv", "--without-pip", str(root))
    python = Environment(root).python
    lock = ("--quiet", "--require-hashes", "-r", *map(str, locks))
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    try:
        if uv is not None:
            run(uv, "pip", "install", "--compile-bytecode", "--python", python, *lock)
            return
    except subprocess.CalledProcessError:
        pass  # where uv cannot reach the index that pip is set up for, pip does it
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", *lock)


def npm() -> str:
    """The command that installs what Node runs. Errors: NoNpm."""
    command = shutil.which("npm")
    if command is None:
        raise NoNpm(
            "there is no npm to build it; install npm (on Debian: apt-get install npm), then run: "
            f"{COMMAND} node"
        )
    return command


def build_node(root: Path, locks: Sequence[Path]) -> None:
    """The modules of a ``package-lock.json``; no package's own scripts are run."""
    command = npm()
    for lock in locks:
        shutil.copy(lock, root)
    quiet = ("--no-audit", "--no-fund", "--loglevel=error")
    run(command, "ci", "--ignore-scripts", "--omit-lockfile-registry-resolved", *quiet, cwd=root)


RECIPES = {
    "mcp-2.0": Recipe([REQUIREMENTS / "mcp-2.0.txt"], build_python),
    "mcp-1": Recipe([REQUIREMENTS / "mcp-1.txt"], build_python),
    "node": Recipe([REQUIREMENTS / "package.json", REQUIREMENTS / "package-lock.json"], build_node),
}


@contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Wait for other builders; the system frees the lock however this process ends."""
    with lock.open("ab") as file:
        acquire(file)
        yield


class Builder:
    """Environments under one folder."""

    def __init__(self, home: Path = HOME, recipes: Mapping[str, Recipe] = RECIPES) -> None:
        self._home = home
        self._recipes = recipes

    def environment(self, name: str) -> Environment:
        """An environment that is built from what its lock says now.

        Errors: Missing, or NoNpm where it cannot be built.
        """
        if self._is_built(name):
            return Environment(self._home / name)
        if self._recipes[name].build is build_node:
            npm()
        raise Missing(f"the environment {name} is not built from its lock; run: {COMMAND} {name}")

    def build(self, name: str) -> bool:
        """Build an environment unless it is built already; whether it was not."""
        self._home.mkdir(exist_ok=True)
        with alone(self._home / f"{name}.lock"):
            if self._is_built(name):
                return False
            self._build(name)
            return True

    def _is_built(self, name: str) -> bool:
        stamp = self._home / name / STAMP
        return stamp.exists() and stamp.read_text() == self._recipes[name].stamp()

    def _build(self, name: str) -> None:
        recipe, root = self._recipes[name], self._home / name
        draft = self._home / f"{name}.draft"
        stamp = recipe.stamp()  # before the build: a lock that changes meanwhile is built anew
        for rest in (draft, root):
            if rest.exists():
                shutil.rmtree(rest)
        draft.mkdir()
        recipe.build(draft, recipe.locks)
        (draft / STAMP).write_text(stamp)
        draft.rename(root)

    def build_all(self, names: Sequence[str]) -> int:
        """Build what is named, or all; say one line for each. The exit code."""
        code = 0
        for name in names or self._recipes:
            try:
                said = "built" if self.build(name) else "ready"
            except NoNpm as error:
                # At home the other peers do; where the whole matrix is promised, it is a failure.
                said, code = str(error), code or int("CI" in os.environ)
            except subprocess.SubprocessError as error:
                said, code = f"failed: {error}", 1
            sys.stdout.write(f"{name}: {said}\n")
            sys.stdout.flush()
        return code


def environment(name: str) -> Environment:
    """An environment of ``.peers`` at the root of the repository; see :class:`Builder`."""
    return Builder().environment(name)


if __name__ == "__main__":
    sys.exit(Builder().build_all(sys.argv[1:]))
