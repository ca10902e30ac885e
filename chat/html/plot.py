"""How the context filled over the last answers, and what each compaction freed, as an SVG."""

from dataclasses import dataclass

from django.template.loader import render_to_string

from agent.compaction.policy import Origin
from agent.messages import Usage
from agent.model.unreported import ESTIMATED, WHOLE_USAGE
from chat.engine.state import RequestState
from chat.html.failsafe import draw_safely
from chat.html.figures import format_tokens
from chat.models import Compaction, Conversation, Message

MOST = 120  # answers
WIDTH, HEIGHT = 320, 88
TOP, BOTTOM = 12, 4  # room for the label above, and below the line
LABEL = 10  # of the scale, which must not run into the trigger's line


@dataclass(frozen=True, slots=True)
class Plot:
    """Points in the SVG's units: the line, the compactions' places, the height of the trigger."""

    line: list[tuple[float, float]]
    marks: list[float]
    trigger: float
    ticks: list[tuple[float, int]]  # the scale: heights and their tokens


def render_context_plot(state: RequestState) -> str:
    """The SVG for a conversation; "" where nothing was reported yet that can be believed."""
    if state.doubted:
        return ""
    trigger = state.policy.trigger_tokens(state.limits)
    return draw_safely("plot", lambda: _svg(state.conversation, trigger), str)


def _svg(conversation: Conversation, trigger: int) -> str:
    plot = _plot(conversation, trigger)
    if plot is None:
        return ""
    context = {
        "plot": plot,
        "points": " ".join(f"{x:.1f},{y:.1f}" for x, y in plot.line),
        "last": plot.line[-1],
        "ticks": [(y, format_tokens(tokens)) for y, tokens in plot.ticks],
        "answers": len(plot.line),
        "trigger": format_tokens(trigger),
        "width": WIDTH,
        "height": HEIGHT,
    }
    return render_to_string("chat/gauge/plot.html", context)


def _plot(conversation: Conversation, trigger: int) -> Plot | None:
    rows = conversation.messages.filter(active=True, role=Message.Role.ASSISTANT).order_by(
        "-position"
    )
    answers = [
        (position, Usage.from_api(reported).total)
        for position, reported in rows.values_list("position", "usage")[:MOST][::-1]
        if reported and reported.get(ESTIMATED) != WHOLE_USAGE
    ]
    if len(answers) < 2:
        return None
    top = int(max(trigger, *(tokens for _, tokens in answers)) * 1.05)
    step = WIDTH / (len(answers) - 1)

    def height(tokens: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - tokens / top)

    # A compaction stands before the first answer that was given after it.
    compacted = Compaction.objects.filter(
        conversation=conversation,
        origin=Origin.COMPACTION,
        status=Compaction.Status.COMPLETED,
        reverted=False,
        through__active=True,
        finished_at__isnull=False,
    )
    ends = list(compacted.order_by("-pk").values_list("finished_at", flat=True)[:MOST])
    times = dict(rows.values_list("position", "created_at")[:MOST])
    marks = []
    for end in ends:
        after = sum(end is not None and times[position] < end for position, _ in answers)
        if after:
            marks.append(min(WIDTH - 1.0, (after - 0.5) * step))
    line = [(index * step, height(tokens)) for index, (_, tokens) in enumerate(answers)]
    scale = [(height(tokens), tokens) for tokens in _round_steps(top)]
    ticks = [(y, tokens) for y, tokens in scale if abs(y - height(trigger)) > LABEL]
    return Plot(line, sorted(set(marks)), height(trigger), ticks)


def _round_steps(top: int) -> list[int]:
    """The two to four round numbers up to `top` that a scale is easily read by."""
    magnitude = 10 ** (len(str(top)) - 1)
    steps = (5 * magnitude, 2 * magnitude, magnitude, magnitude // 2)
    step = next((step for step in steps if 0 < 2 * step <= top), 1)
    return list(range(step, top + 1, step))
