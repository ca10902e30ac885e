"""What became of a compaction, in whole sentences: how its summary was written, or why there is
none. Each sentence is one text for translators; only the cause is a clause in it."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, gettext_lazy, ngettext

from agent.compaction.failures import REJECTED
from agent.compaction.policy import Method, Origin, Reason, Trigger
from agent.errors import ErrorCode
from chat.html.figures import format_tokens
from chat.models import Compaction
from chat.queries.records import count_by_rule

SAID = 200  # characters of what a server said

OCCASION_WORDS: Mapping[str, Any] = {
    Trigger.AUTO: gettext_lazy("automatic"),
    Trigger.MANUAL: gettext_lazy("on request"),
    Trigger.PREPARED: gettext_lazy("prepared in the background"),
    Trigger.IDLE: gettext_lazy("prepared during a pause"),
    Trigger.OVERFLOW: gettext_lazy("the model’s window was full"),
    Trigger.ITERATIONS: gettext_lazy("after many tool calls"),
    Trigger.MESSAGES: gettext_lazy("after many messages"),
    Trigger.TOOL: gettext_lazy("asked for by the assistant"),
    Trigger.MODEL_SWITCH: gettext_lazy("to fit the other model"),
    Origin.EDIT: gettext_lazy("edited by you"),
    Origin.REBUILT: gettext_lazy("a chapter written again"),
    Origin.REWRITE: gettext_lazy("written again by an administrator"),
}
# After "because". By `Failure.code`.
CAUSES = {
    ErrorCode.BAD_KEY: gettext_lazy("the API key was not accepted"),
    ErrorCode.BAD_REQUEST: gettext_lazy("the model’s server refused the request"),
    ErrorCode.BUDGET_BUSY: gettext_lazy("running answers hold what is left of the budget"),
    ErrorCode.BUDGET_USED: gettext_lazy("the budget is used up"),
    ErrorCode.CONNECTION_LOST: gettext_lazy("the connection to the model’s server was lost"),
    ErrorCode.NO_CREDIT: gettext_lazy("the API account has no credit left"),
    ErrorCode.NOT_ALLOWED: gettext_lazy("the API key is not allowed to do this"),
    ErrorCode.OVERLOADED: gettext_lazy("the model was overloaded"),
    ErrorCode.RATE_LIMITED: gettext_lazy("the API’s rate limit was reached"),
    ErrorCode.REFUSED: gettext_lazy("the model declined to summarise this"),
    ErrorCode.REQUEST_TOO_LARGE: gettext_lazy("the request was over the server’s size limit"),
    ErrorCode.SERVER_ERROR: gettext_lazy("the model’s server failed"),
    ErrorCode.SERVER_UNREACHABLE: gettext_lazy("the model’s server could not be reached"),
    ErrorCode.STREAM_CUT: gettext_lazy("the model’s server broke off"),
    ErrorCode.THINKING_REFUSED: gettext_lazy("the model’s server refused the request"),
    ErrorCode.TIMEOUT: gettext_lazy("the model’s server did not answer in time"),
    ErrorCode.TOO_LONG: gettext_lazy("the messages do not fit the model"),
    ErrorCode.UNKNOWN_MODEL: gettext_lazy("the server does not know this model or address"),
    ErrorCode.UNKNOWN_STOP_REASON: gettext_lazy("the model stopped for an unknown reason"),
    Reason.NOT_CACHED: gettext_lazy("the server does not cache the conversation now"),
    Reason.NOT_IN_PREFIX: gettext_lazy("its messages are no longer in the request"),
    Reason.TOO_LARGE: gettext_lazy("the messages do not fit the model’s window"),
    Reason.TOO_MANY_PARTS: gettext_lazy("the messages would have to be read in too many parts"),
    Reason.TIME_UP: gettext_lazy("the model took longer than anybody should wait"),
    REJECTED: gettext_lazy("the model’s text was not usable"),
}
TOO_LONG = (ErrorCode.TOO_LONG, ErrorCode.REQUEST_TOO_LARGE, Reason.TOO_LARGE)
# Why a way was not tried at all.
UNTRIED = (Reason.NOT_CACHED, Reason.NOT_IN_PREFIX, Reason.TOO_LARGE, Reason.TOO_MANY_PARTS)

StoredFailure = Mapping[str, str]  # a `Failure` as it is stored


def name_occasion(compaction: Compaction) -> str:
    """Why there is this version, in words."""
    if compaction.origin == Origin.REWRITE and compaction.turn_id:
        return gettext("written again on request")
    return str(OCCASION_WORDS[compaction.occasion])


def is_stopgap(compaction: Compaction) -> bool:
    """Whether a summary was written by rule because no model could: a model may do better now."""
    return (
        compaction.method == Method.EXTRACT
        and compaction.method_reason not in (Reason.BY_SETTING, Reason.NOT_AGREED)
        and bool(compaction.summary)
    )


def explain_compaction(compaction: Compaction) -> str:
    """Where a summary was not written the usual way, how and why, what no model has read, and what
    was not written, left out of it or is no longer sent; else ""."""
    by_rule = compaction.method == Method.EXTRACT
    explain = (_explain_rule,) if by_rule else (_explain_way, _explain_unread, _explain_unwritten)
    always = (_explain_record, _explain_cut, _explain_left)
    sentences = (each(compaction) for each in (*explain, *always))
    return " ".join(filter(None, sentences))


def explain_failure(compaction: Compaction) -> str:
    """Why there is no summary, in a sentence, and that nothing was lost."""
    failures = _list_failures(compaction)
    if not failures:
        return gettext(compaction.error)
    return gettext("No summary could be written because {cause}. Nothing was lost.").format(
        cause=describe_cause(_find_cause(failures))
    )


def describe_cause(failure: StoredFailure) -> str:
    """A failure as a clause."""
    words = CAUSES.get(failure.get("code", ""))
    if words is None:  # of before there were codes
        return gettext("this happened: “{cause}”").format(cause=failure["cause"].rstrip("."))
    if not (said := " ".join(failure.get("said", "").split())):
        return str(words)
    if failure["code"] == REJECTED:
        return gettext("{cause} ({why})").format(cause=words, why=gettext(said))
    shown = said if len(said) <= SAID else f"{said[:SAID]}…"
    return gettext("{cause} (“{said}”)").format(cause=words, said=shown)


def _list_failures(compaction: Compaction) -> list[StoredFailure]:
    """Of the ways to write the chapter."""
    failures: list[StoredFailure] = compaction.audit.get("failures") or []
    return failures


def _find_cause(failures: Sequence[StoredFailure]) -> StoredFailure:
    """What decided: the last that was tried, or if none was, why not."""
    tried = [each for each in failures if each.get("code") not in UNTRIED]
    return (tried or list(failures))[-1]


def _explain_record(compaction: Compaction) -> str:
    """What came from elsewhere and no model has read."""
    left, total = count_by_rule(compaction), len(compaction.chapters)
    if not left:
        return ""
    if left < total:
        return ngettext(
            "{left} of {total} chapters is a record by rule: it has openings of messages, exact "
            "values and standing instructions. No model has read what it stands for; search finds "
            "all of it.",
            "{left} of {total} chapters are a record by rule: they have openings of messages, "
            "exact values and standing instructions. No model has read what they stand for; search "
            "finds all of it.",
            left,
        ).format(left=left, total=total)
    covered = compaction.audit.get("by_rule") or {}
    messages = covered.get("messages") or compaction.messages
    return ngettext(
        "A record by rule; nothing was spent. No model has read its {messages} message ({tokens} "
        "tokens): it has openings, exact values and standing instructions. Search finds all of it.",
        "A record by rule; nothing was spent. No model has read its {messages} messages ({tokens} "
        "tokens): it has openings, exact values and standing instructions. Search finds all of "
        "them.",
        messages,
    ).format(messages=messages, tokens=format_tokens(covered.get("tokens") or 0))


def _explain_rule(compaction: Compaction) -> str:
    """In one sentence: a summary that no model wrote is no more than a stopgap."""
    if compaction.method_reason == Reason.NOT_AGREED:
        return ""
    messages = compaction.audit.get("unread_messages") or compaction.messages
    values: dict[str, Any] = {"messages": messages}
    values["tokens"] = format_tokens(compaction.audit.get("unread_tokens") or 0)
    failures = _list_failures(compaction)
    if compaction.method_reason == Reason.BY_SETTING:
        return ngettext(
            "The summary was written by rule, as the settings say, so no model has read its "
            "{messages} message ({tokens} tokens); search still finds it.",
            "The summary was written by rule, as the settings say, so no model has read its "
            "{messages} messages ({tokens} tokens); search still finds them.",
            messages,
        ).format(**values)
    return ngettext(
        "The summary was written by rule because {cause}, so no model has read its {messages} "
        "message ({tokens} tokens); search still finds it.",
        "The summary was written by rule because {cause}, so no model has read its {messages} "
        "messages ({tokens} tokens); search still finds them.",
        messages,
    ).format(
        **values,
        cause=describe_cause(_find_cause(failures)) if failures else gettext("no model could"),
    )


def _explain_way(compaction: Compaction) -> str:
    failures = _list_failures(compaction)
    unread = compaction.audit.get("unread_messages")
    too_long = any(each.get("code", TOO_LONG[0]) in TOO_LONG for each in failures)
    if too_long and compaction.method == Method.WITHOUT_OVERSIZED:
        if unread:  # which is told with figures
            return ""
        return gettext(
            "Very long messages were read only in part, because all of it would not have fitted."
        )
    if too_long and compaction.method == Method.CHUNKS:
        return gettext("The messages were read in several parts, because all at once did not fit.")
    tried = [each for each in failures if each.get("code") not in UNTRIED]
    if not tried:
        return ""
    return ngettext(
        "The summary was written at the second attempt; the first failed because {cause}.",
        "The summary was written after {count} attempts that failed, the last because {cause}.",
        len(tried),
    ).format(count=len(tried), cause=describe_cause(tried[-1]))


def _explain_unread(compaction: Compaction) -> str:
    messages = compaction.audit.get("unread_messages") or 0
    if not messages:
        return ""
    return ngettext(
        "{messages} very long message was read without its middle ({tokens} tokens), which would "
        "not have fitted; search still finds it.",
        "{messages} very long messages were read without their middle ({tokens} tokens), which "
        "would not have fitted; search still finds it.",
        messages,
    ).format(messages=messages, tokens=format_tokens(compaction.audit.get("unread_tokens") or 0))


def _explain_unwritten(compaction: Compaction) -> str:
    """What a reply that was cut at its limit did not come to."""
    number = len(compaction.audit.get("unwritten") or ())
    if not number:
        return ""
    return ngettext(
        "{number} part of the summary is missing or incomplete, because the model reached its "
        "limit for a reply; search still finds the messages.",
        "{number} parts of the summary are missing or incomplete, because the model reached its "
        "limit for a reply; search still finds the messages.",
        number,
    ).format(number=number)


def _explain_cut(compaction: Compaction) -> str:
    """What a hard limit threw away."""
    number = len(compaction.audit.get("cut") or ())
    if not number:
        return ""
    return ngettext(
        "{number} statement was left out, because the summary was longer than its limit.",
        "{number} statements were left out, because the summary was longer than its limit.",
        number,
    ).format(number=number)


def _explain_left(compaction: Compaction) -> str:
    """What a merge took out of the record."""
    number = len(compaction.audit.get("left") or ())
    if not number:
        return ""
    return ngettext(
        "{number} earlier statement is no longer sent to the model, because the summary had become "
        "too long; its chapter below still has it, and search has its messages.",
        "{number} earlier statements are no longer sent to the model, because the summary had "
        "become too long; their chapters below still have them, and search has their messages.",
        number,
    ).format(number=number)
