"""The TypeScript SDK's ``server-everything``: all that it has, for clients of both eras."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable
from itertools import count

import pytest

from tests_integration.harness.pairings import client_of, on_servers, text_of, with_both_clients
from tests_integration.harness.peers import on
from tests_integration.harness.questions import ABLE, Answering, answer_to, converse, retry
from tests_integration.harness.servers import Peer, Server
from tests_integration.harness.stage import Stage
from tests_integration.harness.stdio_client import META, Json, ModernClient, StdioClient
from tests_integration.manifest import requirement

over_each_transport = on_servers("kind", ("everything", "dual"), ("everything", "sse"))
over_streamable_http = on_servers("kind", ("everything", "dual"))

WITH_URLS: Json = {**ABLE, "elicitation": {"form": {}, "url": {}}}

PLAIN_TOOLS = {
    "echo",
    "get-annotated-message",
    "get-env",
    "get-resource-links",
    "get-resource-reference",
    "get-structured-content",
    "get-sum",
    "get-tiny-image",
    "gzip-file-as-resource",
    "toggle-simulated-logging",
    "toggle-subscriber-updates",
    "trigger-long-running-operation",
}
ASKING_TOOLS = {
    "get-roots-list",
    "trigger-elicitation-request",
    "trigger-sampling-request",
    "trigger-url-elicitation",
}
TASK_TOOL = "simulate-research-query"
"""Runs only as a task of 2025-11-25, which 2026-07-28 does not have."""

TEXT = "demo://resource/dynamic/text/1"
BLOB = "demo://resource/dynamic/blob/1"
DOCUMENT = "demo://resource/static/document/features.md"

PNG = b"\x89PNG\r\n\x1a\n"


_files = (f"file-{number}.gz" for number in count())


@pytest.fixture(scope="module")
def running() -> dict[str, Server]:
    """The servers of this module, by kind: all their state is that of a session."""
    return {}


@pytest.fixture
def server(peer: Peer, kind: str, running: dict[str, Server]) -> Server:
    if kind not in running:
        running[kind] = peer.start(kind)
    running[kind].process.lines.forget()
    return running[kind]


def see_standing_stream(stage: Stage, server: Server, kind: str) -> None:
    """What a server says outside of any request is lost before the stream for it is there."""
    if kind == "dual":
        server.says("Establishing new SSE stream", stage.deadline)


def told_besides(client: StdioClient, quiet: float = 0.5) -> list[Json]:
    """What has come, but for the changes of lists, which this server announces as it makes them."""
    heard = client.drain(quiet)
    return [each for each in heard if not each.get("method", "").endswith("/list_changed")]


def answer_anything(question: Json) -> Json:
    """What a client that can do everything answers to this server."""
    if question["method"] == "elicitation/create":
        if question["params"].get("mode") == "url":
            return {"action": "accept"}
        return {"action": "accept", "content": {"name": "Ann", "integer": 7}}
    return answer_to(question)


# -- the handshake --


@requirement("everything.lists")
@over_each_transport
def test_the_handshake_is_made_in_each_revision_of_the_older_era(
    stage: Stage, server: Server
) -> None:
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        client = stage.unopened(server)
        introduced = client.initialize(version=version)
        assert introduced["protocolVersion"] == version
        assert introduced["serverInfo"]["name"] == "mcp-servers/everything"
        assert introduced["instructions"]
        tools = {tool["name"] for tool in client.request("tools/list")["tools"]}
        assert tools == {*PLAIN_TOOLS, TASK_TOOL}
        assert stage.end(client)[0] == 0


@requirement("everything.tools")
@over_each_transport
def test_a_modern_client_is_offered_the_tools_for_what_it_can_do_and_no_task(
    stage: Stage, server: Server
) -> None:
    client = stage.modern(server)
    offered: list[set[str]] = []
    for capabilities in ({}, WITH_URLS):
        client.with_capabilities(capabilities)
        tools = client.request("tools/list")["tools"]
        assert not [tool for tool in tools if "execution" in tool]
        offered.append({tool["name"] for tool in tools})
    assert offered == [PLAIN_TOOLS, PLAIN_TOOLS | ASKING_TOOLS]


# -- the tools --


def call_echo(client: StdioClient) -> None:
    assert text_of(client.call("echo", message="grüße, 世界 🚚")) == "Echo: grüße, 世界 🚚"


def call_sum(client: StdioClient) -> None:
    assert text_of(client.call("get-sum", a=2, b=0.5)) == "The sum of 2 and 0.5 is 2.5."


def call_annotated_message(client: StdioClient) -> None:
    [text, image] = client.call("get-annotated-message", messageType="error", includeImage=True)[
        "content"
    ]
    assert text["annotations"] == {"priority": 1, "audience": ["user", "assistant"]}
    assert (image["type"], image["annotations"]["audience"]) == ("image", ["user"])


def call_environment(client: StdioClient) -> None:
    assert "PATH" in text_of(client.call("get-env"))


def call_resource_links(client: StdioClient) -> None:
    [_, *links] = client.call("get-resource-links", count=3)["content"]
    assert [link["type"] for link in links] == ["resource_link"] * 3
    read = client.request("resources/read", {"uri": links[0]["uri"]})
    assert read["contents"][0]["uri"] == links[0]["uri"]


def call_resource_reference(client: StdioClient) -> None:
    [_, embedded, _] = client.call("get-resource-reference", resourceType="Text", resourceId=1)[
        "content"
    ]
    assert (embedded["type"], embedded["resource"]["uri"]) == ("resource", TEXT)


def call_structured_content(client: StdioClient) -> None:
    result = client.call("get-structured-content", location="Chicago")
    weather = {"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82}
    assert result["structuredContent"] == weather


def call_image(client: StdioClient) -> None:
    [_, image, _] = client.call("get-tiny-image")["content"]
    assert (image["type"], image["mimeType"]) == ("image", "image/png")
    assert base64.b64decode(image["data"]).startswith(PNG)


def call_gzip(client: StdioClient) -> None:
    """The resource that the tool makes is of the session, and is there to be read in it."""
    name = next(_files)
    client.call("gzip-file-as-resource", name=name, data="data:text/plain,hello")
    read = client.request("resources/read", {"uri": f"demo://resource/session/{name}"})
    [content] = read["contents"]
    assert gzip.decompress(base64.b64decode(content["blob"])) == b"hello"


def call_badly(client: StdioClient) -> None:
    for failed in (client.call("echo"), client.call("nobody"), client.call("get-sum", a="two")):
        assert failed["isError"]
        assert "-32602" in text_of(failed)


TOOLS = (
    call_echo,
    call_sum,
    call_annotated_message,
    call_environment,
    call_resource_links,
    call_resource_reference,
    call_structured_content,
    call_image,
    call_gzip,
    call_badly,
)


@requirement("everything.tools", "call.transparent", "transport.http-sse")
@with_both_clients
@over_each_transport
def test_each_tool_that_asks_nothing_answers(stage: Stage, server: Server, client_era: str) -> None:
    client = client_of(stage, client_era, server)
    for call in TOOLS:
        call(client)
    assert told_besides(client) == []


@requirement("everything.tools", "call.progress")
@with_both_clients
@over_each_transport
def test_a_long_operation_tells_of_its_progress(
    stage: Stage, server: Server, client_era: str
) -> None:
    client = client_of(stage, client_era, server)
    call = client.start_call(
        "trigger-long-running-operation", {"progressToken": "long"}, duration=0.5, steps=5
    )
    heard = [client.told("notifications/progress")["params"] for _ in range(5)]
    assert heard == [
        {"progressToken": "long", "progress": step, "total": 5} for step in range(1, 6)
    ]
    assert "Steps: 5" in text_of(client.result(call))
    assert told_besides(client) == []


@requirement("everything.tools")
@with_both_clients
@over_each_transport
def test_a_long_operation_that_is_cancelled_is_never_answered(
    stage: Stage, server: Server, client_era: str
) -> None:
    """The tool does not look whether it was cancelled, and goes on telling of its progress."""
    client = client_of(stage, client_era, server)
    call = client.start_call(
        "trigger-long-running-operation", {"progressToken": "long"}, duration=0.5, steps=5
    )
    client.told("notifications/progress")
    client.cancel(call)
    heard = {message.get("method", "an answer") for message in told_besides(client, 0.6)}
    # To a legacy client goes whatever its server says.
    assert heard <= ({"notifications/progress"} if client_era == "legacy" else set())
    call_echo(client)


# -- the tools that ask --


@requirement("everything.tools", "ask.legacy", "ask.modern-client")
@with_both_clients
@over_each_transport
def test_user_model_and_roots_are_asked_in_the_course_of_a_call(
    stage: Stage, server: Server, kind: str, client_era: str
) -> None:
    client = client_of(stage, client_era, server, capabilities=WITH_URLS)
    call_echo(client)
    see_standing_stream(stage, server, kind)  # it asks for roots there
    answers = {
        "trigger-elicitation-request": ({}, "- Name: Ann\n- Favorite Integer: 7"),
        "trigger-sampling-request": ({"prompt": "hello"}, '"text": "word"'),
        "trigger-url-elicitation": ({"url": "https://rig.example/"}, "completed the URL"),
        "get-roots-list": ({}, "URI: file:///truck"),
    }
    for tool, (arguments, said) in answers.items():
        result = converse(client, tool, answer_anything, **arguments)
        assert said in "\n".join(block["text"] for block in result["content"]), tool


@requirement("ask.declined")
@with_both_clients
@over_each_transport
def test_a_form_that_is_not_filled_in_is_said_to_be_so(
    stage: Stage, server: Server, client_era: str
) -> None:
    client = client_of(stage, client_era, server, capabilities={"elicitation": {}})
    for action in ("decline", "cancel"):
        result = converse(client, "trigger-elicitation-request", answering(action))
        assert f'"action": "{action}"' in result["content"][-1]["text"]


def answering(action: str) -> Answering:
    """What a user answers who does not fill in a form."""
    return lambda question: {"action": action}


@requirement("ask.modern-client")
@over_streamable_http
def test_the_error_that_sends_the_user_to_a_url_becomes_a_question_to_a_modern_client(
    stage: Stage, server: Server
) -> None:
    """-32042 of 2025-11-25; sent again, the call asks for the page that it was about."""
    client = stage.modern(server, capabilities={"elicitation": {"url": {}}})
    arguments = {"url": "https://rig.example/", "errorPath": True}
    call: Json = {"name": "trigger-url-elicitation", "arguments": arguments}
    first = client.request("tools/call", call)
    [prerequisite] = first["inputRequests"].values()
    assert prerequisite["params"]["mode"] == "url"
    assert prerequisite["params"]["url"] != arguments["url"]
    assert "elicitationId" not in prerequisite["params"]
    declined = client.error(
        client.start("tools/call", retry(call, first, lambda _: {"action": "decline"}))
    )
    assert (declined["code"], prerequisite["params"]["url"] in declined["message"]) == (
        -32603,
        True,
    )


@requirement("everything.tools")
@over_streamable_http
def test_a_legacy_client_runs_a_task_to_its_end(stage: Stage, server: Server) -> None:
    client = stage.unopened(server)
    client.initialize(version="2025-11-25")
    call = {"name": TASK_TOOL, "arguments": {"topic": "rigs"}, "task": {"ttl": 60_000}}
    task = client.request("tools/call", call)["task"]
    assert task["status"] == "working"
    known = {"taskId": task["taskId"]}
    assert client.request("tasks/get", known)["taskId"] == task["taskId"]
    assert "# Research Report: rigs" in text_of(client.request("tasks/result", known))
    assert client.request("tasks/get", known)["status"] == "completed"


@requirement("everything.tools", "ask.legacy")
@over_streamable_http
def test_a_legacy_client_that_could_answer_by_a_task_may_answer_at_once(
    stage: Stage, server: Server
) -> None:
    by_task: Json = {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}
    client = stage.unopened(server)
    client.initialize({**ABLE, "tasks": {"requests": by_task}}, version="2025-11-25")
    asked: list[Json] = []

    def answer(question: Json) -> Json:
        if "task" in question.get("params", {}):
            asked.append(question)
        return answer_anything(question)

    for tool in ("trigger-sampling-request-async", "trigger-elicitation-request-async"):
        assert "[SYNC]" in text_of(converse(client, tool, answer, prompt="hello"))
    assert [question["method"] for question in asked] == [
        "sampling/createMessage",
        "elicitation/create",
    ]


# -- lists, resources, prompts, completion --


@requirement("everything.lists", "call.transparent")
@with_both_clients
@over_each_transport
def test_resources_and_prompts_are_listed_and_read(
    stage: Stage, server: Server, client_era: str
) -> None:
    client = client_of(stage, client_era, server)
    assert DOCUMENT in {each["uri"] for each in client.request("resources/list")["resources"]}
    templates = client.request("resources/templates/list")["resourceTemplates"]
    assert {each["name"] for each in templates} == {
        "Dynamic Text Resource",
        "Dynamic Blob Resource",
    }
    contents = {
        uri: client.request("resources/read", {"uri": uri})["contents"][0]
        for uri in (TEXT, BLOB, DOCUMENT)
    }
    assert contents[TEXT]["text"].startswith("Resource 1: This is a plaintext resource")
    assert base64.b64decode(contents[BLOB]["blob"]).startswith(b"Resource 1: This is a base64")
    assert contents[DOCUMENT]["text"].startswith("#")
    missing = client.error(client.start("resources/read", {"uri": "demo://nothing"}))
    assert (missing["code"], "demo://nothing" in missing["message"]) == (-32602, True)
    prompts = {each["name"] for each in client.request("prompts/list")["prompts"]}
    assert prompts == {"simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"}
    weather = client.request(
        "prompts/get", {"name": "args-prompt", "arguments": {"city": "Ulm", "state": "BW"}}
    )
    assert weather["messages"][0]["content"]["text"] == "What's weather in Ulm, BW?"


@requirement("everything.lists")
@with_both_clients
@over_streamable_http
def test_completions_depend_on_what_was_chosen_before(
    stage: Stage, server: Server, client_era: str
) -> None:
    client = client_of(stage, client_era, server)
    prompt = {"type": "ref/prompt", "name": "completable-prompt"}
    department = client.request(
        "completion/complete", {"ref": prompt, "argument": {"name": "department", "value": "S"}}
    )
    assert department["completion"]["values"] == ["Sales", "Support"]
    name = client.request(
        "completion/complete",
        {
            "ref": prompt,
            "argument": {"name": "name", "value": ""},
            "context": {"arguments": {"department": "Sales"}},
        },
    )
    assert name["completion"]["values"] == ["David", "Eve", "Frank"]
    template = {"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"}
    number = client.request(
        "completion/complete", {"ref": template, "argument": {"name": "resourceId", "value": "7"}}
    )
    assert number["completion"]["values"] == ["7"]


# -- what it says of its own accord --


def listening(client: StdioClient, uri: str) -> Callable[[Json], Json]:
    """Subscribe to a resource; how to get the bare params of what is told of it."""
    if isinstance(client, ModernClient):
        listen = client.listen(resourceSubscriptions=[uri])
        named = {META + "subscriptionId": listen}

        def bare(params: Json) -> Json:
            assert params.pop("_meta") == named
            return params

        return bare
    assert client.request("resources/subscribe", {"uri": uri}) == {}
    return lambda params: params


@requirement("stream.standing", "listen.forwarded")
@with_both_clients
@over_each_transport
def test_updates_come_periodically_once_they_are_switched_on(
    stage: Stage, server: Server, kind: str, client_era: str
) -> None:
    """The first comes at once, the next five seconds later, outside of any request."""
    client = client_of(stage, client_era, server)
    bare = listening(client, TEXT)
    see_standing_stream(stage, server, kind)
    client.call("toggle-subscriber-updates")
    for _ in range(2 if kind == "dual" else 1):
        told = client.told("notifications/resources/updated")
        assert bare(told["params"]) == {"uri": TEXT}
    client.call("toggle-subscriber-updates")


@requirement("call.log-level", "stream.standing")
@over_each_transport
def test_log_messages_come_outside_of_any_request_and_not_below_the_level_asked_for(
    stage: Stage, server: Server, kind: str
) -> None:
    """A subscription is logged at the level ``info``, on the standing stream."""
    client = stage.legacy(server)
    see_standing_stream(stage, server, kind)
    for level in ("warning", "info"):
        assert client.request("logging/setLevel", {"level": level}) == {}
        assert client.request("resources/subscribe", {"uri": f"demo://{level}"}) == {}
    logged = client.told("notifications/message")["params"]
    assert (logged["level"], "demo://info" in logged["data"]) == ("info", True)
    assert told_besides(client) == []


# -- a crash --


@requirement("restart.idle", "session.expired")
@with_both_clients
@on("everything")
def test_a_server_that_was_restarted_and_knows_no_session_is_used_again(
    stage: Stage, peer: Peer, client_era: str
) -> None:
    """This server answers what names a session that it does not know with 400, and not 404."""
    server = stage.server(peer)
    client = client_of(stage, client_era, server)
    call_echo(client)
    peer.restart(server)
    call_echo(client)
    assert {tool["name"] for tool in client.request("tools/list")["tools"]} >= PLAIN_TOOLS
