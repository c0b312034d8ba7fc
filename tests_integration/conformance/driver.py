"""The client that the conformance suite starts: it acts out one scenario through a real relay.

``python -m tests_integration.conformance.driver REVISION URL``, with the scenario in the
environment as the suite sets it. It prints how that went, and tells on stderr what was said.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence

from tests_integration.conformance.drives import drive_of
from tests_integration.conformance.hosts import Host, Refused, host
from tests_integration.harness.deadline import Deadline
from tests_integration.harness.stdio_client import RELAY, Json

SECONDS = 40.0
"""The suite's own limit ends no more than a shell: a driver has to end by itself, relay and all."""

DONE, REFUSED, FAULT = "done", "refused", "fault"
"""All was answered as the scenario wants; a request was answered with an error; neither."""


def main(arguments: Sequence[str], environ: Mapping[str, str], seconds: float = SECONDS) -> int:
    revision, url = arguments
    context = json.loads(environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    client = host(revision, (*RELAY, url), Deadline(seconds))
    outcome = FAULT
    try:
        outcome = act(environ["MCP_CONFORMANCE_SCENARIO"], client, context)
    finally:
        code = client.client.close()
        sys.stderr.write(f"relay ended with {code}:\n{client.client.process.stderr()}")
    if code != 0:
        outcome = FAULT
    sys.stdout.write(f"{outcome}\n")
    return int(outcome != DONE)


def act(scenario: str, client: Host, context: Json) -> str:
    """Do what a scenario wants, as far as the relay lets one; how far that was."""
    try:
        client.open()
        drive_of(scenario)(client, context)
    except Refused as error:
        sys.stderr.write(f"refused: {error}\n")
        return REFUSED
    except AssertionError as error:
        sys.stderr.write(f"fault: {error}\n")
        return FAULT
    return DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
