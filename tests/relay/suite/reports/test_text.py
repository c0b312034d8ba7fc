"""A person sees what happens when it happens, why a case did not pass, and what came of it all."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise

import pytest

from relay.suite.determinism import Difference
from relay.suite.events import (
    CaseEnded,
    CaseStarted,
    Noise,
    ServerLost,
    ServerReady,
    SuiteEnded,
    SuiteStarted,
)
from relay.suite.judgement import Answer, RpcError, RpcResult
from relay.suite.outcome import CaseOutcome, CaseStatus, ServerEnd, StopReason
from relay.suite.reports.columns import width
from relay.suite.reports.details import (
    difference_lines,
    duration,
    end_lines,
    plain,
    stderr_lines,
)
from relay.suite.reports.style import Style
from relay.suite.reports.text import TextReport
from tests.relay.suite.examples import Document, body, call, listing, loaded, suite
from tests.relay.suite.reports.outcomes import (
    SERVER,
    ended,
    judged,
    refused,
    run_of,
    said,
    timed_out,
    told,
)

OBJECT = {"type": "object", "required": ["a"]}


def lines_of(case: Document, answer: Answer) -> list[str]:
    """What is told of one case, without its own line."""
    held = loaded(suite(case))
    outcome = judged(held.suite.cases[0], answer)
    return told([CaseEnded(outcome, 1, 1)]).splitlines()[1:]


def report(*cases: Document, answers: Sequence[Answer], **fields: object) -> list[str]:
    held = loaded(suite(*cases, **fields))
    outcomes = list(map(judged, held.suite.cases, answers))
    return told(run_of(held, ended(held, outcomes))).splitlines()


def test_a_run_is_told_from_its_head_to_its_sum() -> None:
    lines = report(
        call(id="ok", name="서울 날씨"),
        call(id="wrong", name="is wrong"),
        answers=[said("fine"), said("it broke", isError=True)],
        name="The rig",
    )
    assert lines == [
        "The rig  (2 cases, suites/rig.json)",
        "",
        "✓ ok        12 ms  서울 날씨",
        "✗ wrong     12 ms  is wrong",
        "    isError  isError is true, expected false",
        "      it broke",
        "      hint: see what the server says in the body",
        "",
        "Not passed:",
        "✗ wrong  isError is true, expected false",
        "",
        "1 passed, 1 failed  (2 cases in 1.50 s)",
        "",
    ]


def test_a_run_in_which_all_passes_says_no_more_than_that() -> None:
    assert report(call(), answers=[said("x")])[3:] == ["", "1 passed  (1 case in 1.50 s)", ""]


def test_a_server_is_introduced_when_it_is_there() -> None:
    assert told([ServerReady(SERVER)]) == "server: rig 1.2, MCP 2025-11-25, legacy\n"


def test_columns_stand_below_each_other_in_all_scripts() -> None:
    cases = [call(id="서울-1", name="n"), call(id="x", name="n"), call(id="i" * 60, name="n")]
    lines = report(*cases, answers=[said("x")] * 3)[2:4]
    assert width(lines[0]) == width(lines[1])


def test_violations_are_told_with_their_places() -> None:
    schema = {**OBJECT, "properties": {"b": {"type": "array", "items": {"type": "string"}}}}
    lines = lines_of(call(body(schema)), said(str({"b": [*range(12)]}).replace("'", '"')))
    assert lines[0] == "    bodyMatchesSchema  the body differs from the schema in 13 places"
    assert lines[1] == '      $  "a" is missing; there is "b"'
    assert lines[2] == '      $.b[0]  expected the type "string", got 0'
    assert lines[-2:] == [
        "      and 3 places more",
        "      hint: mend the server, or the schema if the server is right",
    ]


def test_a_json_rpc_error_shows_what_the_server_said() -> None:
    lines = lines_of(call(), RpcError(-32602, "Unknown tool: t\nsecond line", {"tool": "t"}))
    assert lines[0].startswith("    callTool  the server answered with the JSON-RPC error -32602")
    assert lines[1:4] == [
        "      Unknown tool: t",
        "      second line",
        '      data: {"tool":"t"}',
    ]


def test_a_malformed_result_is_told() -> None:
    assert "result is null" in lines_of(call(), RpcResult(None))[0]


@pytest.mark.parametrize("text", ["", "  \n "])
def test_an_error_without_a_text_is_told_all_the_same(text: str) -> None:
    assert lines_of(call(), said(text, isError=True))[0].endswith("expected false")


def test_of_a_long_body_the_beginning_is_shown() -> None:
    lines = lines_of(call(), said("\n".join(f"line {n}" for n in range(40)), isError=True))
    assert lines[1:3] == ["      line 0", "      line 1"]
    assert lines[13] == "      ... (28 lines more)"
    assert len(lines) == 15
    [wide] = lines_of(call(), said("x" * 5000, isError=True))[1:-1]
    assert len(wide) < 700


def test_a_body_that_is_no_text_is_shown_as_json() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    lines = lines_of(call(), RpcResult({"content": content, "isError": True}))
    assert lines[1].startswith('      [{"type":"text","text":"a"}')


def test_the_tools_that_there_are_are_told_once() -> None:
    names = [f"tool_{number:02}" for number in range(25)]
    answer = RpcResult({"tools": [{"name": name} for name in names]})
    lines = lines_of(listing("XYZ", "QRS"), answer)
    assert len(lines) == 4
    assert lines[1].endswith('"tool_18", "tool_19" and 5 more')
    assert [line for line in lines if "hint" in line] == [
        "      hint: name a tool that the server lists"
    ]
    assert lines_of(listing("t"), RpcResult({"tools": []}))[1] == "      the server has no tools"


def test_a_case_that_timed_out_says_so() -> None:
    held = loaded(suite(call()))
    outcome = ended(held, [timed_out(held.suite.cases[0])])
    text = told(run_of(held, outcome))
    assert "⧖ c1" in text
    assert "callTool  there was no answer within 9 ms" in text
    assert "1 timed out  (1 case in 1.50 s)" in text


def test_notes_are_told_of_a_case_that_passed_too() -> None:
    held = loaded(suite(call()))
    case = held.suite.cases[0]
    passed = CaseOutcome(case, CaseStatus.PASSED, judged(case, said("x")).judgement, 0.1, ("so!",))
    assert told([CaseEnded(passed, 1, 1)]).splitlines()[1:] == ["    note: so!"]


def test_cases_that_were_not_run_are_counted_and_the_reason_is_told_once() -> None:
    held = loaded(suite(*(call(id=f"c{number}") for number in range(3))))
    first, *rest = held.suite.cases
    stop = StopReason("connectionFailed", "the server cannot be reached", "start it")
    cases = [judged(first, said("x")), *(CaseOutcome(case, CaseStatus.NOT_RUN) for case in rest)]
    lines = told(run_of(held, ended(held, cases, stop=stop))).splitlines()
    assert lines[3:] == [
        "",
        "stopped: the server cannot be reached",
        "  hint: start it",
        "1 passed, 2 not run  (3 cases in 1.50 s)",
        "",
    ]


def test_a_cancelled_case_is_among_those_that_did_not_pass() -> None:
    held = loaded(suite(call()))
    outcome = ended(held, [CaseOutcome(held.suite.cases[0], CaseStatus.CANCELLED)])
    lines = told(run_of(held, outcome)).splitlines()
    assert "⊘ c1  cancelled" in lines
    assert "1 cancelled  (1 case in 1.50 s)" in lines


def test_a_changed_suite_is_told_with_both_fingerprints() -> None:
    lines = report(call(), answers=[said("x")], approval={"fingerprint": "0" * 64})
    at = lines.index("approval: the suite was changed after it was approved")
    assert lines[at + 1] == f"  approved {'0' * 64}"
    assert lines[at + 2].startswith("  now      ")
    assert "hint" in lines[at + 3]


def test_a_known_defect_is_told_as_such_while_the_suite_is_the_one_approved() -> None:
    cases = [{"id": "c1", "status": "serverDefect"}]
    fingerprint = loaded(suite(call())).fingerprint
    failed = said("x", isError=True)

    def notes(approved: str, answer: Answer) -> list[str]:
        approval = {"fingerprint": approved, "cases": cases}
        lines = report(call(), answers=[answer], approval=approval)
        return [line for line in lines if "serverDefect" in line]

    assert len(notes(fingerprint, failed)) == 1
    assert notes(fingerprint, said("x")) == []
    assert notes("0" * 64, failed) == []


# -- the server --

END = ServerEnd("the server ended by itself", 7, None, "Traceback\n\tat main\n", False, ())


def test_a_server_that_ended_is_told_once_with_the_end_of_its_stderr() -> None:
    held = loaded(suite(call()))
    outcome = ended(held, [judged(held.suite.cases[0], said("x"))], ends=(END,))
    shown = told([SuiteStarted(held, "s"), ServerLost(END, "c1"), SuiteEnded(outcome)])
    assert shown.count("the server ended by itself (exit code 7)") == 1
    assert "  its stderr:\n    Traceback\n        at main\n" in shown


def test_a_server_that_had_to_be_ended_is_told_at_the_end() -> None:
    held = loaded(suite(call()))
    end = ServerEnd("the server had to be killed", None, "SIGKILL")
    outcome = ended(held, [judged(held.suite.cases[0], said("x"))], ends=(end,))
    assert "server: the server had to be killed (signal SIGKILL)\n" in told(run_of(held, outcome))


def test_of_a_long_stderr_the_last_lines_are_shown() -> None:
    end = ServerEnd("gone", stderr="\n".join(f"line {n}" for n in range(30)))
    assert plain(end_lines(end, 2)).splitlines() == [
        "server: gone",
        "  the end of its stderr, 28 more above:",
        "    line 28",
        "    line 29",
    ]
    assert plain(end_lines(end, 0)) == "server: gone"


def test_a_line_of_stderr_without_its_beginning_is_left_out() -> None:
    end = ServerEnd("gone", stderr="ret-of-a-token\nnext", stderr_cut=True)
    assert stderr_lines(end) == ["next"]
    assert "  the end of its stderr:" in plain(end_lines(end))
    key = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nnext"
    assert stderr_lines(ServerEnd("gone", stderr=key, stderr_cut=True)) == ["next"]


def test_noise_is_shown_as_what_it_is() -> None:
    assert told([Noise("Listening\x1b[2J on " + "x" * 300)]).startswith(
        "  stdout, no message: Listening\\u001b[2J on xxx"
    )


# -- the stream --


def test_a_running_case_is_shown_on_a_terminal_until_there_is_more_to_say() -> None:
    held = loaded(suite(call(id="서울", name="a long name " * 9)))
    [case] = held.suite.cases
    style = Style(live=True, width=40)
    shown = told([CaseStarted(case, 1, 1), CaseEnded(judged(case, said("x")), 1, 1)], style)
    running, rest = shown.removeprefix("\r\x1b[2K").split("\r\x1b[2K")
    assert running.startswith("  1/1  서울  a long")
    assert width(running) == 39
    assert rest.startswith("✓ 서울")


def test_a_running_case_is_not_shown_in_a_file() -> None:
    [case] = loaded(suite(call())).suite.cases
    assert told([CaseStarted(case, 1, 1)]) == ""


def test_each_event_is_written_through_at_once() -> None:
    class Counted(io.StringIO):
        flushes = 0

        def flush(self) -> None:
            self.flushes += 1

    stream = Counted()
    held = loaded(suite(call(), call(id="c9")))
    outcome = ended(held, [judged(case, said("x")) for case in held.suite.cases])
    events = [*run_of(held, outcome)]
    writer = TextReport(stream, Style())
    sizes = []
    for event in events:
        writer.tell(event)
        sizes.append(len(stream.getvalue()))
    assert stream.flushes == len(events)
    grew = [later > earlier for earlier, later in pairwise([0, *sizes])]
    assert grew == [not isinstance(event, CaseStarted) for event in events]


def test_colours_are_put_on_text_that_has_none_of_its_own() -> None:
    [case] = loaded(suite(call(name="\x1b[31mred"))).suite.cases
    shown = told([CaseEnded(judged(case, said("x")), 1, 1)], Style(colour=True))
    assert shown == "\x1b[32m✓\x1b[0m c1     12 ms  \\u001b[31mred\n"


def test_a_hint_is_dim() -> None:
    [case] = loaded(suite(call())).suite.cases
    shown = told([CaseEnded(judged(case, said("x", isError=True)), 1, 1)], Style(colour=True))
    assert "      \x1b[2mhint: see what the server says in the body\x1b[0m\n" in shown


def test_a_server_gives_no_commands_to_the_workflow_that_shows_its_words() -> None:
    lines = lines_of(call(), said("::stop-commands::x\nb", isError=True))
    assert lines[1] == "      \\u003a:stop-commands::x"


def test_a_file_that_is_no_suite_is_told_with_lines_and_columns() -> None:
    stream = io.StringIO()
    TextReport(stream, Style()).refused(refused())
    assert stream.getvalue() == (
        'suites/bad.json:1:1: MISSING_REQUIRED_FIELD cases: "cases" is missing\n'
        '  hint: add "cases": an array of one case or more\n'
    )


def test_differences_between_two_runs_are_told_with_their_places() -> None:
    found = [Difference("c1", ("$.result.content[0].text",), 4)]
    assert plain(difference_lines(found)).splitlines() == [
        "c1  was answered differently the second time",
        "  $.result.content[0].text",
        "  and 3 places more",
    ]
    assert plain(difference_lines([Difference("c1", ("$",), 1)])).count("\n") == 1


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.0004, "0 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (59.99, "59.99 s"),
        (59.9999, "1 min 00 s"),
        (125.4, "2 min 05 s"),
    ],
)
def test_a_duration_is_told_in_the_unit_that_suits_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text
