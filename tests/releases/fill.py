"""Data of every kind in an empty database: what sites of this release may have.

By the services and by real answers of a scripted model where that is how it comes about, by rows
elsewhere. `check_is_complete` says what is missing.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from allauth.account.models import EmailAddress, EmailConfirmation
from django.apps import apps
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import models
from django.utils import timezone

from accounts.models import SetupLink, User
from accounts.services import hash_token
from agent.compaction.policy import Origin, Trigger
from agent.messages import Usage
from chat.models import (
    CallEnd,
    Compaction,
    Conversation,
    McpServer,
    Memory,
    Message,
    ModelProfile,
    Project,
    SearchEntry,
    Turn,
)
from chat.models.notices import Notice
from chat.services.library import attachments, memories, projects
from chat.services.site import mcp_servers
from chat.services.summary import leaving_out, summaries
from chat.services.turns import branches
from tests.chat.factories import (
    HOLDER,
    MODEL,
    PASSWORD,
    add_messages,
    make_compaction,
    make_conversation,
    make_profile,
    make_provider,
    make_turn,
)
from tests.support.office import document, paragraph
from tests.support.pictures import picture

OURS = ("accounts", "chat")
KEY = "a-key-that-no-server-knows"  # of the provider
FIRST_DAY = datetime(2026, 11, 20, 9, tzinfo=UTC)
VERSIONS = 4  # of one summary: each repeats the chapters of those before
SUMMARY = "## Overview\n\n- They talked of {0} and of {1} [#{0} #{1}]"
FILES = {
    "photo.png": picture((8, 8)),
    "paper.pdf": b"%PDF-1.7\n...\n%%EOF\n",
    "notes.txt": "Grüße vom Fjord".encode("cp1252"),
    "plan.docx": document(paragraph("Buy tea on Friday.")),
}
SEARCHED = [
    {"type": "thinking", "thinking": "I look it up.", "signature": "c2lnbmF0dXJl"},
    {"type": "redacted_thinking", "data": "aGlkZGVu"},
    {"type": "text", "text": "I look it up."},
    {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "tides of Bergen"},
    },
    {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [
            {
                "type": "web_search_result",
                "url": "https://example.org/tides",
                "title": "Tides",
                "encrypted_content": "ZW5jcnlwdGVk",
                "page_age": None,
            }
        ],
    },
    {
        "type": "text",
        "text": "High water is at noon.",
        "citations": [
            {
                "type": "web_search_result_location",
                "url": "https://example.org/tides",
                "title": "Tides",
                "encrypted_index": "aW5kZXg=",
                "cited_text": "High water: 12:04",
            }
        ],
    },
]


def fill() -> User:
    """Everything but what needs a running site; the administrator, who owns it."""
    give_fixed_ids()
    ada = add_people()
    add_models()
    project = add_project(ada)
    add_conversations(ada, project)
    add_files(ada)
    add_searched_answer(ada)
    add_turns(ada)
    add_compactions(ada)
    add_summary_with_gaps(ada)
    return ada


def give_fixed_ids() -> None:
    """Instead of random ones, so that two dumps can be compared."""
    numbers = count(1)
    for model in apps.get_models():
        if isinstance(key := model._meta.pk, models.UUIDField):
            key.__dict__["_get_default"] = lambda: UUID(int=next(numbers), version=4)


def add_people() -> User:
    """An administrator and somebody in a group, with all that Django and allauth keep of them."""
    password = make_password(PASSWORD, salt="released")
    ada = User.objects.create(
        username="ada",
        password=password,
        first_name="Ada",
        last_name="Lovelace",
        email="ada@example.org",
        is_staff=True,
        is_superuser=True,
        last_login=timezone.now(),
    )
    ben = User.objects.create(username="ben", password=password, is_active=False)
    group = Group.objects.create(name="Support")
    may_see = Permission.objects.get(codename="view_conversation")
    group.permissions.add(may_see)
    ben.groups.add(group)
    ben.user_permissions.add(may_see)
    SetupLink.objects.create(token_hash=hash_token("used"), created_at=timezone.now())
    address = EmailAddress.objects.create(user=ada, email=ada.email, verified=True, primary=True)
    EmailConfirmation.objects.create(email_address=address, key="confirmation", sent=timezone.now())
    Session.objects.create(
        session_key="session0of0a0release0000000000ab",
        session_data=SessionStore().encode({"_auth_user_id": str(ada.pk)}),
        expire_date=datetime(2036, 1, 1, tzinfo=UTC),
    )
    LogEntry.objects.create(
        user=ada,
        content_type=ContentType.objects.get_for_model(User),
        object_id=str(ben.pk),
        object_repr="ben",
        action_flag=ADDITION,
        change_message='[{"added": {}}]',
    )
    return ada


def add_models() -> None:
    make_profile(
        edited=True,
        tools=True,
        show_thinking=True,
        web_tools=True,
        temperature=True,
        efforts=["low", "high"],
        thinking_types=["adaptive", "disabled"],
        token_samples=3,
    )
    provider = make_provider("other", "https://models.example.org", key=KEY)
    provider.checked_at, provider.error = timezone.now(), "The key is not valid."
    provider.save()
    make_profile("other::small", provider=provider, enabled=False, base_url="")
    tool = {"name": "find", "description": "Finds books.", "input_schema": {"type": "object"}}
    for name in ("library", "archive"):
        server = McpServer.objects.create(
            name=name,
            url=f"https://{name}.example.org/mcp",
            secret_variable="MCP_SECRET_LIBRARY",
            timeout=10,
        )
        mcp_servers.store_listing(server, [tool])
    mcp_servers.mark_down(server, "It does not answer.")


def add_project(ada: User) -> Project:
    project = projects.create_project(ada, "Garden")
    project.instructions, project.model = "Answer briefly.", MODEL
    project.context_budget, project.archived = 100_000, True
    project.save()
    projects.add_file(project, "beds.txt", b"Four beds of tomatoes.")
    return project


def add_conversations(ada: User, project: Project) -> None:
    """One with every setting, and one of each kind; with what is remembered from them."""
    said = ["Where are the tomatoes?", "In the four beds."]
    garden = make_conversation(
        ada,
        messages=said,
        title="Garden",
        title_edited=True,
        project=project,
        pinned=True,
        system_prompt="You are a gardener.",
        context_budget=60_000,
        compaction_settings={"prepare_ratio": 0},
        compaction_held=True,
        compaction_enabled=False,
        keep_first_message=False,
        tool_settings={"web": True, "mcp": ["library"], "mcp_allowed": ["library"], "off": []},
        reply_settings={"effort": "low", "thinking": "on", "max_tokens": 2_000},
        memory_text="- #1 Ada likes tea.",
        project_parts={"instructions": "Answer briefly.", "files": [], "budget": 100_000},
        pruned_through=1,
        meter_valid_from=1,
        long_pause=400.0,
        pauses_covered=2,
        tokens_covered=900,
        input_tokens=1_000,
        output_tokens=200,
        cost=0.004,
    )
    make_conversation(ada, messages=said, title="Archived", archived=True)
    make_conversation(ada, messages=said, title="Temporary", temporary=True)
    make_conversation(ada, messages=said, title="Deleted", deleted_at=timezone.now())
    tea, _ = memories.remember_fact(ada.pk, "Ada likes tea.", Memory.Source.USER)
    memories.remember_fact(
        ada.pk,
        "There are four beds.",
        Memory.Source.AGENT,
        project_id=project.pk,
        conversation_id=garden.pk,
        message_number=1,
    )
    gone, _ = memories.remember_fact(ada.pk, "Ada is in Oslo.", Memory.Source.USER)
    memories.forget_fact(ada.pk, gone.pk)
    memories.propose_fact(ada.pk, "The tomatoes are ripe.", garden.pk, 1)
    memories.propose_to_forget(tea, garden.pk, 1)


def add_files(ada: User) -> None:
    """A message with a file of each kind, and a file that was not sent yet."""
    conversation = make_conversation(ada, title="Files")
    kept = [attachments.store_unsent(ada, name, data) for name, data in FILES.items()]
    blocks = [attachments.make_reference(each) for each in kept]
    question, _ = add_messages(
        conversation, [[*blocks, {"type": "text", "text": "What is in these?"}], "A plan for tea."]
    )
    question.attachments.set(kept)
    attachments.store_unsent(ada, "unsent.txt", b"Not sent yet.")


def add_searched_answer(ada: User) -> None:
    """What a server's own tools and its thinking leave in an answer."""
    conversation = make_conversation(ada, title="Tides")
    turn = make_turn(conversation, status=Turn.Status.COMPLETED, finished_at=timezone.now())
    add_messages(conversation, ["When is high water?", SEARCHED], turn=turn)
    answer = conversation.messages.get(number=2)
    answer.usage = Usage(900, 60, 100, 50).as_dict()
    answer.cost, answer.stop_reason = 0.003, "end_turn"
    answer.save()
    question = conversation.messages.get(number=1)
    question.pasted, question.sent_in_part, question.cut_factor = [[0, 4]], True, 1.5
    question.save()


def add_turns(ada: User) -> None:
    """Turns in each state, and with each notice; those that are active lock a conversation each."""
    ended = make_conversation(ada, title="Ended turns", messages=2)
    error = {"code": "overloaded", "message": "Overloaded", "retryable": True, "retry_after": 5}
    for status in Turn.Status:
        if status in Turn.ACTIVE:
            conversation = make_conversation(ada, title=f"Turn that is {status}", messages=1)
            make_turn(conversation, status=status, model="other::small", stop_requested=True)
        else:
            make_turn(ended, status=status, error=error, finished_at=timezone.now())
    for notice in Notice:
        values = {"notice": notice, "notice_about": "library", "compaction_wanted": True}
        make_turn(ended, status=Turn.Status.COMPLETED, finished_at=timezone.now(), **values)
    # The one that runs is in the middle of a round.
    call = {"type": "tool_use", "id": "toolu_1", "name": "recall", "input": {"query": "tea"}}
    turn = Turn.objects.get(status=Turn.Status.RUNNING)
    (message,) = add_messages(turn.conversation, [[call]], turn=turn, status="streaming")
    SearchEntry.objects.filter(message=message).delete()  # only finished messages have one
    CallEnd.objects.create(message=message, call="toolu_1", shown={"text": "Tea", "seconds": 0.1})
    for status in (Message.Status.INTERRUPTED, Message.Status.FAILED):
        add_messages(ended, ["Go on."])
        add_messages(ended, ["Half an ans"], status=status)


def add_compactions(ada: User) -> None:
    """A version of a summary for each trigger and each origin, and one in each state."""
    occasions = [(str(trigger), Origin.COMPACTION) for trigger in Trigger]
    occasions += [("", origin) for origin in Origin if origin != Origin.COMPACTION]
    for start in range(0, len(occasions), VERSIONS):
        some = occasions[start : start + VERSIONS]
        title = ", ".join(trigger or origin for trigger, origin in some)
        conversation = make_conversation(ada, title=title, messages=2 * len(some) + 2)
        for through, (trigger, origin) in zip(count(2, 2), some):
            text = SUMMARY.format(through - 1, through)
            values: dict[str, Any] = {"focus": "tea", "usage": Usage(900, 90)}
            make_compaction(
                conversation, text, through=through, trigger=trigger, origin=origin, **values
            )
    summaries.edit_summary(conversation.compaction_id, "## Overview\n\n- Ada wrote this [#1 #2]")
    conversation.refresh_from_db()
    summaries.revert(conversation.compaction_id)
    for status in Compaction.Status:
        conversation = make_conversation(ada, title=f"Compaction that is {status}", messages=4)
        make_compaction(conversation, status=status)


def add_summary_with_gaps(ada: User) -> None:
    """Under a summary, a message was deleted and an exchange is left out."""
    conversation = make_conversation(ada, title="Gaps", messages=14)
    for through in (4, 8):
        text = SUMMARY.format(through - 3, through)
        make_compaction(conversation, text, through=through, usage=Usage(900, 90))
    unwanted, private = (conversation.messages.get(number=number) for number in (2, 6))
    branches.delete_message(ada, conversation.pk, unwanted.pk)
    leaving_out.leave_message_out(ada, conversation.pk, private.pk, whole=True)


# --- The last touches -----------------------------------------------------------------------------


def give_fixed_values() -> None:
    """Times in the same order as they were, a minute apart, and no random numbers; what lies in the
    future stays as it is."""
    soon = timezone.now() + timedelta(days=1)
    fields = [
        (model._base_manager, field.attname)
        for model in apps.get_models()
        for field in model._meta.local_concrete_fields
        if isinstance(field, models.DateTimeField)
    ]
    found = {
        moment
        for rows, name in fields
        for moment in rows.values_list(name, flat=True)
        if moment and moment < soon
    }
    new = {old: FIRST_DAY + timedelta(minutes=n) for n, old in enumerate(sorted(found))}
    for rows, name in fields:
        for pk, old in rows.values_list("pk", name):
            if old in new:
                rows.filter(pk=pk).update(**{name: new[old]})
    Turn.objects.update(holder=HOLDER)  # a process's name, with this machine's
    ModelProfile.objects.exclude(base_url="").update(base_url="https://models.example.org")
    for number, conversation in enumerate(Conversation.objects.order_by("pk"), 1):
        Conversation.objects.filter(pk=conversation.pk).update(history_version=number)


def check_is_complete() -> None:
    """Every model has rows, every choice is made somewhere, and every field holds something
    somewhere. Raises SystemExit with what is missing."""
    missing = sorted(list_missing())
    if missing:
        raise SystemExit(f"The database of a release lacks {', '.join(missing)}: see fill.py.")


def list_missing() -> Iterator[str]:
    """See `check_is_complete`."""
    for model in apps.get_models(include_auto_created=True):
        rows = list(model._base_manager.values())
        if not rows:
            yield f"rows of {model._meta.label}"
            continue
        for field in model._meta.local_concrete_fields:
            values = [row[field.attname] for row in rows]
            name = f"{model._meta.label}.{field.name}"
            if not any(value not in (None, "", [], {}) for value in values):
                yield name
            if field.choices and model._meta.app_label in OURS:
                yield from (f"{name} {c}" for c, _ in field.flatchoices if c not in values)
