"""The methods of writing a summary, in words."""

from django.utils.translation import gettext_lazy

from agent.compaction.policy import Engine

# How the summary will be written, by its method; None: it is prepared already.
METHOD_WORDS = {
    None: gettext_lazy("The summary is ready already."),
    Engine.WARM_PREFIX: gettext_lazy(
        "The model’s cache is warm: the older messages are read at the cached price."
    ),
    Engine.SERIALISED: gettext_lazy("The older messages are read as text, at the full price."),
    Engine.CHUNKS: gettext_lazy(
        "The older messages are read as text in several parts: all at once would not fit."
    ),
    Engine.WITHOUT_OVERSIZED: gettext_lazy(
        "The older messages are read in several parts, and very long ones only in part."
    ),
    Engine.EXTRACT: gettext_lazy("The summary is written by rule, without a model."),
}
