"""The admin panel through its URLs: what it shows, who may, what it costs, re-run and revert."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.messages import get_messages
from django.db import connection, connections
from django.http import HttpResponse
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from pytest_django.asserts import assertInHTML

from agent.compaction.chapters.chapter import Chapter, WrittenPart
from agent.compaction.chapters.unsent import list_unsent
from agent.compaction.policy import Method, Reason
from agent.compaction.writing.job import WrittenSummary
from agent.messages import Usage
from chat.admin import base
from chat.admin import conversations as conversations_admin
from chat.admin.base import short_id
from chat.admin.compaction_filters import STATES, WRITTEN
from chat.admin.explanations import OCCASION_EXPLANATIONS
from chat.db.threads import in_db
from chat.engine import model_server
from chat.engine.state import load_state
from chat.html.figures import format_tokens
from chat.models import Compaction, Conversation, Memory, Message, ModelProfile, Turn
from chat.services.library import memories, projects
from chat.services.summary import compaction_jobs, summaries
from config.version import VERSION
from demo.api.server import DemoServer
from demo.mind.models import ListedModel
from tests.chat.factories import (
    MODEL,
    add_messages,
    hand_in,
    make_compaction,
    make_conversation,
    make_conversations,
    make_profile,
    make_turn,
    make_user,
)
from tests.spending.factories import make_call

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>'
BIG = ("compressed_context", "system_prompt", '"blocks"', '"chapters"', '"audit"')
LISTS = ("conversation", "project", "message", "compaction", "turn", "modelprofile")

pytestmark = pytest.mark.django_db


class Reader(Client):
    """A browser whose person gives a reason wherever one is asked."""

    def get(self, path: str, *args: Any, **options: Any) -> Any:
        response = super().get(path, *args, **options)
        if "admin/chat/reason.html" not in {each.name for each in response.templates}:
            return response
        assert self.post(path, {"reason": "Asked for help"}).status_code == 302
        return super().get(path, *args, **options)


@pytest.fixture
def staff() -> Client:
    """A browser in which an administrator is signed in, who says why they read."""
    client = Reader()
    client.force_login(make_user("root", admin=True))
    return client


def list_url(model: str) -> str:
    return reverse(f"admin:chat_{model}_changelist")


def page_url(row: Any) -> str:
    return reverse(f"admin:chat_{row._meta.model_name}_change", args=[row.pk])


def html(response: HttpResponse) -> str:
    assert response.status_code == 200, response
    return response.content.decode()


def listed(client: Client, model: str, /, **filters: object) -> list[Any]:
    """The rows of a list."""
    response = client.get(list_url(model), filters)
    assert response.status_code == 200
    return list(response.context["cl"].result_list)


def ask(client: Client, action: str, *rows: Compaction, **data: str) -> HttpResponse:
    """Choose an action for compactions: the page that asks, or with `confirmed` the answer."""
    return client.post(
        list_url("compaction"), {"action": action, "_selected_action": [r.pk for r in rows]} | data
    )


def said(response: HttpResponse) -> str:
    """The messages that the next page shows."""
    return " ".join(str(m) for m in get_messages(response.wsgi_request))


# --- Who may --------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", LISTS)
def test_lists_send_a_normal_user_to_the_sign_in(client: Client, model: str) -> None:
    client.force_login(make_user())
    response = client.get(list_url(model))
    assert response.status_code == 302
    assert reverse("admin:login") in response["Location"]


@pytest.mark.parametrize("model", ["project", "memory", "provider", "mcpserver"])
def test_lists_are_forbidden_to_staff_without_permission(client: Client, model: str) -> None:
    client.force_login(make_user(staff=True))
    assert client.get(list_url(model)).status_code == 403


def test_nobody_adds_edits_or_deletes_what_services_write(staff: Client) -> None:
    conversation = make_conversation(messages=4, title="Before")
    rows = [conversation, make_compaction(conversation), conversation.messages.first()]
    for row in [*rows, make_turn(conversation)]:
        name = f"admin:chat_{row._meta.model_name}"
        assert staff.get(reverse(f"{name}_add")).status_code == 403
        assert staff.post(page_url(row), {"title": "After"}).status_code == 403
        assert staff.post(reverse(f"{name}_delete", args=[row.pk])).status_code == 403
    conversation.refresh_from_db()
    assert conversation.title == "Before"


def test_a_project_is_shown_with_how_much_it_holds(staff: Client) -> None:
    owner = make_user("ada")
    project = projects.create_project(owner, "Sea trip")
    member = make_conversation(owner, project=project)
    memories.remember_fact(owner.pk, "Hidden fact", Memory.Source.USER, project_id=project.pk)
    (row,) = listed(staff, "project")
    assert row.members == 1
    page = html(staff.get(page_url(project)))
    assert "Hidden fact" not in page
    members = list_url("conversation") + f"?project__id__exact={project.pk}"
    assert members in page
    assert short_id(member.pk) in html(staff.get(members))


def test_viewing_does_not_include_revert_or_rerun() -> None:
    compaction = make_compaction(conversation := make_conversation(messages=4))
    client = Reader()
    client.force_login(make_user(staff=True, may=["view_compaction"]))
    page = html(client.get(page_url(compaction)))
    assert "Messages it covered" in page
    assert "Revert…" not in page
    assert "Write again…" not in page
    for action in ("revert", "rerun"):
        ask(client, action, compaction, confirmed="yes")
    conversation.refresh_from_db()
    assert conversation.compaction == compaction
    assert not conversation.turns.filter(status__in=Turn.ACTIVE).exists()


# --- The start page -------------------------------------------------------------------------------


def test_the_start_page_tells_what_was_spent_and_what_failed_with_links_to_it(
    staff: Client,
) -> None:
    conversation = make_conversation(messages=6)
    make_call("8", state="lost")
    make_call("0", state="open", bound=Decimal("0.8"))
    slow = make_compaction(conversation, through=4)
    later = slow.created_at + timedelta(seconds=90)
    Compaction.objects.filter(pk=slow.pk).update(finished_at=later)
    turn = make_turn(conversation, status=Turn.Status.FAILED)
    page = html(staff.get(reverse("admin:index")))
    assert "≈ $8.00" in page
    assert "hold up to $0.8000 more" in page
    report = page[page.index('id="site-report"') : page.index('id="content-main"')]
    links = [unescape(link) for link in re.findall(r'href="(.*?)"', report)]
    charts = [link for link in links if "charts" in link]
    assert [html(staff.get(link)).count("≈ $8.00") > 0 for link in charts] == [True] * 3
    shown = [
        list(staff.get(link).context["cl"].result_list) for link in links if link not in charts
    ]
    assert shown == [[conversation]] * 3 + [[turn], [slow]]


def test_a_compaction_explains_its_status_trigger_and_method(staff: Client) -> None:
    row = make_compaction(make_conversation(messages=4), method="chunks", trigger="overflow")
    page = " ".join(html(staff.get(page_url(row))).split())
    for words in (
        "It is sent with every request.",
        "The model’s server said that the request was too long.",
        "A model read the older messages as several texts",
    ):
        assert words in page
    listed = html(staff.get(reverse("admin:chat_compaction_changelist")))
    assert {*words_of(listed)} == {
        *STATES,
        *(t.replace("_", " ") for t in OCCASION_EXPLANATIONS),
        *WRITTEN,
    }


def test_a_compaction_shows_what_bears_its_statements_out(staff: Client) -> None:
    talk = make_conversation(messages=["We moved it to <8443>.", "Fine."] * 3)
    said = "- The port is 8443 [#1 #3]"
    row = make_compaction(talk, f"## Decisions\n{said}", through=4, audit={"borne_out": [said]})
    quotes = [[said, 3, "moved it to <8443>"]]
    row.chapters = [chapter | {"quotes": quotes} for chapter in row.chapters]
    row.save()
    number = f'[<a href="{page_url(talk.messages.get(number=3))}">#3</a>]'
    shown = f'<blockquote dir="auto">moved it to &lt;8443&gt; {number}</blockquote>'
    for page in (html(staff.get(page_url(row))), html(staff.get(page_url(talk)))):
        assert "Borne out by a quote" in page
        assert shown in page
    assert "that the words of a message bear out" in html(staff.get(page_url(row)))


def words_of(page: str) -> list[str]:
    return re.findall(r"<dt>([^<]+)</dt>", page[page.index('class="word-list"') :])


def test_the_start_page_of_a_quiet_site_says_so(staff: Client) -> None:
    assert "no turn and no compaction failed" in html(staff.get(reverse("admin:index")))


def test_the_start_page_names_the_version(staff: Client) -> None:
    assert f"Everlong {VERSION}" in html(staff.get(reverse("admin:index")))


def test_the_report_is_for_operators_too(client: Client) -> None:
    client.force_login(make_user(staff=True))
    assert "site-report" in html(client.get(reverse("admin:index")))


# --- Conversations --------------------------------------------------------------------------------


def test_conversations_show_owner_usage_and_compactions(staff: Client) -> None:
    make_profile("large", context_window=100_000)
    conversation = make_conversation(make_user("ada"), messages=6, model="large", title="Photos")
    make_compaction(conversation, usage=Usage(12_000, 800))
    add_messages(conversation, ["And now?"])
    add_messages(conversation, ["Later."], usage={"input_tokens": 49_000, "output_tokens": 1_000})
    page = html(staff.get(list_url("conversation")))
    assert "Photos" not in page
    for shown in (
        short_id(conversation.pk),
        "ada",
        ">large<",
        ">8<",
        "50k · 50%",
        "12k / 800",
        "$0.0320",
        ">1<",
    ):
        assert shown in page, shown


def test_the_list_shows_the_meter_of_the_page(staff: Client) -> None:
    make_profile("large", context_window=100_000, token_factor=1.5)
    reported = {"input_tokens": 49_000, "output_tokens": 1_000}
    thought = {
        "input_tokens": 900,
        "output_tokens": 800,
        "output_tokens_details": {"thinking_tokens": 700},
    }
    rows = [
        make_conversation(model="large"),
        make_conversation(messages=5, system_prompt="Be kind"),
    ]
    for usage in (reported, thought):
        rows.append(make_conversation(messages=1, model="large"))
        add_messages(rows[-1], ["Yes."], usage=usage)
    add_messages(rows[2], ["A question that is not in the report yet. " * 50])
    compacted = make_conversation(messages=6, context_budget=30_000)
    add_messages(compacted, ["Hi", "Hello"], usage=reported)
    make_compaction(compacted, through=5)
    rows.append(compacted)
    page = html(staff.get(list_url("conversation")))
    for row in rows:
        state = load_state(row.pk)
        shown = re.search(rf"{row.pk}/change.*?field-context\">(.*?)</td>", page, re.S)
        assert shown is not None
        about = "about " if state.estimated else ""
        assert shown[1] == f"{about}{format_tokens(state.used)} · {state.ratio:.0%}"


def test_a_conversation_that_goes_while_the_list_is_made_has_no_meter(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_conversation(messages=2)
    monkeypatch.setattr(conversations_admin, "load_states", lambda ids: {})
    assert '<td class="field-context">–</td>' in html(staff.get(list_url("conversation")))


@pytest.mark.parametrize("reported", [{}, {"input_tokens": 8, "output_tokens": 1}])
def test_context_is_what_the_messages_count_where_no_report_can_be_believed(
    staff: Client, reported: dict[str, int]
) -> None:
    make_profile("large", context_window=100_000, token_factor=1.5)
    conversation = make_conversation(make_user(), messages=["Read it.", "Yes."], model="large")
    add_messages(conversation, ["lorem ipsum " * 6_000])
    add_messages(conversation, ["I did."], usage=reported)
    state = load_state(conversation.pk)
    (shown,) = re.findall(r"about ([\d.]+)k · ", html(staff.get(list_url("conversation"))))
    assert float(shown) * 1_000 == pytest.approx(state.used, rel=0.1)
    page = html(staff.get(page_url(conversation)))
    assert f"about {state.used:,} tokens" in page
    assert ("far too few tokens" in page) == bool(reported)


def test_search_finds_owner_and_id_and_no_title(staff: Client) -> None:
    ada, bob = make_user("ada"), make_user("bob")
    first, second = make_conversation(ada, title="Photos"), make_conversation(bob, title="Taxes")
    assert listed(staff, "conversation", q="photo") == []
    assert listed(staff, "conversation", q="bob") == [second]
    assert listed(staff, "conversation", q=str(first.pk)) == [first]
    assert listed(staff, "conversation", q="nothing") == []


def test_conversations_are_filtered_by_model_owner_and_state(staff: Client) -> None:
    ada = make_user("ada")
    plain = make_conversation(ada, messages=4, model="small")
    compacted = make_conversation(messages=4)
    make_compaction(compacted)
    assert listed(staff, "conversation", model="small") == [plain]
    assert listed(staff, "conversation", owner="ada") == [plain]
    assert listed(staff, "conversation", compacted="yes") == [compacted]
    assert listed(staff, "conversation", compacted="no") == [plain]
    assert listed(staff, "conversation", owner="ada", compacted="yes") == []


def test_typed_owner_keeps_the_other_filters(staff: Client) -> None:
    page = html(staff.get(list_url("conversation"), {"compacted": "yes", "q": HOSTILE, "p": "1"}))
    assert '<input type="hidden" name="compacted" value="yes">' in page
    assert HOSTILE not in page
    assert '<input type="hidden" name="p"' not in page


def test_conversation_page_shows_summary_usage_and_compactions(staff: Client) -> None:
    conversation = make_conversation(messages=8)
    old = make_compaction(conversation, "## Overview\n\n- **Photos** [#1]", through=3)
    failed = make_compaction(conversation, status=Compaction.Status.FAILED)
    current = make_compaction(conversation, "## Overview\n\n- Taxes [#4]")
    page = html(staff.get(page_url(conversation)))
    assert "<strong>Photos</strong>" in page
    assert "of the budget of 200,000" in page
    table = page.index("compactions-heading")
    places = [page.index(page_url(row), table) for row in (current, failed, old)]
    assert places == sorted(places)
    assert f"{list_url('message')}?conversation={conversation.pk}" in page


# --- Messages and turns ---------------------------------------------------------------------------


def test_a_long_list_is_not_counted_to_its_end_and_says_so(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "MOST_COUNTED", 2)
    conversation = make_conversation(messages=["One", "Two"])
    assert "the first" not in html(staff.get(list_url("message")))
    assert len(listed(staff, "message")) == 2
    add_messages(conversation, ["Three"])
    shown = html(staff.get(list_url("message")))
    assert "(the first 2: filter or search for others)" in shown
    assert "2 messages" in shown


def test_messages_are_filtered_and_searched_within_a_conversation(staff: Client) -> None:
    conversation = make_conversation(messages=["apples", "pears"], title="Fruit")
    make_conversation(messages=["apples"], title="Other")
    first, second = conversation.messages.order_by("number")
    assert listed(staff, "message", conversation=conversation.pk) == [second, first]
    staff.get(page_url(conversation))
    assert listed(staff, "message", conversation=conversation.pk, q="apple") == [first]
    assert listed(staff, "message", q=conversation.owner.username) == [second, first]
    assert listed(staff, "message", q="fruit") == []
    assert listed(staff, "message", q="apples") == []  # texts only within a conversation
    assert listed(staff, "message", conversation="no-id") == []


def test_message_page_shows_the_rendered_message_and_its_blocks(staff: Client) -> None:
    conversation = make_conversation(messages=["Hi", f"**Bold** {HOSTILE}"])
    page = html(staff.get(page_url(conversation.messages.get(number=2))))
    assert "<strong>Bold</strong>" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&quot;type&quot;: &quot;text&quot;" in page


def test_turns_show_their_error_code(staff: Client) -> None:
    conversation = make_conversation()
    turn = make_turn(
        conversation, status="failed", error={"code": "rate_limited", "message": HOSTILE}
    )
    assert "rate_limited" in html(staff.get(list_url("turn"), {"status": "failed"}))
    page = html(staff.get(page_url(turn)))
    assert "rate_limited" in page
    assert HOSTILE not in page


# --- Compactions ----------------------------------------------------------------------------------


def test_status_tells_current_superseded_and_reverted_apart(staff: Client) -> None:
    conversation = make_conversation(messages=12)
    first = make_compaction(conversation, through=3)
    second = make_compaction(conversation, through=6)
    third = make_compaction(conversation, through=9)
    failed = make_compaction(conversation, status=Compaction.Status.FAILED)
    summaries.revert(third.pk)
    expected = {"superseded": first, "current": second, "reverted": third, "failed": failed}
    for state, row in expected.items():
        assert listed(staff, "compaction", state=state) == [row]
        shown = html(staff.get(list_url("compaction"), {"state": state}))
        assert f'<span class="state {state}">' in shown
        assert f'<span class="state {state}">' in html(staff.get(page_url(row)))
    summaries.revert(second.pk)
    summaries.revert(first.pk)
    assert listed(staff, "compaction", state="reverted") == [third, second, first]


def test_a_version_of_another_branch_is_not_called_reverted(staff: Client) -> None:
    conversation = make_conversation(messages=12)
    first = make_compaction(conversation, through=3)
    elsewhere = make_compaction(conversation, through=6)
    Conversation.objects.update(compaction=first)  # as a switch to a branch from #5 leaves it
    assert listed(staff, "compaction", state="superseded") == [elsewhere]
    assert '<span class="state superseded">' in html(staff.get(page_url(elsewhere)))
    assert listed(staff, "compaction", state="reverted") == []


def test_compactions_are_searched_and_filtered(staff: Client) -> None:
    ada = make_conversation(make_user("ada"), messages=6, title="Photos", model="small")
    bob = make_conversation(make_user("bob"), messages=6, title="Taxes")
    first = make_compaction(ada, trigger=Compaction.Trigger.AUTO)
    second = make_compaction(bob)
    assert listed(staff, "compaction", q="photos") == []
    assert listed(staff, "compaction", q="bob") == [second]
    assert listed(staff, "compaction", q=str(ada.pk)) == [first]
    assert listed(staff, "compaction", trigger__exact="auto") == [first]
    assert listed(staff, "compaction", owner="bob") == [second]
    assert listed(staff, "compaction", model="small") == [first]
    assert listed(staff, "compaction", conversation=bob.pk) == [second]


def test_compaction_page_shows_what_it_did(staff: Client) -> None:
    conversation = make_conversation(messages=8)
    make_compaction(conversation, "## Overview\n\n- Start [#1]", through=2)
    compaction = make_compaction(
        conversation,
        "## Overview\n\n- Photos go to disk A [#3 #77]",
        through=5,
        focus="the disks",
        usage=Usage(2_000, 300, 100),
        audit={"calls": 2, "dropped": ["42 GB", "/mnt/x"], "identifiers": {"typed": 12}},
        tokens_before=9_000,
        tokens_after=3_000,
    )
    page = html(staff.get(page_url(compaction)))
    for number in (3, 4, 5):
        message = conversation.messages.get(number=number)
        assert f'<a href="{page_url(message)}">#{number}</a>' in page
    assert "Messages it covered (3)" in page
    assert f'[<a href="{page_url(conversation.messages.get(number=3))}">#3</a> #77]' in page
    for shown in (
        "9,000 → 3,000",
        "67%",
        "the disks",
        "serialised",
        "compact-",
        "4242",
        "#3 to #5",
        "42 GB",
        "/mnt/x",
        "Identifiers: typed",
        "$0.0070",
    ):
        assert shown in page, shown


def test_compaction_page_lists_at_most_200_messages(staff: Client) -> None:
    compaction = make_compaction(make_conversation(messages=260))
    page = html(staff.get(page_url(compaction)))
    assert "Messages it covered (258)" in page
    assert "58 more are not shown here" in page
    assert page.count('<td class="preview">Message number') == 200
    link = page.split("58 more are not shown here.")[1].split('<a href="')[1].split('"')[0]
    assert "258 messages" in html(staff.get(link.replace("&amp;", "&")))


def test_failed_compaction_shows_its_error_and_no_actions(staff: Client) -> None:
    conversation = make_conversation(messages=4)
    compaction = make_compaction(
        conversation, status=Compaction.Status.FAILED, error=f"Overloaded. {HOSTILE}"
    )
    page = html(staff.get(page_url(compaction)))
    assert "Overloaded." in page
    assert HOSTILE not in page
    assert "Revert…" not in page


def test_hostile_titles_and_summaries_are_escaped_everywhere(staff: Client) -> None:
    conversation = make_conversation(
        make_user("eve"), messages=[HOSTILE, HOSTILE, "Hi", "Ho"], title=HOSTILE
    )
    compaction = make_compaction(
        conversation,
        f"{HOSTILE} [x](javascript:alert(1)) [#1]",
        focus=HOSTILE,
        audit={HOSTILE: [HOSTILE], "deep": {HOSTILE: None}},
    )
    make_turn(conversation)
    pages = [list_url(model) for model in LISTS]
    pages += [page_url(row) for row in (conversation, compaction, conversation.messages.first())]
    pages += [f"{list_url('message')}?conversation={conversation.pk}"]
    for url in pages:
        page = html(staff.get(url))
        assert "<script>alert" not in page, url
        assert "<img src=x" not in page, url
        assert 'href="javascript:' not in page, url
    confirm = html(ask(staff, "revert", compaction))
    assert "<script>alert" not in confirm


# --- Revert ---------------------------------------------------------------------------------------


def test_revert_asks_first(staff: Client) -> None:
    conversation = make_conversation(messages=4, title="Photos")
    compaction = make_compaction(conversation)
    page = html(staff.get(page_url(compaction)))
    assertInHTML('<button type="submit" name="action" value="revert">Revert…</button>', page)
    confirm = html(ask(staff, "revert", compaction))
    assert "Revert this summary?" in confirm
    assert "Photos" not in confirm
    assert short_id(conversation.pk) in confirm
    conversation.refresh_from_db()
    assert conversation.compaction == compaction


def test_revert_moves_the_pointer_back_and_is_recorded(staff: Client) -> None:
    conversation = make_conversation(messages=8)
    first = make_compaction(conversation, "## Overview\n\n- First", through=3)
    second = make_compaction(conversation, "## Overview\n\n- Second")
    response = ask(staff, "revert", second, confirmed="yes")
    assert (response.status_code, response["Location"]) == (302, page_url(second))
    assert "Reverted" in said(response)
    conversation.refresh_from_db()
    assert conversation.compaction == first
    assert conversation.compressed_context == first.summary
    assert conversation.compaction_held
    history = reverse("admin:chat_compaction_history", args=[second.pk])
    assert "revert" in html(staff.get(history, follow=True))


def test_revert_of_several_goes_from_the_newest_backwards(staff: Client) -> None:
    conversation = make_conversation(messages=8)
    first, second = make_compaction(conversation, through=3), make_compaction(conversation)
    response = ask(staff, "revert", first, second, confirmed="yes")
    assert response["Location"] == list_url("compaction")
    conversation.refresh_from_db()
    assert conversation.compaction is None
    assert conversation.compressed_context is None


@pytest.mark.parametrize("action", ["revert", "rerun"])
def test_action_on_a_superseded_version_says_why_not(staff: Client, action: str) -> None:
    conversation = make_conversation(messages=8, title=HOSTILE)
    first, second = make_compaction(conversation, through=3), make_compaction(conversation)
    response = ask(staff, action, first, confirmed="yes")
    assert "Only the current summary can be" in said(response)
    assert "<script>" not in said(response)
    conversation.refresh_from_db()
    assert conversation.compaction == second


@pytest.mark.parametrize("action", ["revert", "rerun"])
def test_action_in_a_busy_conversation_says_why_not(staff: Client, action: str) -> None:
    conversation = make_conversation(messages=4)
    compaction = make_compaction(conversation)
    make_turn(conversation)
    assert "is running there" in said(ask(staff, action, compaction, confirmed="yes"))
    conversation.refresh_from_db()
    assert conversation.compaction == compaction


def test_revert_that_would_not_fit_says_why_not(staff: Client) -> None:
    make_profile("narrow", context_window=2_000, max_output=200)
    conversation = make_conversation(messages=["word " * 100] * 30, model="narrow")
    compaction = make_compaction(conversation)
    assert "Choose a larger model" in said(ask(staff, "revert", compaction, confirmed="yes"))
    conversation.refresh_from_db()
    assert conversation.compaction == compaction


def test_action_refuses_too_many_at_once(staff: Client) -> None:
    owner = make_user()
    rows = [make_compaction(make_conversation(owner, messages=3)) for _ in range(21)]
    assert "at most 20" in said(ask(staff, "revert", *rows, confirmed="yes"))
    assert not Conversation.objects.filter(compaction=None).exists()


def test_actions_need_a_token_against_forgery(client: Client) -> None:
    compaction = make_compaction(make_conversation(messages=4))
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(make_user(admin=True))
    assert ask(strict, "revert", compaction, confirmed="yes").status_code == 403


# --- Re-run ---------------------------------------------------------------------------------------


def test_rerun_asks_first_and_says_what_each_would_read_and_cost(staff: Client) -> None:
    make_profile()
    conversation = make_conversation(messages=["word " * 400] * 8)
    first, second = make_compaction(conversation, through=3), make_compaction(conversation)
    page = html(ask(staff, "rerun", first, second))
    assert "Write the summary again?" in page
    assert page.count("It is not the current summary and cannot be written again.") == 1
    (dollars,) = re.findall(
        r"tokens, for ≈ \$(\d\.\d+), up to \$\d\.\d+\. The older messages are read", page
    )
    assert float(dollars) > 0
    assert set(Compaction.objects.all()) == {first, second}


def test_rerun_of_a_model_without_prices_says_that_its_price_is_unknown(staff: Client) -> None:
    make_profile(input_price=0, output_price=0, cache_read_price=0, cache_write_price=0)
    compaction = make_compaction(make_conversation(messages=["word " * 400] * 8))
    assert "tokens, at a price that is not known." in html(ask(staff, "rerun", compaction))


@pytest.fixture
async def staff_in_server(transactional_db: None) -> AsyncIterator[AsyncClient]:
    """The same on the ASGI handler, as the web process has it."""
    client = AsyncClient()
    await client.aforce_login(await in_db(make_user, admin=True))
    yield client
    await sync_to_async(connections.close_all)()  # of the thread that the views ran in


def written_again(staff: Client, old: Compaction, text: str) -> Compaction:
    """What an administrator had written again, and a worker has written."""
    response = ask(staff, "rerun", old, confirmed="yes")
    new = Compaction.objects.get(pk__gt=old.pk)
    assert response["Location"] == page_url(new)
    assert (new.first_id, new.through_id, new.status) == (old.first_id, old.through_id, "running")
    assert "It is being written." in html(staff.get(page_url(new)))
    job = compaction_jobs.claim(new.pk, pid=1)
    assert job is not None
    chapters = [Chapter(text, old.first.number, old.through.number)]
    assert hand_in(job, WrittenSummary(chapters, Method.SERIALISED, Reason.NOT_CACHED))
    return new


OLD = "## Overview\n\n- The queue is Redis [#1]\n- Bookings wait [#2]"
NEW = "## Overview\n\n- The queue is <b>PostgreSQL</b> [#1]\n- Ada owns it [#3]"


def test_a_rewrite_is_compared_before_it_replaces_anything(staff: Client) -> None:
    conversation = make_conversation(messages=6)
    old = make_compaction(conversation, OLD)
    new = written_again(staff, old, NEW)
    page = html(staff.get(page_url(new)))
    assert "0 kept, 1 changed, 1 added, 1 dropped." in " ".join(page.split())
    assertInHTML("<ins>&lt;b&gt;PostgreSQL&lt;/b&gt; </ins>", page)
    assertInHTML("<del>Bookings wait [#2]</del>", page)
    conversation.refresh_from_db()
    assert conversation.compaction == old
    for action in ("replace", "discard"):
        staff.get(list_url("compaction"), {"action": action, "_selected_action": new.pk})
    conversation.refresh_from_db()
    assert conversation.compaction == old
    ask(staff, "replace", new, confirmed="yes")
    conversation.refresh_from_db()
    assert conversation.compaction == new
    assert "PostgreSQL" in (conversation.compressed_context or "")
    assert "what is different" not in html(staff.get(page_url(new)))


def test_a_rewrite_that_is_discarded_leaves_the_summary(staff: Client) -> None:
    conversation = make_conversation(messages=6)
    old = make_compaction(conversation, OLD)
    new = written_again(staff, old, NEW)
    ask(staff, "discard", new, confirmed="yes")
    conversation.refresh_from_db()
    assert conversation.compaction == old
    assert "waits can be used" in said(ask(staff, "replace", old, confirmed="yes"))


def test_a_rewrite_of_a_conversation_that_has_moved_on_is_not_used(staff: Client) -> None:
    conversation = make_conversation(messages=12)
    new = written_again(staff, make_compaction(conversation, OLD, through=4), NEW)
    later = make_compaction(conversation, "- More [#5]", through=8)
    assert "has moved on" in said(ask(staff, "replace", new, confirmed="yes"))
    conversation.refresh_from_db()
    assert conversation.compaction == later


# --- Model profiles -------------------------------------------------------------------------------

FORM = {
    "display_name": "Renamed",
    "enabled": "on",
    "context_window": "64000",
    "max_output": "4000",
    "input_price": "1.5",
    "output_price": "7",
    "cache_read_price": "0.1",
    "cache_write_price": "2",
}


def test_saved_profile_counts_as_edited(staff: Client) -> None:
    profile = make_profile(token_factor=1.23, token_samples=7)
    page = html(staff.get(list_url("modelprofile")))
    assert "1.230" in page
    assert staff.post(page_url(profile), FORM).status_code == 302
    profile.refresh_from_db()
    assert (profile.edited, profile.display_name, profile.input_price) == (True, "Renamed", 1.5)
    assert (profile.name, profile.token_factor, profile.context_window) == (MODEL, 1.23, 64_000)


def test_added_profile_belongs_to_the_configured_server(staff: Client) -> None:
    add = reverse("admin:chat_modelprofile_add")
    assert staff.post(add, FORM | {"name": "claude-haiku-4-5"}).status_code == 302
    profile = ModelProfile.objects.get()
    assert profile.base_url == "http://127.0.0.1:9"
    assert profile.token_factor < 1.2
    assert profile.edited


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("context_window", "8000"),
        ("max_output", "64000"),
        ("input_price", "-1"),
        ("input_price", "1e300"),
    ],
)
def test_profile_that_cannot_work_is_refused(staff: Client, field: str, value: str) -> None:
    profile = make_profile()
    page = html(staff.post(page_url(profile), FORM | {field: value}))
    assert "errorlist" in page
    profile.refresh_from_db()
    assert not profile.edited


def test_released_profile_is_no_longer_edited(staff: Client) -> None:
    profile = make_profile(edited=True)
    data = {"action": "release", "_selected_action": profile.pk}
    staff.post(list_url("modelprofile"), data)
    profile.refresh_from_db()
    assert not profile.edited


def test_refresh_needs_permission_and_post(client: Client, staff: Client) -> None:
    url = reverse("admin:chat_modelprofile_refresh")
    assert staff.get(url).status_code == 405
    viewer = Client()
    viewer.force_login(make_user(staff=True, may=["view_modelprofile"]))
    assert viewer.post(url).status_code == 403
    assert url not in html(viewer.get(list_url("modelprofile")))


async def test_refresh_reads_the_servers_list_and_leaves_edited_profiles(
    staff_in_server: AsyncClient, settings: Any
) -> None:
    await in_db(make_profile, "kept", edited=True, context_window=50_000)
    url = reverse("admin:chat_modelprofile_refresh")
    models = [
        ListedModel("kept", window=90_000, efforts=("low",)),
        ListedModel("fresh", window=70_000, max_output=2_000),
    ]
    with DemoServer(models=models) as server:
        settings.ANTHROPIC_BASE_URL = server.base_url
        response = await staff_in_server.post(url)
        await model_server.get_client().close()
    page = await staff_in_server.get(response["Location"])
    assert "The server named 2 models." in page.content.decode()
    fresh = await ModelProfile.objects.aget(name="fresh")
    assert (fresh.context_window, fresh.max_output, fresh.edited) == (70_000, 2_000, False)
    kept = await ModelProfile.objects.aget(name="kept")
    assert (kept.context_window, kept.efforts) == (50_000, ["low"])


async def test_refresh_without_a_server_says_so(staff_in_server: AsyncClient) -> None:
    response = await staff_in_server.post(reverse("admin:chat_modelprofile_refresh"))
    await model_server.get_client().close()
    page = await staff_in_server.get(response["Location"])
    assert "The server gave no model list" in page.content.decode()


# --- Cost -----------------------------------------------------------------------------------------


def queries(client: Client, url: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    return [query["sql"] for query in captured.captured_queries]


def fill(number: int) -> None:
    """As many conversations, each with messages, a turn and a compaction among them."""
    owner = make_user()
    rows = make_conversations(
        owner, number, compressed_context="c" * 5_000, system_prompt="s" * 1_000, next_number=3
    )
    for role, position in (("user", 0), ("assistant", 1)):
        Message.objects.bulk_create(
            Message(
                conversation=row,
                number=position + 1,
                position=position,
                role=role,
                blocks=[{"type": "text", "text": "b" * 2_000}],
                text="b" * 2_000,
                usage={"input_tokens": 100, "output_tokens": 1} if position else None,
            )
            for row in rows
        )
    last = dict(Message.objects.filter(position=1).values_list("conversation", "pk"))
    Turn.objects.bulk_create(
        Turn(
            conversation=row,
            kind="answer",
            status="completed",
            holder="w",
            lease_expires=row.updated_at,
        )
        for row in rows
    )
    made = Compaction.objects.bulk_create(
        Compaction(
            conversation=row,
            first_id=last[row.pk],
            through_id=last[row.pk],
            messages=2,
            trigger="auto",
            model=MODEL,
            status="completed",
            chapters=[{"text": "t" * 3_000, "first": 1, "through": 2, "depth": 1}],
            audit={"a": "a" * 1_000},
            lease_expires=row.updated_at,
        )
        for row in rows
    )
    for row, compaction in zip(rows, made, strict=True):
        row.compaction = compaction
    Conversation.objects.bulk_update(rows, ["compaction"], batch_size=200)


def test_a_long_list_costs_what_a_list_of_two_costs(staff: Client) -> None:
    make_profile()
    models = ("conversation", "message", "compaction", "turn")
    fill(2)
    few = {model: queries(staff, list_url(model)) for model in models}
    fill(300)  # several pages, and more than are shown at once
    for model in models:
        many = queries(staff, list_url(model))
        assert len(many) == len(few[model]) <= (10 if model == "conversation" else 7), model
        for sql in many:
            selected = re.sub(r'(LEFT|SUBSTR)\("chat_message"\."text"', "", sql)
            if any(column in selected for column in (*BIG, '"chat_message"."text"')):
                # Only the meter, and for no more conversations than a page of the list shows.
                assert model == "conversation", sql
                assert 0 < len(re.findall(r"'[0-9a-f]{32}'", sql)) <= 25, sql


def test_conversation_page_costs_the_same_for_many_compactions(staff: Client) -> None:
    conversation = make_conversation(messages=20)
    make_compaction(conversation, through=3)
    queries(staff, page_url(conversation))  # the first page of a process reads the content types
    few = queries(staff, page_url(conversation))
    for through in range(4, 12):
        make_compaction(conversation, through=through)
    many = queries(staff, page_url(conversation))
    assert len(many) == len(few)


# --- What left ------------------------------------------------------------------------------------


def test_what_left_the_summary_is_put_back_by_who_may_change_it(
    staff: Client, client: Client
) -> None:
    written = "## Decisions\n- Roses it is [#1]\n- Tulips too [#2]"
    chapter = Chapter("## Decisions\n- Roses it is [#1]", 1, 3, parts=(WrittenPart(1, 3, written),))
    row = make_compaction(make_conversation(messages=4), chapters=[chapter.as_dict()])
    assert ">Tulips too [#2]</td>" in html(staff.get(page_url(row)))
    (gone,) = list_unsent([chapter])
    where = reverse("admin:chat_compaction_put_back", args=[row.pk])
    reader = Client()
    reader.force_login(make_user(staff=True, may=["view_compaction"]))
    assert "Put back" not in html(reader.get(page_url(row)))
    assert reader.post(where, {"key": gone.key}).status_code == 403
    assert staff.get(where).status_code == 405
    page = html(staff.post(where, {"key": gone.key}, follow=True))
    assert "The statement is in the summary again." in page
    row.conversation.refresh_from_db()
    assert "- Tulips too [#2]" in row.conversation.compressed_context
    assert "Only the current summary" in html(staff.post(where, {"key": gone.key}, follow=True))
