"""Every error the service reports: one tree, a stable code and a next step on each class.

CanferryError
+-- ArgumentError      the caller can fix the call
+-- NotFoundError      a name that is not there
+-- TransmitError      the safety gate said no
+-- BusError           the hardware or its driver
+-- DataError          a capture or database that cannot be understood
+-- ConfigurationError the operator's file or flags
+-- InternalError      ours to mend
"""

from __future__ import annotations

from typing import ClassVar


class CanferryError(Exception):
    """Base of the tree; never raised itself.

    ``code`` is stable and documented; ``hint`` names the next step and may be replaced per raise.
    ``data`` goes into the envelope's ``data`` (the offending value, the candidates ...).
    """

    code: ClassVar[str]
    hint: str = ""

    def __init__(
        self, message: str, *, hint: str | None = None, data: dict[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.data = data or {}
        if hint is not None:
            self.hint = hint


class ArgumentError(CanferryError):
    """The caller can fix the call."""


class NotFoundError(CanferryError):
    """A name that is not there."""


class TransmitError(CanferryError):
    """The safety gate said no; nothing was sent."""


class BusError(CanferryError):
    """The hardware or its driver."""


class DataError(CanferryError):
    """A capture or database that cannot be understood."""


class ConfigurationError(CanferryError):
    """The operator's file or flags."""


class InternalError(CanferryError):
    """Ours to mend; the session goes on."""


class InvalidArgumentsError(ArgumentError):
    """A missing, unknown or ill-typed argument, refused before anything runs."""

    code = "INVALID_ARGUMENTS"
    hint = "Compare the call with the tool's input schema."


class StdinExcludedError(ArgumentError):
    """``-`` was given where a tool reads something: a remote caller has no stdin here."""

    code = "STDIN_MCP_EXCLUDED"
    hint = "Name a real file path inside the configured roots instead of '-'."


class ToolExecutionError(InternalError):
    """A tool ended in an exception that is not part of this tree."""

    code = "TOOL_EXECUTION_ERROR"
    hint = "This is a fault in the service, not in the call; its log has the traceback."


class ToolTimeoutError(InternalError):
    """A call lasted longer than any call may; clients give up soon after."""

    code = "TOOL_TIMEOUT"
    hint = "Ask for less: a smaller time window, fewer frames or one bus."


class UnknownToolError(NotFoundError):
    """A call of a tool that does not exist."""

    code = "UNKNOWN_TOOL"
    hint = "List the tools to see their names."


class ConfigNotFoundError(ConfigurationError):
    """The configuration file that was named does not exist."""

    code = "CONFIG_NOT_FOUND"
    hint = "Name an existing TOML file, or leave --config and CANFERRY_CONFIG away."


class ConfigInvalidError(ConfigurationError):
    """A configuration that cannot be read or holds unknown or impossible values."""

    code = "CONFIG_INVALID"
    hint = "Correct the value; docs/configuration.md lists every key."


class BindRefusedError(ConfigurationError):
    """An address that other machines could reach, while nothing asks them who they are."""

    code = "BIND_REFUSED"
    hint = (
        "Bind to 127.0.0.1 and reach it from elsewhere through a tunnel that does the login"
        " (ssh -L 8765:127.0.0.1:8765 rig) or a TLS proxy on this machine."
    )


class BindFailedError(ConfigurationError):
    """The address cannot be listened on."""

    code = "BIND_FAILED"
    hint = "Stop the other program, or choose another --port (0 takes any free one)."


class ServiceUnreachableError(ConfigurationError):
    """The command line needs the running service and could not reach it."""

    code = "SERVICE_UNREACHABLE"
    hint = "Start it with 'canferry-service serve', or name it with --url."


class InvalidFileNameError(ArgumentError):
    """A name that no file in a root can have, or that would be a path."""

    code = "INVALID_FILE_NAME"
    hint = "Use a plain name such as 'drive-1.candump': letters, digits, '.', '_', '-' and blanks."


class PathOutsideRootsError(ArgumentError):
    """A path that leaves the configured roots, on its own or through a link."""

    code = "PATH_OUTSIDE_ROOTS"
    hint = "Name a file inside the configured roots; config_show lists them."


class CaptureSourceUnavailableError(NotFoundError):
    """A capture that is missing, unreadable or not a regular file."""

    code = "CAPTURE_SOURCE_UNAVAILABLE"
    hint = "Name a capture inside the captures root; config_show tells where that is."


class CaptureTooLargeError(DataError):
    """A capture above the size that one call may read."""

    code = "CAPTURE_TOO_LARGE"
    hint = "Split the capture into smaller files."


class CaptureFormatUnsupportedError(DataError):
    """Content that no log reader understands."""

    code = "CAPTURE_FORMAT_UNSUPPORTED"
    hint = (
        "Supported: candump text (candump -L, -l or its console view). Convert it with can-utils."
    )


class CaptureEmptyError(DataError):
    """A capture without a single frame."""

    code = "CAPTURE_EMPTY"
    hint = "Record again, or name another capture."


class CaptureExistsError(ArgumentError):
    """A capture of that name is there already; nothing is ever overwritten."""

    code = "CAPTURE_EXISTS"
    hint = "Choose another name for 'save_as'."


class CaptureWriteError(DataError):
    """The captures root did not take the file."""

    code = "CAPTURE_WRITE_FAILED"
    hint = "Check that the captures root exists, is writable and has room; doctor tells."


class InvalidMaxFramesError(ArgumentError):
    """``max_frames`` below one."""

    code = "INVALID_MAX_FRAMES"
    hint = "Give 'max_frames' a value of at least 1, or leave it away."


class InvalidAnalysisSecondsError(ArgumentError):
    """``seconds`` that is not above zero."""

    code = "INVALID_ANALYSIS_SECONDS"
    hint = "Give 'seconds' a value above 0, or leave it away."


class InvalidSourceAddressError(ArgumentError):
    """A J1939 source address that is not a number in 0..255."""

    code = "INVALID_SOURCE_ADDRESS"
    hint = "List addresses as in '0x00,0x0B' or '0,11'."


class InvalidFilterExpressionError(ArgumentError):
    """A filter expression that does not follow the grammar."""

    code = "INVALID_FILTER_EXPRESSION"
    hint = (
        "Examples: id==0x18FEEE31, pgn==61444 && sa==0, id in 0x100..0x1FF, !(dlc > 4),"
        ' data[2] == 0x40, channel == "can0".'
    )


class InvalidCursorError(ArgumentError):
    """A cursor that this query did not give."""

    code = "INVALID_CURSOR"
    hint = "Pass 'next_cursor' of the previous answer with otherwise equal arguments, or none."


class InvalidFrameIdError(ArgumentError):
    """An identifier that is not a number, or does not fit in 11 or 29 bits."""

    code = "INVALID_FRAME_ID"
    hint = "Write it as '0x123' (11 bit), '0x18FEEE31' (29 bit) or in decimal."


class InvalidFrameDataError(ArgumentError):
    """A payload that is not pairs of hex digits."""

    code = "INVALID_FRAME_DATA"
    hint = (
        "Write pairs of hex digits such as '11223344'; blanks, dots and colons may separate them."
    )


class InvalidFrameArgumentsError(ArgumentError):
    """Parts that are fine each and make no frame together."""

    code = "INVALID_FRAME"
    hint = "Classic CAN carries 0..8 bytes; CAN FD (fd=true) 0..8, 12, 16, 20, 24, 32, 48 or 64."


class DbcNotFoundError(NotFoundError):
    """A database that no root holds."""

    code = "DBC_NOT_FOUND"
    hint = "Name a database inside the database roots; config_show lists them."


class DbcLoadError(DataError):
    """A database that cannot be read, strictly or leniently."""

    code = "DBC_LOAD_FAILED"
    hint = "Correct the database where the message says."


class DbcMessageNotFoundError(NotFoundError):
    """A message that the database does not define."""

    code = "DBC_MESSAGE_NOT_FOUND"
    hint = "List the messages with dbc_inspect."


class DbcSignalInvalidError(ArgumentError):
    """A signal that the message does not have, or a value it cannot take."""

    code = "DBC_SIGNAL_INVALID"
    hint = "See names, ranges and value tables with dbc_inspect and 'message'."


class InvalidSignalAssignmentError(ArgumentError):
    """An item that is not ``NAME=VALUE``."""

    code = "INVALID_SIGNAL_ASSIGNMENT"
    hint = "Write items as 'EngineSpeed=1500' or 'Gear=Drive'."


class BusNotFoundError(NotFoundError):
    """A bus that the configuration does not name."""

    code = "BUS_NOT_FOUND"
    hint = "Name one of the configured buses; bus_status lists them."


class BusOpenError(BusError):
    """The driver did not open the channel."""

    code = "BUS_OPEN_FAILED"
    hint = "Check that the adapter is plugged in and the interface is up; the bus is tried again."


class BusNotOpenError(BusError):
    """The bus is not open at the moment: closed, or being opened again after an error."""

    code = "BUS_NOT_OPEN"
    hint = "See bus_status for the last error; the bus is opened again by itself."


class BusSendError(BusError):
    """The driver did not take a frame."""

    code = "BUS_SEND_FAILED"
    hint = "See bus_status for the state of the controller and the last error."


class BusOffError(BusError):
    """The controller left the bus after too many errors; a queued frame would go out late."""

    code = "BUS_OFF"
    hint = (
        "Find the cause (wiring, termination, bit rate), then restart the controller on the rig:"
        " 'ip link set CHANNEL type can restart' for socketcan."
    )


class BusNotFdError(BusError):
    """A CAN FD frame for a bus that is configured for classic CAN."""

    code = "BUS_NOT_FD"
    hint = "Send a classic frame, or have the operator set 'fd = true' for this bus."


class AckRequiredError(TransmitError):
    """A transmission that the caller did not acknowledge."""

    code = "ACTIVE_TRANSMIT_REQUIRES_ACK"
    hint = "Set 'ack_active' to true to confirm that frames go to a real bus."


class NotArmedError(TransmitError):
    """The operator did not arm this bus; no argument of a call can."""

    code = "TRANSMIT_NOT_ARMED"
    hint = (
        "Only an operator at the rig arms a bus: 'armed = true' under [buses.NAME] in the"
        " configuration, or 'serve --arm NAME', and a restart of the service."
    )


class FrameNotTransmittableError(TransmitError):
    """A frame that only a controller makes."""

    code = "FRAME_NOT_TRANSMITTABLE"
    hint = "Send data or remote frames; error frames are reports of the local controller."


class AuditWriteError(TransmitError):
    """The audit record could not be written, so nothing was sent."""

    code = "AUDIT_WRITE_FAILED"
    hint = "Have the operator check the audit file's disk and permissions."


class PermitForeignError(TransmitError):
    """A permit for another bus."""

    code = "PERMIT_FOREIGN"
    hint = "Ask the gate for a permit for this bus."


class PermitExpiredError(TransmitError):
    """A permit that was not used in time."""

    code = "PERMIT_EXPIRED"
    hint = "Ask again; a permit is used at once or not at all."


class PermitUsedError(TransmitError):
    """A permit is good for one use."""

    code = "PERMIT_USED"
    hint = "Ask the gate for a new permit; each transmission is judged and recorded on its own."


class AuditFileError(ConfigurationError):
    """The audit file cannot be opened for appending."""

    code = "AUDIT_FILE_UNWRITABLE"
    hint = "Correct 'file' under [audit], or the permissions of its folder."


class ReplayFileError(ConfigurationError):
    """The recording to replay cannot be read or has no frames."""

    code = "REPLAY_FILE_UNREADABLE"
    hint = "Name a candump text file in 'replay' under [buses.NAME]."
