"""The command line: arguments in, exit code out.

``canferry-relay URL`` relays stdin and stdout to the MCP server at ``URL``; ``canferry-relay
check URL`` tries the server and says what it found; ``canferry-relay replay-trace FILE`` runs a
trace through the core again.

Exit codes: 0 the client closed, a signal came, or a check went well; 1 a check failed, or a trace
came out differently; 2 the command line is wrong; 70 a fault of the relay itself.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NoReturn

import msgspec

from relay import __version__, logs, settings
from relay.core.options import Options, ProtocolEra, Transport
from relay.core.session import Session
from relay.given_headers import BEARER_VARIABLE
from relay.http.choose import Chosen, choose_client
from relay.http.errors import HttpConfigError
from relay.loop import RelayLoop
from relay.settings import OPTIONS, Settings
from relay.shell import INTERNAL_ERROR, Recorder, Shell, termination_signals
from relay.stdio import StdioClient
from relay.usage import UsageError

PROGRAM = "canferry-relay"
_log = logging.getLogger(__name__)
_COMMANDS = ("check", "replay-trace")
_EPILOG = f"""\
commands, instead of URL:
  check URL            try the server with the same options and say what it is
  replay-trace FILE    run a file of --trace through the relay's core again

exit codes:
  0   the client closed, a signal came, or the check went well
  1   the check failed, or the trace came out differently
  2   the command line is wrong
  {INTERNAL_ERROR}  a fault of the relay itself

Every option but -H can also be set as CANFERRY_RELAY_<OPTION>, for example
CANFERRY_RELAY_LOG_LEVEL=debug. A flag wins.
"""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong on one line; the usage is behind ``--help``."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{PROGRAM}: {message} (see {PROGRAM} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code. Exits by itself for ``--help`` and wrong options."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    command = arguments.pop(0) if arguments and arguments[0] in _COMMANDS else None
    if command == "replay-trace":
        return _replay(_replay_parser().parse_args(arguments).file)
    parser = _parser(command)
    given = vars(parser.parse_args(arguments))
    url = given["url"]
    if "://" not in url:
        parser.error(
            f"{url!r} is neither a URL nor a command; give a URL such as"
            " https://rig.example/mcp, or: check URL, replay-trace FILE"
        )
    try:
        chosen = settings.resolve(url, given, given["header"], os.environ)
    except UsageError as error:
        parser.error(str(error))
    return _run(chosen, checking=command == "check", as_json=given.get("json", False))


def _parser(command: str | None) -> _Parser:
    checking = command == "check"
    parser = _Parser(
        prog=f"{PROGRAM} check" if checking else PROGRAM,
        description="Try an MCP server and say what it is."
        if checking
        else "Relay MCP between a client on stdio and a remote server over HTTP.",
        epilog=None if checking else _EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("url", metavar="URL", help="the server's MCP endpoint, http:// or https://")
    parser.add_argument(
        "-H",
        "--header",
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="send this header too (repeatable); ${VARIABLE} in the value is filled in from the"
        " environment and ${file:PATH} from a file, which keeps secrets out of the process list",
    )
    parser.add_argument(
        "--bearer-env",
        metavar="NAME",
        help="send the token in this environment variable as bearer"
        f" (default {BEARER_VARIABLE}, when it is set)",
    )
    for option in OPTIONS:
        if option.parse is settings.parse_switch:
            parser.add_argument(option.flag, action="store_true", help=option.help)
        else:
            metavar = option.metavar or "|".join(option.choices or ())
            parser.add_argument(option.flag, metavar=metavar, help=option.help)
    if checking:
        parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    return parser


def _replay_parser() -> _Parser:
    parser = _Parser(
        prog=f"{PROGRAM} replay-trace",
        description="Run a file of --trace through the relay's core and show the first difference.",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="a file written by --trace")
    return parser


def _run(chosen: Settings, *, checking: bool, as_json: bool) -> int:
    options = Options(
        protocol_era=ProtocolEra(chosen.protocol_era),
        transport=Transport(chosen.transport),
        drain_timeout=chosen.drain_timeout,
        total_timeout=chosen.timeout_total or 0.0,
        merge_pages=chosen.merge_pages,
        max_line=chosen.max_message_size or sys.maxsize,
        server_name=chosen.host,
        client_version=__version__,
        secret=os.urandom(16).hex(),
    )
    with ExitStack() as stack:
        try:
            http = choose_client(chosen)
            with _writable("--log-file", chosen.log_file):
                stack.enter_context(
                    logs.logging_to(
                        level=chosen.log_level, style=chosen.log_format, file=chosen.log_file
                    )
                )
            with _writable("--trace", chosen.trace):
                record = _recorder(chosen.trace, options, stack)
        except (UsageError, HttpConfigError) as error:
            return _complain(f"{PROGRAM}: {error}", 2)
        for warning in chosen.warnings:
            _log.warning("%s", warning)
        session = Session(options)
        runner = stack.enter_context(asyncio.Runner(loop_factory=RelayLoop))
        if checking:
            return runner.run(_check(chosen, session, http, record, as_json=as_json))
        return runner.run(_relay(chosen, session, http, record))


async def _check(
    chosen: Settings, session: Session, http: Chosen, record: Recorder | None, *, as_json: bool
) -> int:
    from relay import check

    report = await check.check(
        session, http.client, chosen.url, max_message_size=chosen.max_message_size, record=record
    )
    report.tls = http.tls_facts()
    if chosen.proxy is not None:
        report.proxy = f"{chosen.proxy.url} (from {chosen.proxy.source})"
    print(check.as_json(report) if as_json else check.as_text(report, colour=_colour()))
    return 0 if report.ok else 1


async def _relay(chosen: Settings, session: Session, http: Chosen, record: Recorder | None) -> int:
    limit = chosen.max_message_size
    client = StdioClient(max_line=limit)
    shell = Shell(session, client, http.client, max_message_size=limit, record=record)
    with termination_signals(shell.terminate):
        return await shell.run()


@contextmanager
def _writable(option: str, path: str | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            option, f"cannot write {path!r} ({error.strerror})", "check the path and its rights"
        ) from None


def _recorder(path: str | None, options: Options, stack: ExitStack) -> Recorder | None:
    if path is None:
        return None
    from relay import trace

    writer = trace.TraceWriter(path, msgspec.to_builtins(options))
    stack.callback(writer.close)
    return writer.record


def _replay(path: str) -> int:
    from relay import trace

    try:
        recorded = trace.read_trace(path)
        core = Session(msgspec.convert(recorded.options, Options))
    except OSError as error:
        return _complain(f"{PROGRAM}: cannot read {path!r} ({error.strerror})", 2)
    except (trace.TraceError, msgspec.ValidationError) as error:
        return _complain(f"{PROGRAM}: {path!r} is no trace of this version: {error}", 2)
    difference = trace.replay(recorded, core)
    if difference is None:
        print(f"{len(recorded.steps)} events came out as recorded")
        return 0
    print(f"step {difference.step} differs: {difference.event}")
    for command in difference.recorded:
        print(f"  recorded  {command}")
    for command in difference.replayed:
        print(f"  replayed  {command}")
    return 1


def _complain(text: str, code: int) -> int:
    print(text, file=sys.stderr)
    return code


def _colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
