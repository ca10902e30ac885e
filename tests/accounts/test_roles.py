"""Roles, and that an administrator is always left."""

import pytest

from accounts.models import Role, User
from accounts.roles import LastAdministrator, require_administrator_without, set_role
from tests.chat.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("role", Role)
def test_a_role_is_what_it_was_set_to(role: Role) -> None:
    user = User()
    set_role(user, role)
    assert user.role == role


def test_the_last_administrator_may_not_go() -> None:
    root, plain = make_user(admin=True), make_user()
    disabled = make_user(admin=True)
    disabled.is_active = False
    disabled.save()
    for leaving in ([root.pk], [root.pk, plain.pk], [root.pk, disabled.pk]):
        with pytest.raises(LastAdministrator):
            require_administrator_without(leaving)
    for leaving in ([], [plain.pk], [disabled.pk]):
        require_administrator_without(leaving)


def test_of_two_administrators_one_may_go() -> None:
    both = [make_user(admin=True).pk, make_user(admin=True).pk]
    require_administrator_without(both[:1])
    with pytest.raises(LastAdministrator):
        require_administrator_without(both)
