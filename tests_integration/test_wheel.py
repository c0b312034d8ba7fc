"""The built wheel in an empty environment: a small relay that works, a service that starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests_integration.harness.servers import Server, serving
from tests_integration.manifest import requirement

ROOT = Path(__file__).parents[1]
FORBIDDEN = {"mcp", "mcp_types", "pydantic", "rich", "can", "cantools", "polars", "httpx2"}


def run(*command: str | Path) -> str:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = "import hatchling.build, sys; print(hatchling.build.build_wheel(sys.argv[1]))"
    subprocess.run(
        [sys.executable, "-c", build, str(folder)],
        cwd=ROOT,
        check=True,
        timeout=60,
        capture_output=True,
    )
    [path] = folder.glob("canferry-*.whl")
    return path


def install(folder: Path, wheel: str) -> Path:
    """An empty environment with ``wheel``, at the lock's versions; returns its bin folder."""
    venv.create(folder, with_pip=True)
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    # The lock's pins without its hashes: pip takes constraints only so, and the wheel has no hash.
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [line.removesuffix(" \\") for line in lines if "==" in line and line[0].isalnum()]
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(pins) + "\n", encoding="utf-8")
    quiet = ("--quiet", "--disable-pip-version-check")
    run(binaries / "python", "-m", "pip", "install", *quiet, "-c", constraints, wheel)
    return binaries


@requirement("install.relay")
@pytest.mark.timeout(400)
async def test_the_base_install_is_a_relay_without_mcp_or_pydantic(
    wheel: Path, tmp_path: Path, reference: Server
) -> None:
    binaries = install(tmp_path / "base", str(wheel))
    listed = json.loads(run(binaries / "python", "-m", "pip", "list", "--format", "json"))
    installed = {package["name"].lower() for package in listed} - {"pip", "setuptools"}
    assert len(installed) <= 12, sorted(installed)
    assert not installed & FORBIDDEN
    command = StdioServerParameters(command=str(binaries / "canferry-relay"), args=[reference.url])
    with anyio.fail_after(30):
        async with Client(command, mode="legacy") as client:
            result = await client.call_tool("add", {"a": 20, "b": 22})
    assert result.structured_content == {"result": 42}


@requirement("install.service", peer="service")
@pytest.mark.timeout(400)
def test_the_service_install_serves(wheel: Path, tmp_path: Path) -> None:
    binaries = install(tmp_path / "service", f"{wheel}[service]")
    with serving((str(binaries / "canferry-service"), "serve", "--port", "0")):
        pass
