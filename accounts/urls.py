"""Included at the root: `/setup/<token>/`, `/session/`."""

from django.urls import path

from accounts import views

urlpatterns = [
    path("setup/<str:token>/", views.setup, name="setup"),
    path("session/", views.session, name="session"),
]
