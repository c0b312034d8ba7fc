"""What did not pass as workflow commands of GitHub Actions, which show it beside the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TextIO, cast

from relay.suite.document import Object
from relay.suite.outcome import CaseOutcome, CaseStatus, SuiteOutcome, SuiteStatus
from relay.suite.reader import InvalidJson, Reader
from relay.suite.reports.details import (
    Ended,
    Refused,
    details_of,
    end_lines,
    headline,
    plain,
    safe,
    stop_lines,
)
from relay.suite.wording import counted

MOST = 10  # errors of one step that GitHub shows
_TOLD = (CaseStatus.FAILED, CaseStatus.TIMED_OUT)

Read = Callable[[str], str]
"""Gives the text of a suite by its source; raises OSError."""


def write_annotations(ended: Iterable[Ended], stream: TextIO, read: Read) -> None:
    """Write an annotation for each case that did not pass, the last one for all the rest.

    The text of a file is read again for the lines of its cases, and only if one did not pass.
    """
    rest = 0
    held = None
    for number, annotation in enumerate(_annotations(ended, read), 1):
        if number < MOST:
            stream.write(annotation)
        elif number == MOST:
            held = annotation
        else:
            rest += 1
    if rest:
        message = f"and {counted(rest + 1, 'error')} more: see the log of this step"
        stream.write(_command({"title": "canferry-relay test"}, message))
    elif held is not None:
        stream.write(held)


def _annotations(ended: Iterable[Ended], read: Read) -> Iterator[str]:
    for one in ended:
        if isinstance(one, Refused):
            yield from _refused(one)
        else:
            yield from _suite(one, read)


def _refused(refused: Refused) -> Iterator[str]:
    for issue in refused.unusable.issues:
        place = {"file": _file(refused.source), "title": issue.code.value}
        if issue.line is not None:
            place |= {"line": str(issue.line), "col": str(issue.column)}
        yield _command(place, f"{safe(issue.path)}: {safe(issue.message)}\n{safe(issue.hint)}")


def _suite(outcome: SuiteOutcome, read: Read) -> Iterator[str]:
    place = {"file": _file(outcome.source)}
    if outcome.status is SuiteStatus.ABORTED and outcome.stop is not None:
        lines = [*stop_lines(outcome.stop)]
        for end in outcome.ends[-1:]:
            lines += end_lines(end)
        yield _command({**place, "title": safe(outcome.suite.name)}, plain(lines))
    failed = [case for case in outcome.cases if case.status in _TOLD]
    lines_of = _lines_of_cases(outcome.source, read) if failed else {}
    for case in failed:
        line = lines_of.get(case.case.id)
        at = {} if line is None else {"line": str(line)}
        yield _command({**place, **at, "title": _title(case)}, _message(case))


def _title(outcome: CaseOutcome) -> str:
    return f"{safe(outcome.case.id)}: {safe(outcome.case.name)}"


def _message(outcome: CaseOutcome) -> str:
    return plain(details_of(outcome)) or headline(outcome)


def _lines_of_cases(source: str, read: Read) -> dict[str, int]:
    """The line on which each case begins; none if the file is not the one that was run."""
    try:
        reader = Reader(read(source))
        document = cast(Object, reader.read())
        ids = [case["id"] for case in cast(list[dict[str, str]], document["cases"])]
    except (OSError, InvalidJson, LookupError, TypeError):
        return {}
    places = reader.places([["cases", index] for index in range(len(ids))])
    return {case_id: place.line for case_id, place in zip(ids, places, strict=True)}


def _file(source: str) -> str:
    return safe(source).replace("\\", "/")


def _command(properties: dict[str, str], message: str) -> str:
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::error {told}::{_data(message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
