"""The documentation is true: generated pages are fresh, links lead somewhere, commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from relay.settings import OPTIONS
from scripts.generate_docs import PAGES, error_classes
from service.cli import main
from service.model.bus_config import BusConfig
from service.settings import AuditSettings, FileSettings, ServerSettings
from service.tools import registry

ROOT = Path(__file__).parents[2]
PROSE = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changes").glob("*.md")]
)
ids = [str(path.relative_to(ROOT)) for path in PROSE]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_generated_page_is_fresh(name: str) -> None:
    page = ROOT / "docs" / name
    assert page.exists(), f"docs/{name} is missing; run `make docs`"
    assert page.read_text(encoding="utf-8") == PAGES[name](), (
        f"docs/{name} is stale; run `make docs`"
    )


def test_every_tool_says_what_it_is_for_and_what_each_parameter_means() -> None:
    mute = [
        f"{tool.name}.{name}"
        for tool in registry
        for name, field in tool.arguments.model_fields.items()
        if not field.description
    ]
    mute += [tool.name for tool in registry if not tool.description.strip()]
    assert mute == []


def test_every_error_has_a_code_of_its_own_a_meaning_and_a_next_step() -> None:
    classes = error_classes()
    codes = [error.code for error in classes]
    assert sorted(codes) == sorted(set(codes)), "two errors share a code"
    assert [error.__name__ for error in classes if not error.__doc__ or not error.hint] == []


@pytest.mark.parametrize("path", PROSE, ids=ids)
def test_a_relative_link_leads_to_a_file(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    missing = [
        target
        for target in targets
        if "://" not in target
        and not target.startswith("mailto:")
        and not (path.parent / target).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("path", PROSE, ids=ids)
def test_a_make_command_in_the_text_is_a_target(path: Path) -> None:
    targets = set(
        re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    named = set(re.findall(r"`make ([a-z]+)`", path.read_text(encoding="utf-8")))
    assert named <= targets


def test_every_setting_of_the_service_is_described() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    sections: list[type[BaseModel]] = [ServerSettings, FileSettings, AuditSettings, BusConfig]
    keys = {name for section in sections for name in section.model_fields}
    assert {key for key in keys if not re.search(rf"^{key} = ", page, re.MULTILINE)} == set()


def test_every_option_of_the_relay_is_described() -> None:
    page = (ROOT / "docs" / "relay.md").read_text(encoding="utf-8")
    assert {option.flag for option in OPTIONS if f"`{option.flag}" not in page} == set()


def test_every_flag_of_serve_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    flags = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert {flag for flag in flags if f"`{flag}`" not in page and f" {flag}" not in page} == set()
