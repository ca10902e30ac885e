"""The admin panel's sign-in, and groups. `chat.admin.accounts` shows the accounts themselves."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin
from django.contrib.auth.models import Group

admin.site.unregister(Group)


@admin.register(Group)
class PlainGroupAdmin(GroupAdmin):
    """Groups. Django's pair of boxes breaks rules of ARIA; the browser's own list does not."""

    filter_horizontal = ()


# The admin's own login form has no rate limit: send people through the site's, which has one.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
