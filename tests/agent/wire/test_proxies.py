"""Which proxy is asked: what the variables say, and what they cannot say about this machine."""

import pytest

from agent.wire.proxies import Proxies

NAMED = {"HTTP_PROXY": "http://plain:3128", "HTTPS_PROXY": "secure:3129"}


def find(url: str, **variables: str) -> str | None:
    proxy = Proxies.read(variables).find(url)
    return proxy and proxy.url


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "127.8.9.1", "[::1]", "localhost", "LOCALHOST", "localhost.", "a.localhost"),
        *("0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "127.1", "2130706433"),
    ],
)
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_this_machine_is_asked_directly(host: str, variable: str) -> None:
    for proxy in ("http://proxy:3128", "socks5://proxy:1080"):
        assert find(f"http://{host}:11434", **{variable: proxy}) is None


@pytest.mark.parametrize("host", ["128.0.0.1", "localhost.example", "notlocalhost", "10.0.0.7"])
def test_another_machine_is_asked_through_the_proxy(host: str) -> None:
    assert find(f"http://{host}/api", **NAMED) == "http://plain:3128"
    assert find(f"https://{host}/api", **NAMED) == "http://secure:3129"
    assert find(f"http://{host}/api", all_proxy="http://both:1") == "http://both:1"


def test_the_small_name_wins_and_an_empty_one_does_not_count() -> None:
    assert find("http://a", HTTP_PROXY="http://large", http_proxy="http://small") == "http://small"
    assert find("http://a", HTTP_PROXY="http://large", http_proxy=" ") == "http://large"
    assert find("https://a", https_proxy="", ALL_PROXY="http://both") == "http://both"


@pytest.mark.parametrize(
    ("entry", "covered"),
    [
        ("*", ("http://a.b", "http://10.0.0.7")),
        ("b.example", ("http://b.example", "https://a.b.example:8443")),
        (".b.example", ("http://b.example", "http://a.b.example")),
        ("*.b.example", ("http://a.b.example",)),
        ("B.Example:8080", ("http://b.example:8080",)),
        ("b.example:443", ("https://b.example",)),
        ("10.0.0.7", ("http://10.0.0.7:9",)),
        ("10.0.0.0/8", ("http://10.1.2.3",)),
        ("fd00::/8", ("http://[fd00::1]:8080",)),
        ("fd00::1", ("http://[fd00::1]",)),
    ],
)
def test_no_proxy_is_honoured(entry: str, covered: tuple[str, ...]) -> None:
    elsewhere = "http://c.example:8081"
    for url in covered:
        assert find(url, NO_PROXY=f"x, {entry} ,", **NAMED) is None, url
    if entry != "*":
        assert find(elsewhere, no_proxy=entry, **NAMED) == "http://plain:3128"


@pytest.mark.parametrize("entry", ["", "ample", "[", "10.0.0.0/99", "c.example:x", ":80"])
def test_an_entry_that_means_nothing_covers_nothing(entry: str) -> None:
    assert find("http://c.example", NO_PROXY=entry, **NAMED) == "http://plain:3128"
    assert find("http://10.0.0.7", NO_PROXY=entry, **NAMED) == "http://plain:3128"


@pytest.mark.parametrize(
    "url",
    [
        "socks5://u:secret@p:1080",
        "socks5h://p",
        "ftp://p",
        "http://p:port",
        "http://",
        "http://a\nb",
        "://",
    ],
)
def test_a_proxy_that_cannot_be_used_says_so_and_names_its_variable(url: str) -> None:
    proxy = Proxies.read({"all_proxy": url}).find("https://a.example")
    assert proxy is not None
    assert proxy.fault.startswith("all_proxy ")
    assert "secret" not in f"{proxy.fault}{proxy!r}"
