"""Who is what on this site. There is always an administrator who can sign in."""

from collections.abc import Collection

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from accounts.models import Role, User


class LastAdministrator(Exception):
    """Nobody who could administer the site would be left."""


def is_administrator(user: User | AnonymousUser) -> bool:
    """Whether somebody may do everything: in the administration some things are for these alone."""
    return isinstance(user, User) and user.is_active and user.role == Role.ADMINISTRATOR


def select_administrators() -> QuerySet[User]:
    """All who are, and can sign in."""
    return User.objects.filter(is_superuser=True, is_active=True)


def set_role(user: User, role: Role) -> None:
    """Make somebody a user, an operator or an administrator; the caller saves. Permissions that
    were ticked one by one stay."""
    user.is_superuser = role == Role.ADMINISTRATOR
    user.is_staff = role != Role.USER


def require_administrator_without(leaving: Collection[int]) -> None:
    """Raises LastAdministrator where nobody else administers the site than those with these ids,
    who are about to be deleted, disabled or made something else in the caller's transaction. Of two
    who go at once, the second one waits for the first."""
    administrators = select_administrators().order_by("pk")
    ids = {*administrators.select_for_update().values_list("pk", flat=True)}
    if ids and ids <= set(leaving):
        raise LastAdministrator
