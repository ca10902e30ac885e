"""What people do with summaries, through the page's URLs: look first, edit, revert, set."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import AsyncClient, Client, override_settings
from django.urls import reverse
from pytest_django.asserts import assertInHTML

from accounts.models import User
from agent.compaction.chapters.chapter import Chapter, WrittenPart
from agent.compaction.chapters.rendering import render_summary
from agent.compaction.chapters.unsent import list_unsent
from agent.compaction.instructions.pins import Pin, PinState
from agent.search.exact_values import IndexEntry
from chat.db.threads import in_db
from chat.engine.model_server import get_counter
from chat.engine.state import load_state
from chat.html.compaction_words import explain_compaction
from chat.html.divider import render_divider
from chat.html.figures import format_tokens
from chat.live.runner import Runner
from chat.models import Compaction, Conversation
from chat.protocol import from_rows
from chat.queries.preview import preview_compactions
from chat.queries.summary_versions import read_chapters
from chat.services.summary import leaving_out, summaries
from tests.chat.factories import (
    add_messages,
    make_compaction,
    make_conversation,
    make_profile,
    make_turn,
    make_user,
)
from tests.chat.listening import Listener

Listen = Callable[[Conversation], Listener]

SUMMARY = "## Overview\n- The photos go to disk A [#1 #2]"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def talk(user: User) -> Conversation:
    """Ten messages of a user who is signed in with `browser`."""
    return make_conversation(owner=user, messages=["Put the photos on disk A."] + ["Done."] * 9)


@pytest.fixture
def browser(client: Client, user: User) -> Client:
    client.force_login(user)
    return client


def url(name: str, talk: Conversation, *version: Compaction) -> str:
    return reverse(name, args=[talk.pk, *(row.pk for row in version)])


def words(response: HttpResponse, status: int = 200) -> str:
    assert response.status_code == status, response
    return " ".join(response.content.decode().split())


def event(response: HttpResponse) -> Any:
    assert response.status_code == 204, response.content
    return json.loads(response["HX-Trigger"])


# --- Whose ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("compact_preview", "summary", "summary_edit", "summary_instructions", "summary_revert"),
        *("summary_left", "summary_sources"),
    ],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_stranger_finds_nothing(
    client: Client, talk: Conversation, name: str, method: str
) -> None:
    version = make_compaction(talk)
    where = url(name, talk, *([version] if name.startswith("summary_") else []))
    assert getattr(client, method)(where).status_code == 302, "signed out"
    client.force_login(make_user("eve", admin=True))
    assert getattr(client, method)(where, {"text": "Mine."}).status_code in (404, 405)
    talk.refresh_from_db()
    assert talk.compaction == version


@pytest.mark.parametrize(
    "name",
    ["summary_edit", "summary_instructions", "summary_left", "summary_revert", "summary_sources"],
)
def test_a_version_of_another_conversation_is_not_found(
    browser: Client, user: User, talk: Conversation, name: str
) -> None:
    elsewhere = make_compaction(make_conversation(owner=make_user("eve"), messages=6))
    for method in (browser.get, browser.post):
        answer = method(url(name, talk, elsewhere), {"text": "Mine."})
        assert answer.status_code in (404, 405)
    elsewhere.conversation.refresh_from_db()
    assert elsewhere.conversation.compaction == elsewhere


# --- Preview --------------------------------------------------------------------------------------


def test_the_preview_says_what_compacting_would_do(browser: Client, user: User) -> None:
    talk = make_conversation(owner=user, messages=["x" * 4_000] * 60)
    shown = words(browser.get(url("compact_preview", talk)))
    for preview in preview_compactions(talk):
        assert f'value="{preview.extent}"' in shown
        assert f'href="#message-{preview.first}"' in shown
        assert f'href="#message-{preview.through}"' in shown
        assert f"{preview.messages} in all" in shown
        assert f"Keeps the first message and the newest {preview.kept} messages" in shown
        sizes = map(format_tokens, (preview.tokens_before, preview.tokens_after))
        assert f"≈ {' → '.join(sizes)} tokens" in shown
    assert "The older messages are read as text, at the full price." in shown
    assert "≈ $0." in shown
    assert 'name="focus"' in shown


def test_where_both_ways_are_the_same_there_is_nothing_to_choose(
    browser: Client, user: User
) -> None:
    talk = make_conversation(owner=user, messages=4)
    shown = words(browser.get(url("compact_preview", talk)))
    assert "<dd>the first message and the newest 2 messages</dd>" in shown
    assert 'name="extent"' not in shown


def test_a_model_without_prices_is_not_free_but_unknown(browser: Client, user: User) -> None:
    """Until an administrator has said that it costs nothing."""
    kinds = ("input", "output", "cache_read", "cache_write")
    free = {f"{kind}_price": 0 for kind in kinds}
    profile = make_profile(**free, context_window=24_000)
    talk = make_conversation(owner=user, messages=["x" * 4_000] * 10)
    assert "<dd>unknown</dd>" in words(browser.get(url("compact_preview", talk)))
    assert "<dt>Cost so far</dt><dd>unknown</dd>" in words(browser.get(url("usage", talk)))
    assert "(small window)" in words(browser.get(url("conversation", talk)))
    profile.edited = True
    profile.save()
    assert "<dd>≈ $0</dd>" in words(browser.get(url("compact_preview", talk)))


def test_the_preview_tells_of_a_warm_cache(browser: Client, user: User) -> None:
    talk = make_conversation(owner=user, messages=["x" * 4_000] * 60)
    add_messages(talk, ["Now?"])
    add_messages(talk, ["Yes."], usage={"input_tokens": 70_000, "output_tokens": 10})
    assert "cache is warm" in words(browser.get(url("compact_preview", talk)))


def test_a_preview_of_too_little_says_so(browser: Client, user: User) -> None:
    talk = make_conversation(owner=user, messages=2)
    shown = words(browser.get(url("compact_preview", talk)))
    assert "There is nothing to compact yet" in shown
    assert "compact-form" not in shown


# --- Edit -----------------------------------------------------------------------------------------


def test_the_editor_has_the_chapters_without_pins_and_index(
    browser: Client, talk: Conversation
) -> None:
    version = make_compaction(talk, SUMMARY)
    shown = words(browser.get(url("summary_edit", talk, version)))
    assert "The photos go to disk A [#1 #2]</textarea>" in shown
    assert "messages #1 to #8" in shown


def test_a_clean_edit_closes_the_dialog_and_replaces_the_divider(
    browser: Client, talk: Conversation, listen: Listen
) -> None:
    version = make_compaction(talk, SUMMARY)
    heard = listen(talk)
    text = "## Overview\r\n- Photos stay on the disk [#1]"
    assert "summary-saved" in event(
        browser.post(url("summary_edit", talk, version), {"text": text})
    )
    talk.refresh_from_db()
    assert talk.compaction is not None
    assert talk.compaction.origin == Compaction.Origin.EDIT
    assert "Photos stay on the disk" in (talk.compressed_context or "")
    (told,) = heard.events("summary.changed")
    assert told["id"] == talk.compaction.pk
    assert told["after_message_id"] == version.through_id
    assert "edited by you" in told["html"]
    assert f"/summary/{talk.compaction.pk}/edit/" in told["html"]


def test_what_the_messages_do_not_bear_out_is_saved_and_told(
    browser: Client, talk: Conversation
) -> None:
    version = make_compaction(talk, SUMMARY)
    text = "## Overview\n- It is 731 GB on db-9.example.org [#1]\n- Cats love night walks [#2]"
    shown = words(browser.post(url("summary_edit", talk, version), {"text": text}))
    assert "In 1 statement there is" in shown
    assert "<li>It is 731 GB on db-9.example.org [#1]</li>" in shown
    assert "1 statement is unverified" in shown
    assert "<li>Cats love night walks [#2]</li>" in shown
    talk.refresh_from_db()
    assert "731 GB" in (talk.compressed_context or ""), "reported, not stripped"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "A summary cannot be empty"),
        (" \n ", "A summary cannot be empty"),
        ("x" * 100_001, "at most 100000 characters"),
    ],
)
def test_an_impossible_text_is_refused_and_kept(
    browser: Client, talk: Conversation, text: str, said: str
) -> None:
    version = make_compaction(talk, SUMMARY)
    shown = words(browser.post(url("summary_edit", talk, version), {"text": text}), 422)
    assert said in shown
    talk.refresh_from_db()
    assert talk.compaction == version


def test_only_the_current_version_is_edited_and_not_while_an_answer_runs(
    browser: Client, talk: Conversation
) -> None:
    old = make_compaction(talk, SUMMARY, through=4)
    current = make_compaction(talk, SUMMARY, through=8)
    shown = words(browser.post(url("summary_edit", talk, old), {"text": "- Mine, long typed"}), 422)
    assert "another summary counts by now" in shown
    assert "- Mine, long typed</textarea>" in shown
    shown = words(browser.post(url("summary_revert", talk, old)), 422)
    assert "Only the current summary can be changed." in shown
    make_turn(talk)
    for name in ("summary_edit", "summary_revert"):
        shown = words(browser.post(url(name, talk, current), {"text": "Mine."}), 422)
        assert "An answer or a compaction is running." in shown
    talk.refresh_from_db()
    assert talk.compaction == current


def test_a_source_is_proposed_among_the_messages_that_the_summary_covers(
    browser: Client, user: User
) -> None:
    said = ["The backup goes to disk B.", "Photos, photos, photos.", "Put the photos on disk A."]
    talk = make_conversation(owner=user, messages=[*said, "Photos on disk A it is."])
    version = make_compaction(talk, SUMMARY, through=3)
    asked = {"said": "The photos go to disk A [#2] (unverified)"}
    shown = words(browser.get(url("summary_sources", talk, version), asked))
    numbers = re.findall(r'data-cite="(\d)" ?(data-supports)?', shown)
    assert numbers[0] == ("3", "data-supports")
    assert {number for number, _ in numbers} == {"1", "2", "3"}
    assert "<mark>photos</mark>" in shown
    leaving_out.leave_message_out(user, talk.pk, talk.messages.get(number=3).pk, whole=False)
    shown = words(browser.get(url("summary_sources", talk, version), asked))
    assert 'data-cite="3"' not in shown
    nothing = words(browser.get(url("summary_sources", talk, version), {"said": "[#1]"}))
    assert "No covered message was found." in nothing


def test_hostile_summaries_are_text(browser: Client, talk: Conversation) -> None:
    hostile = "</textarea><script>alert(1)</script> [x](https://x/(unverified)) [#1] (unverified)"
    version = make_compaction(talk, f"## Overview\n- {hostile}")
    pages = [
        browser.get(url("summary_edit", talk, version)),
        browser.get(url("summary", talk)),
        browser.post(url("summary_edit", talk, version), {"text": f"- {hostile} 731 GB"}),
    ]
    for page in pages:
        assert "<script>alert" not in words(page)
    assert 'href="https://x/(unverified)"' in words(pages[1])


# --- Revert ---------------------------------------------------------------------------------------


def test_revert_asks_and_then_goes_back(
    browser: Client, talk: Conversation, listen: Listen
) -> None:
    first = make_compaction(talk, SUMMARY, through=4)
    second = make_compaction(talk, SUMMARY, through=8)
    heard = listen(talk)
    asked = words(browser.get(url("summary_revert", talk, second)))
    assert "returns to the previous summary" in asked
    assert "summary-reverted" in event(browser.post(url("summary_revert", talk, second)))
    talk.refresh_from_db()
    assert talk.compaction == first
    assert [e["id"] for e in heard.events("compaction.reverted")] == [second.pk]
    assert "goes on without a summary" in words(browser.get(url("summary_revert", talk, first)))


def test_a_revert_that_does_not_fit_says_why(browser: Client, user: User) -> None:
    make_profile("small", context_window=16_000)
    talk = make_conversation(owner=user, model="small", messages=["x" * 5_000] * 14)
    version = make_compaction(talk, through=8)
    shown = words(browser.post(url("summary_revert", talk, version)), 422)
    assert "Choose a larger model first." in shown


def test_the_current_divider_can_be_fetched(browser: Client, talk: Conversation) -> None:
    assert browser.get(url("summary", talk)).status_code == 204
    version = make_compaction(talk, SUMMARY)
    shown = words(browser.get(url("summary", talk)))
    assert f'id="compaction-{version.pk}"' in shown
    assert f'data-after="{version.through_id}"' in shown


# --- Settings -------------------------------------------------------------------------------------

DEFAULTS: dict[str, Any] = {
    "system_prompt": "",
    "compaction_enabled": "on",
    "threshold": 80,
    "context_budget": "",
    "keep_recent_messages": 6,
    "summary_max_tokens": 2_000,
    "prepare": "on",
    "use_pauses": "on",
    "keep_first_message": "on",
}


def save(browser: Client, talk: Conversation, **values: Any) -> HttpResponse:
    data = {k: v for k, v in (DEFAULTS | values).items() if v is not None}
    return browser.post(url("conversation_settings", talk), data)


def test_settings_as_the_site_has_them_store_nothing(browser: Client, talk: Conversation) -> None:
    assert event(save(browser, talk))["settings-saved"] == {"automatic": True}
    talk.refresh_from_db()
    assert talk.compaction_settings == {}
    with override_settings(COMPACTION={"enabled": True, "threshold_ratio": 0.7}):
        assert load_state(talk.pk).policy.threshold_ratio == 0.7, "a new default reaches it"


def test_settings_store_what_differs(browser: Client, talk: Conversation) -> None:
    event(
        save(
            browser,
            talk,
            threshold=65,
            context_budget="75000",
            keep_recent_messages=12,
            summary_max_tokens=500,
            short_summary="on",
            prepare=None,
            use_pauses=None,
            keep_first_message=None,
        )
    )
    talk.refresh_from_db()
    assert talk.compaction_settings == {
        "threshold_ratio": 0.65,
        "keep_recent_messages": 12,
        "summary_max_tokens": 500,
        "summary_form": "short",
        "prepare_ratio": 0,
        "idle_ratio": 0,
    }
    assert (talk.context_budget, talk.keep_first_message) == (75_000, False)
    policy = load_state(talk.pk).policy
    assert (policy.threshold_ratio, policy.prepare_ratio) == (0.65, 0)
    assert policy.is_short
    event(save(browser, talk, prepare="on"))
    talk.refresh_from_db()
    assert talk.compaction_settings == {}, "all as the site has it again"
    assert talk.context_budget is None


def test_what_the_form_does_not_show_and_what_it_rounds_stays(
    browser: Client, talk: Conversation
) -> None:
    chosen = {"threshold_ratio": 0.777, "prepare_ratio": 0.6, "threshold_tokens": 9_000}
    Conversation.objects.filter(pk=talk.pk).update(compaction_settings=chosen)
    event(save(browser, talk, threshold=78, system_prompt="Be brief."))
    talk.refresh_from_db()
    assert talk.compaction_settings == chosen
    assert talk.system_prompt == "Be brief."


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 49},
        {"threshold": 96},
        {"threshold": ""},
        {"threshold": "nan"},
        {"keep_recent_messages": 1},
        {"keep_recent_messages": 51},
        {"summary_max_tokens": 3},
        {"context_budget": "12"},
    ],
)
def test_settings_out_of_range_are_refused(
    browser: Client, talk: Conversation, wrong: dict[str, Any]
) -> None:
    shown = words(save(browser, talk, system_prompt="Changed.", **wrong), 422)
    assert "field-error" in shown
    talk.refresh_from_db()
    assert (talk.compaction_settings, talk.system_prompt) == ({}, "")


def test_the_page_says_when_compaction_is_off(browser: Client, talk: Conversation) -> None:
    page = words(browser.get(talk.get_absolute_url()))
    assert 'id="compaction-off" class="quiet" hidden' in page
    assert event(save(browser, talk, compaction_enabled=None))["settings-saved"] == {
        "automatic": False
    }
    page = words(browser.get(talk.get_absolute_url()))
    assert 'id="compaction-off" class="quiet" > Automatic compaction is off' in page
    with override_settings(COMPACTION={"enabled": False}):
        assert "for this whole site" in words(browser.get(url("conversation_settings", talk)))


# --- Another model --------------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The turns that a view hands to the runner, which starts none of them."""
    seen: list[tuple[int, int]] = []

    def start(self: Runner, begun: summaries.CompactionTurn) -> None:
        assert asyncio.get_running_loop()
        seen.append((begun.turn.pk, begun.compaction_id))

    monkeypatch.setattr(Runner, "start", start)
    return seen


async def switch(talk: Conversation, model: str) -> HttpResponse:
    client = AsyncClient()
    await client.aforce_login(talk.owner)
    return await client.post(url("conversation_model", talk), {"model": model})


async def test_a_model_that_is_too_small_lets_the_old_one_compact(
    user: User, started: list[Any]
) -> None:
    await in_db(make_profile, "small", context_window=16_000)
    talk = await in_db(make_conversation, owner=user, messages=["x" * 5_000] * 20)
    assert (await switch(talk, "small")).status_code == 204
    compaction = await Compaction.objects.select_related("turn").aget()
    assert compaction.trigger == Compaction.Trigger.MODEL_SWITCH
    assert compaction.model == talk.model, "the old one"
    assert started == [(compaction.turn_id, compaction.pk)]
    await talk.arefresh_from_db()
    assert talk.model == "small"


async def test_a_model_that_fits_compacts_nothing(user: User, started: list[Any]) -> None:
    await in_db(make_profile, "large", context_window=1_000_000)
    talk = await in_db(make_conversation, owner=user, messages=4)
    assert (await switch(talk, "large")).status_code == 204
    assert not await Compaction.objects.aexists()
    assert started == []
    assert (await switch(talk, "unknown")).status_code == 422
    await in_db(make_turn, talk)
    assert (await switch(talk, "test-model")).status_code == 409
    await talk.arefresh_from_db()
    assert talk.model == "large"


async def test_only_the_owner_has_a_summary_by_rule_written_by_the_model(
    user: User, started: list[Any]
) -> None:
    talk = await in_db(make_conversation, owner=user, messages=10)
    audit = failed("serialised") | {"unread_messages": 8}
    version = await in_db(make_compaction, talk, SUMMARY, method="extract", audit=audit)
    html = await in_db(render_divider, version)
    path = url("summary_again", talk, version)
    assert f'data-action="summary-again" data-url="{path}"' in " ".join(html.split())
    client = AsyncClient()
    await client.aforce_login(await in_db(make_user))
    assert (await client.post(path)).status_code == 404
    await client.aforce_login(user)
    assert (await client.post(path)).status_code == 204
    compaction = await Compaction.objects.alatest("pk")
    assert compaction.origin == Compaction.Origin.REWRITE
    assert started == [(compaction.turn_id, compaction.pk)]
    assert (await client.post(path)).status_code == 409, "it is being written"


# --- The divider ----------------------------------------------------------------------------------


def divider(talk: Conversation, summary: str = SUMMARY, **values: Any) -> str:
    version = make_compaction(talk, SUMMARY, **values)
    version.summary = summary
    return " ".join(render_divider(version).split())


def failed(step: str) -> dict[str, Any]:
    return {"failures": [{"step": step, "cause": "…", "code": "timeout", "said": ""}]}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"trigger": "prepared"}, "· prepared in the background<"),
        ({"trigger": "messages"}, "· after many messages<"),
        ({"trigger": "idle"}, "· prepared during a pause<"),
        ({"trigger": "overflow"}, "· the model’s window was full<"),
        ({"trigger": "model_switch"}, "· to fit the other model<"),
        ({"origin": "edit", "method": "edited"}, "· edited by you<"),
        (
            {"method": "extract", "audit": failed("chunks")},
            "The summary was written by rule because",
        ),
    ],
)
def test_the_divider_and_the_event_tell_how_it_was_made(
    talk: Conversation, values: dict[str, Any], said: str
) -> None:
    html = divider(talk, **values)
    assert said in html
    version = Compaction.objects.get()
    told = from_rows.compression_completed(version)
    assert (told.trigger, told.engine) == (version.occasion, version.method)
    assert told.note == ("" if said.startswith("·") else explain_compaction(version))
    assert ("divider-note" in html) == bool(told.note)


def test_pins_and_values_are_shown_as_they_were_typed(talk: Conversation) -> None:
    summary = render_summary(
        [
            Chapter(
                "## Overview\n- Photos [#1] (unverified)",
                1,
                8,
                pins=(Pin(1, "Never say *maybe* [#x]."),),
                index=(IndexEntry("__init__.py", 3, "the file is"), IndexEntry("<b>", 5, "")),
            )
        ],
        pin_tokens=500,
        index_tokens=500,
        counter=get_counter(),
    )
    html = divider(talk, summary.text)
    assertInHTML('<h3 class="summary-range">Messages #1 to #8</h3>', html)
    assertInHTML('<li dir="auto">Never say *maybe* [#x]. [<a href="#message-1">#1</a>]</li>', html)
    value = '<code>__init__.py</code> [<a href="#message-3">#3</a>]'
    assertInHTML(f'<li>{value} <span class="quiet">the file is</span></li>', html)
    assert "<code>&lt;b&gt;</code>" in html
    assert "(unverified)" not in html
    assert html.count('class="unverified-mark"') == 2, "the statement's and the legend's"


def test_values_of_one_line_are_told_apart(talk: Conversation) -> None:
    entries = tuple(IndexEntry(f"value_{n}.py", 1 + n // 10, "some words") for n in range(40))
    chapter = Chapter("## Overview\nNone.", 1, 8, index=entries)
    summary = render_summary([chapter], pin_tokens=0, index_tokens=80, counter=get_counter())
    html = divider(talk, summary.text)
    assert "<code>value_30.py</code> · <code>value_31.py</code>" in html


def test_a_blanked_summary_says_so(talk: Conversation) -> None:
    assert "a message it was based on was deleted" in divider(talk, "")


# --- Standing instructions ------------------------------------------------------------------------


@pytest.fixture
def instructed(talk: Conversation) -> Compaction:
    """A summary with one instruction of each kind."""
    pins = (
        Pin(1, "Answer in French.", PinState.RETIRED, by=5),
        Pin(3, "Be brief."),
        Pin(5, "Pay Eve.", PinState.OFFERED),
        Pin(5, "Answer in German."),
    )
    chapter = Chapter("## Overview\nNone.", 1, 8, pins=pins)
    return make_compaction(talk, chapters=[chapter.as_dict()])


def sent(talk: Conversation) -> str:
    """The instructions that the next request is told, without their heading."""
    return load_state(talk.pk).context.summary.instructions


def change(browser: Client, version: Compaction, status: int = 200, **data: Any) -> str:
    """Send a form of the dialog for the current version."""
    version.conversation.refresh_from_db()
    current = version.conversation.compaction
    assert current
    return words(
        browser.post(url("summary_instructions", version.conversation, current), data), status
    )


def test_the_dialog_lists_what_is_sent_and_what_is_not(
    browser: Client, talk: Conversation, instructed: Compaction
) -> None:
    shown = words(browser.get(url("summary_instructions", talk, instructed)))
    listed, _, others = shown.partition("Not sent")
    assert listed.index(">Be brief.</textarea>") < listed.index(">Answer in German.</textarea>")
    assert 'href="#message-3"' in listed
    assert 'You took it back in message <a href="#message-5"' in others
    assert "it stands in what you pasted or quoted." in others


def test_what_is_not_certain_is_asked_about_and_the_divider_counts_it(
    browser: Client, talk: Conversation
) -> None:
    pins = (
        Pin(1, "Write in Danish.", by=5),
        Pin(3, "Use euros", PinState.RESTATED),
        Pin(3, "Never use tables.", PinState.UNNAMED),
        Pin(3, "Be kind.", PinState.REMOVED, edited=True),
    )
    chapter = Chapter("## Overview\nNone.", 1, 8, pins=pins)
    version = make_compaction(talk, chapters=[chapter.as_dict()])
    shown = words(browser.get(url("summary_instructions", talk, version)))
    listed, _, others = shown.partition("To decide")
    assert "Not sent, unless you keep it." in others
    others, _, removed = others.partition("Not sent<")
    assert "Be kind." in removed
    assert 'You may have taken it back in message <a href="#message-5"' in listed
    assert "The summary names it in words that you did not type." in others
    assert "You typed it, but the summary does not name it." in others
    assert others.count(' name="remove" ') == 2
    assert "Instructions · 3 to decide" in " ".join(render_divider(version).split())
    kept = change(browser, version, keep="1", pin="0")
    assert "You may have taken it back" not in kept
    change(browser, version, remove="1", pin="1")
    change(browser, version, keep="1", pin="2")
    talk.refresh_from_db()
    assert talk.compaction
    assert "to decide" not in render_divider(talk.compaction)
    assert sent(talk) == "- Write in Danish. [#1]\n- Never use tables. [#3]"


def test_a_keyboard_goes_on_with_the_next_one(browser: Client, talk: Conversation) -> None:
    pins = tuple(Pin(number, f"Use glue {number}.", PinState.UNNAMED) for number in (1, 3, 5))
    chapter = Chapter("## Overview\nNone.", 1, 8, pins=(*pins, Pin(7, "Be brief.")))
    version = make_compaction(talk, chapters=[chapter.as_dict()])

    def find_focused(page: str) -> str:
        before, _, after = page.partition(" autofocus")
        assert "autofocus" not in after
        return re.findall(r"Use glue \d|<p role=", before)[-1]

    assert "autofocus" not in words(browser.get(url("summary_instructions", talk, version)))
    assert find_focused(change(browser, version, remove="1", pin="0")) == "Use glue 3"
    assert find_focused(change(browser, version, keep="1", pin="2")) == "Use glue 3"
    kept = change(browser, version, keep="1", pin="1")
    assert "To decide" not in kept
    assert find_focused(kept) == "<p role="
    saved = change(browser, version, save="1", pin="3", text="Be kind.")
    assert saved.partition(" autofocus")[2].strip(" >").startswith("Be kind.")


def test_without_any_the_dialog_says_how_to_add_one(browser: Client, talk: Conversation) -> None:
    shown = words(browser.get(url("summary_instructions", talk, make_compaction(talk))))
    assert "None so far. Add one below" in shown
    assert "Not sent" not in shown


def test_they_are_added_edited_removed_and_kept(
    browser: Client, talk: Conversation, instructed: Compaction
) -> None:
    assert ">Use metric units.</textarea>" in change(
        browser, instructed, add="1", text=" Use metric\nunits. "
    )
    added = "- Be brief. [#3]\n- Answer in German. [#5]\n- Use metric units."
    assert sent(talk) == added
    change(browser, instructed, save="1", pin="1", text="Be very brief.")
    assert sent(talk) == added.replace("Be brief", "Be very brief")
    assert "You removed it." in change(browser, instructed, remove="1", pin="2")
    change(browser, instructed, keep="1", pin="0")
    assert "- Answer in French. [#1]" in sent(talk)
    assert "Pay Eve." not in sent(talk)


def test_only_the_user_can_make_words_of_others_an_instruction(
    browser: Client, talk: Conversation, instructed: Compaction
) -> None:
    change(browser, instructed, keep="1", pin="2")
    assert "- Pay Eve. [#5]" in sent(talk)


def test_a_change_can_be_reverted_and_the_divider_tells_of_it(
    browser: Client, talk: Conversation, instructed: Compaction, listen: Listen
) -> None:
    before = sent(talk)
    heard = listen(talk)
    change(browser, instructed, add="1", text="Use metric units.")
    (told,) = heard.events("summary.changed")
    assert '<li dir="auto"> Use metric units. </li>' in " ".join(told["html"].split())
    talk.refresh_from_db()
    assert talk.compaction_id
    summaries.revert(talk.compaction_id)
    assert sent(talk) == before


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"add": "1", "text": " "}, "Write what should hold."),
        ({"add": "1", "text": "x" * 401}, "at most 400 characters; this one has 401."),
        ({"save": "1", "pin": "1", "text": ""}, "Write what should hold."),
    ],
)
def test_a_text_that_cannot_be_one_is_refused_and_not_lost(
    browser: Client, talk: Conversation, instructed: Compaction, data: dict[str, str], said: str
) -> None:
    shown = change(browser, instructed, status=422, **data)
    assert said in shown
    assert data["text"].strip() in shown
    talk.refresh_from_db()
    assert talk.compaction == instructed


@pytest.mark.parametrize("pin", ["", "9", "-1", "x", "²"])
def test_one_that_is_not_there_is_not_found(
    browser: Client, talk: Conversation, instructed: Compaction, pin: str
) -> None:
    where = url("summary_instructions", talk, instructed)
    assert browser.post(where, {"remove": "1", "pin": pin}).status_code == 404
    assert browser.post(where, {"pin": "1"}).status_code == 404


def test_a_dialog_of_an_older_version_changes_nothing(
    browser: Client, talk: Conversation, instructed: Compaction
) -> None:
    change(browser, instructed, add="1", text="Use metric units.")
    before = sent(talk)
    response = browser.post(
        url("summary_instructions", talk, instructed), {"remove": "1", "pin": "1"}
    )
    assert "Only the current summary can be changed." in words(response, 422)
    assert sent(talk) == before


def test_while_an_answer_runs_none_is_changed(
    browser: Client, talk: Conversation, instructed: Compaction
) -> None:
    make_turn(talk)
    shown = change(browser, instructed, status=422, remove="1", pin="1")
    assert "Try again when it is done." in shown


def test_those_without_room_are_counted_in_the_dialog_and_the_divider(
    browser: Client, talk: Conversation
) -> None:
    pins = tuple(
        Pin(1, f"Rule number {number} holds always and everywhere.") for number in range(200)
    )
    version = make_compaction(
        talk, chapters=[Chapter("## Overview\nNone.", 1, 8, pins=pins).as_dict()]
    )
    shown = change(browser, version, add="1", text="Be brief.")
    talk.refresh_from_db()
    lines = sent(talk).splitlines()
    missing = 201 - (len(lines) - 1)
    assert f"The {missing} earliest ones are not sent" in shown
    assert talk.compaction
    html = " ".join(render_divider(talk.compaction).split())
    assert f"{missing} earlier ones are not sent: there is no room for them." in html


# --- What left ------------------------------------------------------------------------------------


@pytest.fixture
def shortened(talk: Conversation) -> Compaction:
    """A summary of which two statements left."""
    written = "## Decisions\n- Roses it is [#1]\n- Tulips <b>too</b> [#2]\n\n## Overview\nA bed."
    parts = (WrittenPart(1, 8, written),)
    chapter = Chapter("## Decisions\n- Roses it is [#1]", 1, 8, parts=parts)
    return make_compaction(talk, chapters=[chapter.as_dict()])


def test_what_left_the_summary_is_listed_and_put_back_by_a_click(
    browser: Client, talk: Conversation, shortened: Compaction
) -> None:
    assert "Left the summary (2)" in render_divider(shortened)
    where = url("summary_left", talk, shortened)
    shown = words(browser.get(where))
    assert "Left the summary (2)" in shown
    assert "Tulips &lt;b&gt;too&lt;/b&gt; [<a " in shown
    assert 'data-action="close-dialog" href="#message-2"' in shown
    gone = list_unsent(read_chapters(shortened))[0]
    after = words(browser.post(where, {"key": gone.key}))
    assert "Left the summary (1)" in after
    assert after.count(" autofocus") == 1
    assert 'role="status"' in after
    talk.refresh_from_db()
    assert talk.compaction
    assert talk.compaction.origin == "edit"
    assert "Tulips <b>too</b> [#2]" in load_state(talk.pk).context.summary.text
    assert read_chapters(talk.compaction)[0].own == (gone.statement.text,)
    assert "Only the current summary" in words(browser.post(where, {"key": gone.key}), 422)
    again = words(browser.post(url("summary_left", talk, talk.compaction), {"key": gone.key}), 422)
    assert "not in the list any more" in again
    summaries.revert(talk.compaction.pk)
    assert "Tulips" not in load_state(talk.pk).context.summary.text


def test_nothing_is_put_back_while_something_runs(
    browser: Client, talk: Conversation, shortened: Compaction
) -> None:
    make_turn(talk)
    gone = list_unsent(read_chapters(shortened))[0]
    refused = words(browser.post(url("summary_left", talk, shortened), {"key": gone.key}), 422)
    assert "An answer or a compaction is running." in refused
    talk.refresh_from_db()
    assert talk.compaction == shortened


def test_of_many_that_left_only_those_of_one_range_are_shown(
    browser: Client, talk: Conversation
) -> None:
    parts = tuple(
        WrittenPart(
            first, first + 1, "\n".join(f"- Bulb {first}-{n} [#{first}]" for n in range(30))
        )
        for first in (1, 3)
    )
    version = make_compaction(talk, chapters=[Chapter("- A [#1]", 1, 4, parts=parts).as_dict()])
    where = url("summary_left", talk, version)
    assert "autofocus" not in words(browser.get(where))
    assert words(browser.get(where, {"of": "1"})).count(" autofocus") == 1
    shown = words(browser.get(where))
    assert "Messages #1 to #2 (30)" in shown
    assert "Bulb" not in shown
    assert words(browser.get(where, {"of": "3"})).count("<li>") == 30
