"""The plot of the context, and the panel that it stands in."""

import re

import pytest
from django.test import Client

from accounts.models import User
from chat.engine.state import load_state
from chat.html.plot import WIDTH, _round_steps, render_context_plot
from chat.models import Conversation
from chat.services.summary import summaries
from tests.chat.factories import add_messages, make_compaction, make_conversation, make_turn


@pytest.fixture
def talk(user: User) -> Conversation:
    conversation = make_conversation(owner=user)
    for tokens in (1_000, 9_000, 30_000):
        add_messages(conversation, ["Go on.", "So."], usage={"input_tokens": tokens})
    return conversation


def plot(conversation: Conversation) -> str:
    return render_context_plot(load_state(conversation.pk))


def test_the_line_rises_with_the_context_to_the_last_answer(talk: Conversation) -> None:
    points = re.search(r'points="([^"]+)"', plot(talk))
    assert points
    pairs = [tuple(map(float, pair.split(","))) for pair in points[1].split()]
    assert [x for x, _ in pairs] == [0, WIDTH / 2, WIDTH]
    assert pairs[0][1] > pairs[1][1] > pairs[2][1]  # upwards is towards 0


def test_the_scale_is_told_in_round_numbers(talk: Conversation) -> None:
    html = plot(talk)
    scale = re.findall(r'y="([\d.]+)" dy="-2">(\w+)<', html)
    trigger = re.search(r"compacts at (\w+)", html)
    assert trigger
    assert trigger[1] == "160k"
    assert [tokens for _, tokens in scale] == ["50k", "100k"], "150k is too near to the trigger"
    assert [float(y) for y, _ in scale] == sorted((float(y) for y, _ in scale), reverse=True)


@pytest.mark.parametrize("top", [1, 2, 9, 10, 49, 99, 100, 8_200, 168_000, 999_999])
def test_a_scale_has_few_steps(top: int) -> None:
    steps = _round_steps(top)
    assert 1 <= len(steps) <= 4
    assert steps[-1] <= top


def test_each_compaction_is_marked_and_a_reverted_one_no_longer(talk: Conversation) -> None:
    made = make_compaction(talk, through=2)
    add_messages(talk, ["Go on.", "So."], usage={"input_tokens": 5_000})
    assert plot(talk).count('class="plot-mark"') == 1
    summaries.revert(made.pk)
    assert plot(talk).count('class="plot-mark"') == 0


def test_without_reports_there_is_no_plot(user: User) -> None:
    assert plot(make_conversation(owner=user, messages=4)) == ""


def test_the_panel_shows_it_and_sets_the_budget(talk: Conversation) -> None:
    client = Client()
    client.force_login(talk.owner)
    panel = client.get(f"/c/{talk.pk}/usage/").content.decode()
    assert "<polyline" in panel
    assert 'value="" selected' in panel
    assert client.post(f"/c/{talk.pk}/usage/", {"context_budget": "75000"}).status_code == 204
    talk.refresh_from_db()
    assert talk.context_budget == 75_000
    assert client.post(f"/c/{talk.pk}/usage/", {"context_budget": "7"}).status_code == 422
    make_turn(talk)
    assert client.post(f"/c/{talk.pk}/usage/", {"context_budget": ""}).status_code == 409
