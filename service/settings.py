"""Every setting of the service: one TOML file, then environment, then flags; later ones win."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from service.errors import ConfigInvalidError, ConfigNotFoundError
from service.model.bus_config import BusConfig

ENV_PREFIX = "CANFERRY_"
MIN_RESPONSE_BYTES = 1024
"""Below this not even an error with its hint fits into an answer."""

_SIMULATED_BUSES: dict[str, Any] = {
    name: {"channel": name, "bitrate": bitrate, "simulate": name, "databases": [f"{name}.dbc"]}
    for name, bitrate in (("powertrain", 500_000), ("truck", 250_000))
}


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(_Section):
    """``[server]``: where the service listens and how it answers."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8765
    max_response_bytes: Annotated[int, Field(ge=MIN_RESPONSE_BYTES)] = 48 * 1024
    structured_content: bool = True
    allowed_hosts: list[str] = Field(default_factory=list)


class FileSettings(_Section):
    """``[files]``: the roots that tools may read, and the one they may write."""

    captures: Path = Field(default_factory=lambda: _data_home() / "captures")
    databases: list[Path] = Field(default_factory=lambda: [_data_home() / "databases"])


class AuditSettings(_Section):
    """``[audit]``: where every transmission and refusal is recorded."""

    file: Path | None = None


class Settings(BaseSettings):
    """The service's settings; made by ``load``. ``buses`` is never empty by default: without any
    configuration it is the embedded simulated rig, unarmed."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_prefix=ENV_PREFIX,
        env_nested_delimiter="__",
    )

    server: ServerSettings = Field(default_factory=ServerSettings)
    files: FileSettings = Field(default_factory=FileSettings)
    audit: AuditSettings = Field(default_factory=AuditSettings)
    buses: dict[str, BusConfig] = Field(
        default_factory=lambda: {
            name: BusConfig.model_validate(bus) for name, bus in _SIMULATED_BUSES.items()
        }
    )

    _config_file: Path | None = PrivateAttr(default=None)

    @property
    def config_file(self) -> Path | None:
        """The TOML file these settings came from; None without one."""
        return self._config_file


def load(config: Path | None = None, flags: Mapping[str, Any] | None = None) -> Settings:
    """Read the settings. ``flags`` has the shape of the file and wins over everything.

    Relative paths in a file are relative to that file. Errors: ConfigNotFoundError,
    ConfigInvalidError (every fault in one message).
    """
    path = _find_file(config)
    in_file = _read_file(path) if path else {}
    given = dict(flags or {})
    if "buses" not in given and _buses_in_environment() <= _SIMULATED_BUSES.keys():
        in_file.setdefault("buses", _SIMULATED_BUSES)

    class Located(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, InitSettingsSource(settings_cls, in_file)

    _check_environment()
    try:
        settings = Located(**given)
    except (ValidationError, SettingsError) as error:
        raise _invalid(error, path) from error
    settings._config_file = path
    return settings


def arm(settings: Settings, names: Sequence[str]) -> Settings:
    """The settings with these buses armed: the operator's ``--arm`` at process start."""
    buses = dict(settings.buses)
    for name in names:
        if name not in buses:
            raise ConfigInvalidError(
                f"there is no bus '{name}' to arm", hint=f"The buses are: {', '.join(buses)}."
            )
        buses[name] = buses[name].model_copy(update={"armed": True})
    armed = settings.model_copy(update={"buses": buses})
    armed._config_file = settings.config_file
    return armed


def _find_file(config: Path | None) -> Path | None:
    named = config or (Path(given) if (given := os.environ.get(ENV_PREFIX + "CONFIG")) else None)
    if named:
        named = named.expanduser()
        if not named.is_file():
            raise ConfigNotFoundError(f"there is no configuration file '{named}'")
        return named.absolute()
    for candidate in (Path("canferry.toml"), _config_home() / "service.toml"):
        if candidate.is_file():
            return candidate.absolute()
    return None


def _read_file(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:  # its text ends in the line and the column
        raise ConfigInvalidError(f"{path}: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalidError(f"{path} cannot be read: {error}") from error
    return _anchored(content, path.parent)


def _anchored(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Paths of a file, seen from where the file is rather than from where the service starts."""

    def anchor(holder: object, key: str) -> None:
        if not isinstance(holder, dict):
            return
        match holder.get(key):
            case str() as text:
                holder[key] = str(folder / Path(text).expanduser())
            case list() as texts:
                holder[key] = [
                    str(folder / Path(each).expanduser()) if isinstance(each, str) else each
                    for each in texts
                ]

    anchor(content.get("files"), "captures")
    anchor(content.get("files"), "databases")
    anchor(content.get("audit"), "file")
    buses = content.get("buses")
    for bus in buses.values() if isinstance(buses, dict) else ():
        anchor(bus, "replay")
    return content


def _buses_in_environment() -> set[str]:
    """An operator who names a bus of his own does not want simulated ones beside it."""
    prefix = f"{ENV_PREFIX}BUSES__"
    return {
        name.removeprefix(prefix).partition("__")[0].lower()
        for name in os.environ
        if name.startswith(prefix)
    }


def _check_environment() -> None:
    """A misspelt section would be ignored in silence: pydantic-settings reads known names only."""
    sections = list(Settings.model_fields)
    for name in os.environ:
        section, nested, _ = name.removeprefix(ENV_PREFIX).lower().partition("__")
        if name.startswith(ENV_PREFIX) and nested and section not in sections:
            raise ConfigInvalidError(
                f"environment variable {name}: unknown section '{section}'"
                + _near(section, sections)
            )


def _invalid(error: ValidationError | SettingsError, path: Path | None) -> ConfigInvalidError:
    where = str(path) if path else "settings"
    if isinstance(error, SettingsError):
        return ConfigInvalidError(f"{where}: {error}")
    faults = "; ".join(_fault(each) for each in error.errors(include_url=False))
    return ConfigInvalidError(f"{where}: {faults}")


def _fault(details: ErrorDetails) -> str:
    *parents, key = details["loc"]
    name = ".".join(str(part) for part in details["loc"])
    if details["type"] != "extra_forbidden":
        return f"{name} = {details['input']!r}: {details['msg']}"
    return f"unknown key '{name}'{_near(str(key), _known_keys([str(part) for part in parents]))}"


def _known_keys(parents: list[str]) -> list[str]:
    match parents:
        case []:
            return list(Settings.model_fields)
        case ["buses", _]:
            return list(BusConfig.model_fields)
        case [section] if section in Settings.model_fields:
            model = Settings.model_fields[section].annotation
            if isinstance(model, type) and issubclass(model, BaseModel):
                return list(model.model_fields)
    return []


def _near(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3)
    return f" (did you mean {' or '.join(repr(each) for each in near)}?)" if near else ""


def _config_home() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "canferry"


def _data_home() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "canferry"
