"""The methods of writing a summary, in words."""

from django.utils.translation import gettext_lazy

from agent.compaction.policy import Method

# How the summary will be written, by its method; None: it is prepared already.
METHOD_WORDS = {
    None: gettext_lazy("The summary is ready already."),
    Method.WARM_PREFIX: gettext_lazy(
        "The model’s cache is warm: the older messages are read at the cached price."
    ),
    Method.SERIALISED: gettext_lazy("The older messages are read as text, at the full price."),
    Method.CHUNKS: gettext_lazy(
        "The older messages are read as text in several parts: all at once would not fit."
    ),
    Method.WITHOUT_OVERSIZED: gettext_lazy(
        "The older messages are read in several parts, and very long ones only in part."
    ),
    Method.EXTRACT: gettext_lazy("The summary is written by rule, without a model."),
}
