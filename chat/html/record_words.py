"""The offer to have a model read what a record by rule stands for, in words."""

from typing import NamedTuple

from django.utils.translation import gettext, ngettext

from chat.html.compaction_words import explain_failure
from chat.html.figures import format_money
from chat.queries.records import RecordOffer


class OfferWords(NamedTuple):
    """What is `said` beside the button, "" for nothing, and the button's own words."""

    said: str
    action: str
    price: str


def describe_offer(offer: RecordOffer) -> OfferWords:
    """The price is an estimate: what the model thinks before it writes is not in it."""
    price = format_money(offer.cost)
    names = {"model": offer.model.display_name, "price": price}
    done = offer.total - offer.chapters
    if offer.agreed:
        said = ngettext(
            "{model} reads the messages: {done} of {total} chapter is written.",
            "{model} reads the messages: {done} of {total} chapters are written.",
            offer.total,
        ).format(done=done, total=offer.total, **names)
        return OfferWords(said, gettext("Stop"), price)
    said = explain_failure(offer.stopped) if offer.stopped else ""
    if offer.cost is None:
        return OfferWords(said, gettext("Write the summary with {model}").format(**names), price)
    if done:
        action = gettext("Write the rest with {model}: about {price}").format(**names)
    else:
        action = gettext("Write the summary with {model}: about {price}").format(**names)
    return OfferWords(said, action, price)
