"""What an operator says about one bus: the value behind ``[buses.NAME]``."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class BusConfig(BaseModel):
    """One bus; importable without python-can.

    ``options`` are handed to python-can's interface as they are. ``simulate`` and ``replay`` put
    the embedded rig or a recorded file on a virtual bus. Only ``armed`` lets anything transmit.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    interface: str = "virtual"
    channel: str = ""
    bitrate: Annotated[int, Field(ge=1)] | None = None
    fd: bool = False
    data_bitrate: Annotated[int, Field(ge=1)] | None = None
    options: dict[str, str | int | float | bool] = Field(default_factory=dict)
    databases: list[str] = Field(default_factory=list)
    armed: bool = False
    ring_frames: Annotated[int, Field(ge=1)] = 200_000
    simulate: Literal["powertrain", "truck"] | None = None
    replay: str | None = None
    replay_loop: bool = False

    @model_validator(mode="after")
    def _made_traffic_stays_off_hardware(self) -> Self:
        if self.simulate and self.replay:
            raise ValueError("'simulate' and 'replay' exclude each other on one bus")
        if (self.simulate or self.replay) and self.interface != "virtual":
            raise ValueError("'simulate' and 'replay' need interface = \"virtual\"")
        return self
