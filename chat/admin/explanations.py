"""The words of settings and logs for a compaction, explained in the administration."""

from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy

from agent.compaction.policy import Method, Origin, Trigger

METHODS = {
    Method.WARM_PREFIX: gettext_lazy(
        "The model read the conversation as its server still had it in its cache, at the cached "
        "price, and was asked for a summary."
    ),
    Method.SERIALISED: gettext_lazy(
        "A model read the older messages as one text, at the full price."
    ),
    Method.CHUNKS: gettext_lazy(
        "A model read the older messages as several texts, because one would not have fitted, and "
        "merged what it wrote of each."
    ),
    Method.WITHOUT_OVERSIZED: gettext_lazy(
        "As chunks, but of very long messages only the beginning and the end were read."
    ),
    Method.EXTRACT: gettext_lazy(
        "By rule: code quoted the first words of messages. No model read them."
    ),
    Method.EDITED: gettext_lazy("The owner changed the summary by hand."),
}
OCCASIONS = {
    Trigger.AUTO: gettext_lazy("The context had reached its threshold before a request."),
    Trigger.MANUAL: gettext_lazy("The owner asked for it, by /compact or the button."),
    Trigger.PREPARED: gettext_lazy("Written in the background before the threshold was reached."),
    Trigger.IDLE: gettext_lazy("Written in a pause, before the model’s cache expired."),
    Trigger.OVERFLOW: gettext_lazy("The model’s server said that the request was too long."),
    Trigger.ITERATIONS: gettext_lazy("One answer had called tools many times."),
    Trigger.MESSAGES: gettext_lazy("There were many messages, however short."),
    Trigger.TOOL: gettext_lazy("The model asked for it with its tool."),
    Trigger.MODEL_SWITCH: gettext_lazy("The conversation did not fit the model that was chosen."),
    Origin.EDIT: gettext_lazy("The owner changed the summary by hand."),
    Origin.REBUILT: gettext_lazy(
        "A chapter had lost its text with a message, and was written again in the background."
    ),
    Origin.REWRITE: gettext_lazy(
        "An administrator wanted it written again, or the owner of one that was written by rule."
    ),
}
STATES = {
    "current": gettext_lazy("It is sent with every request."),
    "superseded": gettext_lazy("A newer version, or that of another branch, is sent in its place."),
    "reverted": gettext_lazy("The owner went back to the version before."),
    "running": gettext_lazy("A worker is writing it."),
    "ready": gettext_lazy("It is written, and waits until it is needed or decided on."),
    "failed": gettext_lazy("No summary came of it, and nothing has changed."),
    "cancelled": gettext_lazy("It was stopped, or something newer took its place."),
}
GROUPS = (
    (gettext_lazy("Status"), STATES),
    (gettext_lazy("Trigger: why it began"), OCCASIONS),
    (gettext_lazy("Method: how it was written, from the best way to the last resort"), METHODS),
)


def explain(word: str, words: Mapping[Any, object], css: str = "") -> SafeString:
    """A word with what it means below it; "–" for none."""
    if not word:
        return SafeString("–")
    return format_html(
        '<span class="{}">{}</span><div class="help">{}</div>',
        css,
        gettext(word.replace("_", " ")),
        words.get(word, ""),
    )


def list_words() -> list[tuple[str, list[tuple[str, str]]]]:
    """All words by group."""
    return [
        (str(title), [(word.replace("_", " "), str(text)) for word, text in words.items()])
        for title, words in GROUPS
    ]
