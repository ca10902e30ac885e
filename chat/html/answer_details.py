"""What the row below an answer says of it: model, tokens, price and seconds."""

from collections.abc import Sequence
from functools import cached_property

from django.utils.translation import gettext

from agent.messages import Usage
from chat.engine.model_profiles import has_prices, load_profiles
from chat.html.figures import format_cost, format_money, format_seconds, format_tokens
from chat.models import Message, ModelProfile
from spending.totals import Total, load_totals


class AnswerDetails:
    """Of the answers among some messages, which were read with their turns. Two queries, made when
    the first of them is described: a message that was drawn before is not."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @cached_property
    def _profiles(self) -> dict[str, ModelProfile]:
        return load_profiles({message.model for message in self._messages})

    @cached_property
    def _totals(self) -> dict[int, Total]:
        """By turn, with all its rounds of tools."""
        return load_totals("turn", {m.turn_id for m in self._messages if m.turn_id})

    def _total_of(self, message: Message) -> Total:
        """Of an answer with all its rounds; one without a turn was imported, and paid elsewhere."""
        if message.turn_id:
            return self._totals.get(message.turn_id, Total())
        usage = Usage.from_api(message.usage)
        return Total(usage.request_tokens, usage.output_tokens)

    def describe(self, message: Message) -> list[str]:
        """In words; none of what is not an answer, is being written, or goes on after a
        round of tools."""
        streaming = message.status == Message.Status.STREAMING
        if streaming or not message.model or message.stop_reason == "tool_use":
            return []
        profile = self._profiles[message.model]
        words = [str(profile)]
        total = self._total_of(message)
        if total.tokens:
            read, written = format_tokens(total.request_tokens), format_tokens(total.output_tokens)
            tokens = gettext("{read} tokens in, {written} out")
            if total.is_estimated:  # it was stopped, or broke off
                tokens = gettext("about {read} tokens in, {written} out")
            words.append(tokens.format(read=read, written=written))
            if message.turn_id:
                words.append(_describe_price(profile, total))
        turn = message.turn
        if turn and turn.finished_at and turn.finished_at > turn.created_at:  # not imported
            words.append(format_seconds((turn.finished_at - turn.created_at).total_seconds()))
        return words


def _describe_price(profile: ModelProfile, total: Total) -> str:
    """What was free is told from what nobody knew the price of."""
    if total.dollars:
        return format_cost(total.dollars, about=total.is_estimated)
    used = Usage(total.request_tokens, total.output_tokens)
    free = has_prices(profile) and not profile.price(used)
    return format_money(total.dollars) if free else gettext("price unknown")
