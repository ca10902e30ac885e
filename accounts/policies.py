"""What people may use, as their groups' policies say. Whoever makes a request asks here.

Each process keeps an answer for a moment (`accounts.kept`), so that a right that was taken away
holds everywhere soon, and at once in the process that took it.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.db.models.signals import m2m_changed, post_delete, post_save

from accounts.kept import Kept
from accounts.models import GroupPolicy, User

# Without the ORM, which takes longer than the database: every turn may ask.
READ = """
SELECT person.id, person.is_active, person.default_model, member.group_id, policy.id,
       policy.model_names, policy.tool_groups, policy.mcp_servers, policy.default_model,
       policy.retention_days
FROM accounts_user AS person
LEFT JOIN accounts_user_groups AS member ON member.user_id = person.id
LEFT JOIN accounts_grouppolicy AS policy ON policy.group_id = member.group_id
WHERE person.id IN ({places})
ORDER BY person.id, member.group_id
"""

Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class Rights:
    """What one person may use. None stands for all there are."""

    model_names: Names | None = None
    tool_groups: Names | None = None
    mcp_servers: Names | None = None
    # Of new conversations, the first that is offered: the person's own choice, then those of their
    # groups, as far as they may use them.
    default_models: tuple[str, ...] = ()
    retention_days: int | None = None  # None: as the site says
    group_ids: tuple[int, ...] = ()  # of all their groups, also those without a policy

    def may_use_model(self, name: str) -> bool:
        return self.model_names is None or name in self.model_names

    def may_use_tools(self, group: str) -> bool:
        return self.tool_groups is None or group in self.tool_groups

    def may_use_server(self, name: str) -> bool:
        return self.mcp_servers is None or name in self.mcp_servers


# Of an account that is disabled or gone.
NOTHING = Rights(Names(), Names(), Names())

_kept: Kept[int, Rights] = Kept()


def load_rights(user_id: int) -> Rights:
    """What a person may use: nothing, where the account is disabled or gone."""
    return load_all_rights([user_id])[user_id]


def load_all_rights(user_ids: Collection[int]) -> dict[int, Rights]:
    """`load_rights` of several people, by their ids, in one statement."""
    known = {pk: kept for pk in user_ids if (kept := _kept.find(pk)) is not None}
    unknown = [pk for pk in user_ids if pk not in known]
    if not unknown:
        return known
    read = dict.fromkeys(unknown, NOTHING) | _read_rights(unknown)
    for pk, rights in read.items():
        _kept.keep(pk, rights)
    return known | read


def find_cost_centre(user_id: int) -> int | None:
    """The id of the group that a person's calls are booked for where no budget says it: the first
    of theirs that was made. None: they have none."""
    return next(iter(load_rights(user_id).group_ids), None)


def set_policy(group: Group, **values: Any) -> None:
    """Say what the members of a group may use: all fields of `GroupPolicy`."""
    GroupPolicy.objects.update_or_create(group=group, defaults=values)


def remove_policy(group: Group) -> None:
    """Let a group say nothing of what its members may use."""
    GroupPolicy.objects.filter(group=group).delete()


def forget_rights(**_: Any) -> None:
    """Read everybody's rights anew: now, and once more when others see what has changed."""
    _kept.forget()
    transaction.on_commit(_kept.forget)


for changed in (Group, GroupPolicy, User):
    for signal in (post_save, post_delete):
        signal.connect(forget_rights, sender=changed)
m2m_changed.connect(forget_rights, sender=User.groups.through)


def _read_rights(user_ids: Iterable[int]) -> dict[int, Rights]:
    ids = list(user_ids)
    with connection.cursor() as cursor:
        cursor.execute(READ.format(places=", ".join(["%s"] * len(ids))), ids)
        rows = cursor.fetchall()
    return {pk: _combine([*of_one]) for pk, of_one in groupby(rows, key=itemgetter(0))}


def _combine(rows: list[tuple[Any, ...]]) -> Rights:
    """The rights of a person, of whom there is a row for each group, or one without a group."""
    _, is_active, own_default, *_ = rows[0]
    if not is_active:
        return NOTHING
    policies = [row[5:] for row in rows if row[4] is not None]
    models, tools, servers = (_join(policy[place] for policy in policies) for place in range(3))
    wanted = [own_default, *(policy[3] for policy in policies)]
    days = [policy[4] for policy in policies if policy[4] is not None]
    return Rights(
        models,
        tools,
        servers,
        tuple(name for name in wanted if name and (models is None or name in models)),
        max(days, default=None),
        tuple(row[3] for row in rows if row[3] is not None),
    )


def _join(stored: Iterable[str | None]) -> Names | None:
    """What any of the policies allows, from their lists as JSON; all, where one has none, or where
    there is no policy."""
    lists = [json.loads(each or "null") for each in stored]
    if not lists or None in lists:
        return None
    return Names(chain.from_iterable(lists))
