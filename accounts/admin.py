"""Accounts in the admin panel."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from accounts.models import User

admin.site.register(User, UserAdmin)

# The admin's own login form has no rate limit: send people through the site's, which has one.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
