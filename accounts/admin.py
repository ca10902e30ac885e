"""The admin panel's sign-in. `chat.admin` shows accounts and groups."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin

# The admin's own login form has no rate limit: send people through the site's, which has one.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
