"""What is said in Slack, but for the messages themselves."""

from collections.abc import Sequence

from django.conf import settings
from django.utils.text import Truncator
from django.utils.translation import gettext

from chat.errors import translate_error
from chat.html.message import SOURCES
from chat.models import Compaction, Conversation, Message, SlackThread, Turn
from chat.queries.slack import Entry
from chat.sources.slack.drawing import LONGEST, draw_posts, escape, join_posts, link
from chat.sources.slack.people import SlackPerson, Stranger
from server.claims import find_origin

WRITING = "…"
MOST_OF_FILES = 500  # characters of their names


def address_of(conversation: Conversation) -> str:
    """Where a conversation is, for a browser."""
    return f"{find_origin(settings.HOST, settings.PORT)}{conversation.get_absolute_url()}"


def open_chat(conversation: Conversation) -> str:
    return link(address_of(conversation), gettext("Open it in Everlong"))


# --- A thread -------------------------------------------------------------------------------------


def describe_opening(thread: SlackThread) -> str:
    """The message that a thread begins with."""
    conversation = thread.conversation
    who = f"<@{thread.asked_by}>" if thread.asked_by else gettext("Somebody")
    said = gettext(
        "{who} talks with the model in this thread. What its owner writes here goes to the chat "
        "{chat}, and what is written there comes here."
    )
    name = f"“{conversation.title}”" if conversation.title else gettext("that begins here")
    chat = link(address_of(conversation), name)
    return escape(said).format(who=who, chat=chat)


def draw_entry(entry: Entry, thread: SlackThread) -> list[str]:
    """The texts of an entry's posts; [] while there is nothing to say."""
    conversation = thread.conversation
    if entry.compaction:
        return [_describe_compaction(entry.compaction, conversation)]
    if entry.waiting:
        problem = translate_error(entry.waiting.problem) or {}
        said = gettext("Not sent: {problem}").format(problem=problem.get("message", ""))
        return [f"_{escape(said)}_ {open_chat(conversation)}"]
    if entry.is_prompt:
        return _draw_prompt(entry.messages[0], conversation)
    return _draw_answer(entry.messages, entry.turn, conversation)


def _draw_prompt(message: Message, conversation: Conversation) -> list[str]:
    owner = conversation.owner
    name = owner.get_full_name() or owner.username
    door = str(SOURCES.get(message.source, gettext("In Everlong")))
    heading = f"*{escape(name).replace('*', '')}* · _{escape(door)}_"
    files = [
        str(block.get("title") or gettext("a picture"))
        for block in message.blocks
        if block.get("type") in ("image", "document")
    ]
    if files:
        shown = Truncator(", ".join(files)).chars(MOST_OF_FILES)
        attached = gettext("Attached:")
        heading += f"\n_{escape(attached)} {escape(shown)}_"
    first, *others = draw_posts(_text_of([message])) or [""]
    whole = f"{heading}\n{first}".rstrip()
    return [whole, *others] if len(whole) <= LONGEST else [heading, first, *others]


def _draw_answer(
    messages: Sequence[Message], turn: Turn | None, conversation: Conversation
) -> list[str]:
    parts = draw_posts(_text_of(messages))
    if turn and turn.status in Turn.ACTIVE:
        return join_posts(parts, f"_{WRITING}_")
    if turn and (ending := _describe_end(turn, messages[-1], conversation)):
        return join_posts(parts, ending)
    return parts or [_quiet(gettext("The answer has no text."))]


def _describe_end(turn: Turn, last: Message, conversation: Conversation) -> str:
    """What is to be said of an answer that is not simply complete."""
    if turn.status == Turn.Status.CANCELLED:
        return _quiet(gettext("Stopped."))
    if turn.status in (Turn.Status.FAILED, Turn.Status.INTERRUPTED):
        error = translate_error(turn.error) or {}
        said = error.get("message") or gettext("The answer was interrupted.")
        return f":warning: {escape(said)} {open_chat(conversation)}"
    if last.stop_reason == Message.REFUSED:
        return _quiet(gettext("The model declined to go on."))
    return f"_{escape(turn.notice_text)}_" if turn.notice else ""


def _text_of(messages: Sequence[Message]) -> str:
    blocks = (block for message in messages for block in message.blocks)
    return "\n\n".join(each["text"] for each in blocks if each.get("type") == "text")


def _describe_compaction(compaction: Compaction, conversation: Conversation) -> str:
    """The line of a compaction."""
    match compaction.status:
        case Compaction.Status.RUNNING:
            return _quiet(gettext("Compacting the chat…"))
        case Compaction.Status.COMPLETED:
            said = gettext("Compacted: #{first}–#{last} are summarised now, and kept.").format(
                first=compaction.first.number, last=compaction.through.number
            )
        case Compaction.Status.CANCELLED:
            said = gettext("The compaction was cancelled. Nothing has changed.")
        case _:
            said = gettext("The compaction failed. Nothing has changed.")
    return f"_{escape(said)}_ {open_chat(conversation)}"


# --- People ---------------------------------------------------------------------------------------


def explain_stranger(person: SlackPerson) -> str:
    """What somebody is told who has no account here, and what to do."""
    site = find_origin(settings.HOST, settings.PORT) + settings.BASE_PATH
    where = link(site, site)
    match person.stranger:
        case Stranger.OUTSIDER:
            said = gettext("Everlong talks only with members of the workspace that it belongs to.")
        case Stranger.NO_ADDRESS:
            said = gettext(
                "Slack does not tell your email address, or it is not confirmed, so Everlong does "
                "not know who you are. Confirm it in your Slack profile."
            )
        case Stranger.DISABLED:
            said = gettext("Your account of Everlong is disabled. Ask an administrator.")
        case _:
            said = gettext(
                "No account of Everlong has your address {address}, confirmed. Sign up at {where} "
                "with it, or ask an administrator to add it to your account as a verified one."
            )
    return escape(said).format(address=escape(person.address), where=where)


def explain_other_owner(conversation: Conversation) -> str:
    """What a colleague is told in a thread that is somebody else's."""
    owner = conversation.owner
    return escape(
        gettext(
            "This thread is a chat of {name}. Only their messages go to the model; yours stay in "
            "Slack. To ask by yourself, begin a thread of your own with /everlong."
        )
    ).format(name=escape(owner.get_full_name() or owner.username))


def explain_failure(words: str, conversation: Conversation | None = None) -> str:
    """A refusal, with the way to the conversation."""
    return f"{escape(words)} {open_chat(conversation)}" if conversation else escape(words)


def _quiet(words: str) -> str:
    """In italics, as Slack marks them."""
    return f"_{escape(words)}_"
