"""Degraded modes: what a turn had to do without.

The code is stored, compared and counted; a reader gets the words.
"""

from enum import StrEnum

from django.utils.translation import gettext_lazy


class Notice(StrEnum):
    TRIMMED = "trimmed"
    SHORTENED = "shortened"
    CUT = "cut"
    CUT_BY_BUDGET = "cut_by_budget"
    LAST_ROUND = "last_round"
    COMPACTION_PAUSED = "compaction_paused"
    SERVERS_LEFT_OUT = "servers_left_out"
    UNSTORED = "unstored"
    STORED_LATE = "stored_late"


# `{about}` is what the mode concerns: names, or a cause.
WORDS = {
    Notice.TRIMMED: gettext_lazy(
        "The oldest messages were left out of this request because it would not fit. "
        "They are still here."
    ),
    Notice.SHORTENED: gettext_lazy(
        "Results of tools were shortened in this request, and the oldest messages left out, "
        "because it would not fit. They are still here, and the model can read them again."
    ),
    Notice.CUT: gettext_lazy("The answer reached its length limit. Ask it to continue."),
    Notice.CUT_BY_BUDGET: gettext_lazy(
        "The answer was cut short because little is left of a budget. What was written is kept."
    ),
    Notice.LAST_ROUND: gettext_lazy(
        "The limit of tool calls for one answer was reached; the model was asked to answer with "
        "what it had. Ask it to go on if something is missing."
    ),
    Notice.COMPACTION_PAUSED: gettext_lazy(
        "Automatic compaction is paused for a few minutes because it failed or happened too often. "
        "/compact works at any time."
    ),
    Notice.SERVERS_LEFT_OUT: gettext_lazy(
        "The answer was written without these servers, which are not available now: {about}."
    ),
    Notice.UNSTORED: gettext_lazy(
        "{about} The answer is kept in memory and stored as soon as that is possible."
    ),
    Notice.STORED_LATE: gettext_lazy(
        "The database could not be written for a while. The answer was kept, and stored as soon as "
        "possible."
    ),
}


def notice_text(notice: Notice, about: str = "") -> str:
    """A notice in the reader's language."""
    return str(WORDS[notice]).format(about=about)
