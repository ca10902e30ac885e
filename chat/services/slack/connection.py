"""Which process is connected to Slack, and what is wrong with the connection."""

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from chat.models import SlackConnection

LEASE = timedelta(seconds=15)  # a process that does not extend it so long is taken for dead


def take_lease(holder: str) -> bool:
    """Become or stay the process that is connected; False where another one is."""
    now = timezone.now()
    row = SlackConnection.objects.filter(pk=SlackConnection.ONLY)
    free = Q(holder=holder) | Q(holder="") | Q(lease_expires__lt=now)
    if row.filter(free).update(holder=holder, lease_expires=now + LEASE):
        return True
    if row.exists():
        return False
    first = SlackConnection(pk=SlackConnection.ONLY, holder=holder, lease_expires=now + LEASE)
    SlackConnection.objects.bulk_create([first], ignore_conflicts=True)
    return row.filter(holder=holder).exists()


def give_up_lease(holder: str) -> None:
    """Let another process take over at once."""
    SlackConnection.objects.filter(pk=SlackConnection.ONLY, holder=holder).update(holder="")


def note_team(team: str, team_name: str) -> None:
    """Which workspace the tokens belong to."""
    _change(team=team, team_name=team_name[:200])


def note_problem(problem: str) -> None:
    """Why Slack is not reached, in words for the administrator; "": it is."""
    _change(problem=problem)


def _change(**values: str) -> None:
    SlackConnection.objects.filter(pk=SlackConnection.ONLY).exclude(**values).update(**values)
