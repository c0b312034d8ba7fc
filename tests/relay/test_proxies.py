"""Which proxy is used for a server, and what is said of one that cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay.proxies import Proxy, is_loopback, proxy_for
from relay.usage import UsageError

HTTPS = "https://rig.example/mcp"
HTTP = "http://rig.example/mcp"


def chosen(
    url: str, environ: Mapping[str, str] | None = None, option: str | None = None
) -> Proxy | None:
    source = None if option is None else (option, "--proxy")
    return proxy_for(urlsplit(url), source, environ or {})


def source_of(url: str, **environ: str) -> str | None:
    proxy = chosen(url, environ)
    return None if proxy is None else proxy.source


def refused(text: str, url: str = HTTPS) -> str:
    with pytest.raises(UsageError) as error:
        chosen(url, {"https_proxy": text})
    return str(error.value)


def test_without_a_variable_there_is_no_proxy() -> None:
    assert chosen(HTTPS) is None
    assert source_of(HTTPS, HTTPS_PROXY="", https_proxy=" ", no_proxy="x") is None


def test_a_scheme_has_its_own_variable_and_the_lower_case_wins() -> None:
    every = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"), "http://upper:1")
    assert source_of(HTTPS, **every) == "HTTPS_PROXY"
    assert source_of(HTTP, **every) == "HTTP_PROXY"
    assert source_of(HTTPS, **every, https_proxy="http://lower:1") == "https_proxy"
    assert source_of(HTTPS, HTTP_PROXY="http://p:1", ALL_PROXY="http://p:1") == "ALL_PROXY"
    assert source_of(HTTP, HTTPS_PROXY="http://p:1", all_proxy="http://p:1") == "all_proxy"
    assert source_of(HTTP, HTTPS_PROXY="http://p:1") is None


def test_a_header_of_a_cgi_request_is_no_proxy() -> None:
    assert source_of(HTTP, HTTP_PROXY="http://evil:1", REQUEST_METHOD="GET") is None
    assert source_of(HTTP, http_proxy="http://p:1", REQUEST_METHOD="GET") == "http_proxy"
    assert source_of(HTTPS, HTTPS_PROXY="http://p:1", REQUEST_METHOD="GET") == "HTTPS_PROXY"


@pytest.mark.parametrize(
    ("no_proxy", "url", "direct"),
    [
        ("rig.example", "https://rig.example/mcp", True),
        ("RIG.Example", "https://rig.example./mcp", True),
        ("rig.example", "https://a.rig.example/mcp", True),
        ("rig.example", "https://other-rig.example/mcp", False),
        (".example", "https://rig.example/mcp", True),
        (".rig.example", "https://rig.example/mcp", True),
        ("*.example", "https://rig.example/mcp", True),
        ("*", "https://rig.example/mcp", True),
        ("other, ,rig.example", "https://rig.example/mcp", True),
        ("other rig.example", "https://rig.example/mcp", True),
        ("other", "https://rig.example/mcp", False),
        (".", "https://rig.example/mcp", False),
        ("rig.example:443", "https://rig.example/mcp", True),
        ("rig.example:8443", "https://rig.example/mcp", False),
        ("rig.example:8443", "https://rig.example:8443/mcp", True),
        ("*:80", "http://rig.example/mcp", True),
        ("10.0.0.7", "https://10.0.0.7/mcp", True),
        ("10.0.0.7:8765", "http://10.0.0.7:8765/mcp", True),
        ("10.0.0.0/8", "https://10.20.30.40/mcp", True),
        ("10.0.0.7/8", "https://10.20.30.40/mcp", True),
        ("10.0.0.0/8", "https://11.0.0.1/mcp", False),
        ("0.0.0.7", "https://10.0.0.7/mcp", False),
        ("fd00::/8", "https://[fd00::7]/mcp", True),
        ("[fd00::7]", "https://[fd00::7]/mcp", True),
        ("fd00::7", "https://[fd00::7]/mcp", True),
        ("[fd00::7]:8765", "http://[fd00::7]:8765/mcp", True),
        ("fd00::/8", "https://10.0.0.7/mcp", False),
        ("10.0.0.0/99", "https://10.0.0.7/mcp", False),
    ],
)
def test_no_proxy_names_domains_addresses_networks_and_ports(
    no_proxy: str, url: str, direct: bool
) -> None:
    environ = {"ALL_PROXY": "http://p:1", "NO_PROXY": no_proxy}
    assert (chosen(url, environ) is None) == direct


@given(no_proxy=st.text(st.sampled_from("*.:,[]/0123456789aF ")))
def test_no_proxy_may_be_any_text(no_proxy: str) -> None:
    for url in (HTTPS, "http://10.0.0.7:8765/mcp"):
        chosen(url, {"ALL_PROXY": "http://p:1", "NO_PROXY": no_proxy})


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST.", "a.localhost", "127.0.0.9", "[::1]"])
def test_the_proxy_of_everybody_is_not_for_this_machine(host: str) -> None:
    environ = {"ALL_PROXY": "http://p:1"}
    assert chosen(f"http://{host}:8765/mcp", environ) is None
    assert not is_loopback("localhost.example")


def test_a_proxy_that_was_asked_for_is_for_every_server() -> None:
    environ = {"NO_PROXY": "*", "HTTPS_PROXY": "http://theirs:1"}
    for url in (HTTPS, HTTP, "http://127.0.0.1:8765/mcp"):
        proxy = chosen(url, environ, "http://mine:3128")
        assert proxy and (proxy.url, proxy.source) == ("http://mine:3128", "--proxy")


@pytest.mark.parametrize("none", ["none", "NONE"])
def test_none_is_no_proxy(none: str) -> None:
    assert chosen(HTTPS, {"HTTPS_PROXY": "http://theirs:1"}, none) is None


@pytest.mark.parametrize(
    ("text", "url", "credentials"),
    [
        ("http://proxy.example:3128", "http://proxy.example:3128", None),
        ("http://proxy.example:3128/", "http://proxy.example:3128", None),
        ("proxy.example:3128", "http://proxy.example:3128", None),
        ("http://proxy.example", "http://proxy.example:80", None),
        ("http://[fd00::1]:3128", "http://[fd00::1]:3128", None),
        ("http://ann:s3%40cret@proxy:3128", "http://proxy:3128", ("ann", "s3@cret")),
        ("ann:s3cret@proxy:3128", "http://proxy:3128", ("ann", "s3cret")),
        ("http://ann@proxy:3128", "http://proxy:3128", ("ann", "")),
    ],
)
def test_credentials_are_taken_out_of_the_url(
    text: str, url: str, credentials: tuple[str, str] | None
) -> None:
    proxy = chosen(HTTPS, {"https_proxy": text})
    assert proxy is not None
    assert (proxy.url, proxy.credentials) == (url, credentials)
    assert "cret" not in repr(proxy)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("socks5://ann:s3cret@proxy:1080", "socks5:// is not supported"),
        ("https://ann:s3cret@proxy:3128", "https:// is not supported"),
        ("http://ann:s3cret@proxy:99999", "not a URL"),
        ("http://ann:s3cret@:3128", "not host and port"),
        ("http://ann:s3cret@proxy:3128/path", "not host and port"),
        ("http://ann:s3cret@pro xy:3128", "not host and port"),
        ("http://ann:s3/cret@proxy:3128", "not "),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_by_its_source_alone(text: str, says: str) -> None:
    message = refused(text)
    assert message.startswith("https_proxy: ") and says in message and "--proxy none" in message
    assert "cret" not in message and "ann" not in message


def test_a_proxy_that_is_not_used_may_be_anything() -> None:
    assert chosen("https://127.0.0.1/mcp", {"https_proxy": "socks5://proxy:1080"}) is None
    environ = {"https_proxy": "socks5://proxy:1080", "no_proxy": "rig.example"}
    assert chosen(HTTPS, environ) is None


def test_an_ipv6_address_is_not_for_a_proxy() -> None:
    message = refused("http://proxy:3128", "https://[fd00::7]/mcp")
    assert "IPv6" in message and "NO_PROXY" in message
    with pytest.raises(UsageError, match="IPv6"):
        chosen("https://[::1]/mcp", option="http://proxy:3128")


def test_the_way_round_depends_on_who_asked_for_the_proxy() -> None:
    asked, found = chosen(HTTPS, option="http://p:1"), chosen(HTTPS, {"ALL_PROXY": "http://p:1"})
    assert asked and "NO_PROXY" not in asked.detour
    assert found and "--proxy none" in found.detour and "NO_PROXY" in found.detour
