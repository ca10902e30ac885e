"""A request is judged the same where its texts were judged before."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from django.test.utils import override_settings
from hypothesis import event, given
from hypothesis import strategies as st

from agent.context.api_messages import build_api_messages, merge_neighbours
from agent.context.request import ReplySettings, Request
from agent.errors import AgentError
from agent.messages import AgentMessage
from agent.model.rules import find_violations
from agent.wire.proxies import Proxies
from chat.engine import model_server
from chat.engine.providers import Endpoint
from tests.agent.conversations import TOOLS, exchanges, histories, turns

longer = st.builds(
    lambda first, texts, rest: [*first, *exchanges(texts), *rest],
    st.one_of(st.just([]), turns()),
    st.integers(0, 5),
    histories,
)


def is_refused(request: Request) -> bool:
    try:
        model_server.require_valid(request)
    except AgentError:
        return True
    return False


@given(longer, st.booleans(), st.sampled_from(["claude-test", "claude-sonnet-5-5"]))
def test_what_is_known_to_be_valid_changes_no_verdict(
    history: list[AgentMessage], repaired: bool, model: str
) -> None:
    request = make_request(model, history)
    if repaired:
        request = replace(request, messages=build_api_messages(history, {"search", "write"}))
    for message in history:
        if message.plain:
            assert not message.plain.valid
            message.plain.valid = True
    refused = bool(find_violations(request.body()))
    event(f"refused: {refused}")
    assert is_refused(request) == refused


def make_request(model: str, history: Sequence[AgentMessage]) -> Request:
    """What is stored, sent as it is."""
    sent = [each.plain or {"role": each.role, "content": list(each.blocks)} for each in history]
    return Request(model, 1_000, [], merge_neighbours(sent), TOOLS, once=True)


@pytest.mark.parametrize(
    ("base_url", "model", "refused"),
    [
        ("", "claude-test", True),
        ("", "local::llama", False),
        ("http://127.0.0.1:9", "llama", False),
    ],
)
def test_a_temperature_is_judged_by_the_server_that_gets_it(
    base_url: str, model: str, refused: bool
) -> None:
    request = replace(make_request(model, exchanges(1)), reply=ReplySettings(temperature=0.5))
    request.messages.append({"role": "user", "content": [{"type": "text", "text": "More."}]})
    with override_settings(ANTHROPIC_BASE_URL=base_url):
        assert is_refused(request) == refused


def test_texts_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []
    rules = model_server.find_violations
    monkeypatch.setattr(
        model_server,
        "find_violations",
        lambda body, **about: judged.append(len(body["messages"])) or rules(body, **about),
    )
    history = exchanges(20)[:-1]
    summarised = {"role": "user", "content": [{"type": "text", "text": "[Up to #9.]"}]}
    request = make_request("claude-test", history)
    model_server.require_valid(request)
    for opening in [], [summarised, {"role": "assistant", "content": summarised["content"]}]:
        again = replace(request, messages=[*opening, *request.messages])
        model_server.require_valid(again)
    assert judged == [39, 4, 6]


async def test_the_sites_proxies_are_for_every_server_but_this_machine() -> None:
    with override_settings(PROXIES=Proxies.read({"ALL_PROXY": "http://proxy.example:3128"})):
        for url, proxied in [("http://llm.example", True), ("", True), ("http://[::1]:9", False)]:
            client = model_server.new_client(Endpoint(url, "key"))
            await client.close()
            assert (client._proxy is not None) == proxied, url
