"""What the row below an answer says of it: model, tokens, price and seconds."""

from collections.abc import Sequence
from functools import cached_property

from django.utils.translation import gettext

from agent.messages import Usage
from agent.model.unreported import is_estimated
from chat.engine.model_profiles import has_prices, load_profiles
from chat.html.figures import format_cost, format_money, format_seconds, format_tokens
from chat.models import Message, ModelProfile


class AnswerDetails:
    """Of the answers among some messages, which were read with their turns. Two queries, made when
    the first of them is described: a message that was drawn before is not."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @cached_property
    def _profiles(self) -> dict[str, ModelProfile]:
        return load_profiles({message.model for message in self._messages})

    @cached_property
    def _spent(self) -> dict[int | None, tuple[Usage, float, bool]]:
        """Usage, US dollars and whether a part of it is estimated, by turn, with all its rounds of
        tools."""
        turns = {message.turn_id for message in self._messages}
        rows = Message.objects.filter(turn__in=turns, role=Message.Role.ASSISTANT)
        spent: dict[int | None, tuple[Usage, float, bool]] = {}
        for turn_id, reported, cost in rows.values_list("turn", "usage", "cost"):
            usage, before, about = spent.get(turn_id, (Usage(), 0.0, False))
            about = about or is_estimated(reported)
            spent[turn_id] = usage + Usage.from_api(reported), before + cost, about
        return spent

    def describe(self, message: Message) -> list[str]:
        """In words; none of what is not an answer, is being written, or goes on after a
        round of tools."""
        streaming = message.status == Message.Status.STREAMING
        if streaming or not message.model or message.stop_reason == "tool_use":
            return []
        profile = self._profiles[message.model]
        alone = Usage.from_api(message.usage), message.cost, is_estimated(message.usage)
        usage, cost, about = self._spent.get(message.turn_id, alone) if message.turn_id else alone
        words = [str(profile)]
        if usage.total:
            read, written = format_tokens(usage.request_tokens), format_tokens(usage.output_tokens)
            tokens = gettext("{read} tokens in, {written} out")
            if about:  # it was stopped, or broke off
                tokens = gettext("about {read} tokens in, {written} out")
            words.append(tokens.format(read=read, written=written))
            words.append(_describe_price(profile, usage, cost, about=about))
        turn = message.turn
        if turn and turn.finished_at and turn.finished_at > turn.created_at:  # not imported
            words.append(format_seconds((turn.finished_at - turn.created_at).total_seconds()))
        return words


def _describe_price(profile: ModelProfile, usage: Usage, cost: float, *, about: bool) -> str:
    """What was free is told from what nobody knew the price of."""
    if cost:
        return format_cost(cost, about=about)
    free = has_prices(profile) and not profile.price(usage)
    return format_money(cost) if free else gettext("price unknown")
