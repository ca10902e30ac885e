"""Included below `account/`, for it is in the package of django-allauth's provider."""

from django.urls import path

from accounts.oidc import views

urlpatterns = [
    path("oidc/login/", views.login, name="oidc_login"),
    path("oidc/login/callback/", views.callback, name="oidc_callback"),
]
