"""Included at the root: `/setup/<token>/`."""

from django.urls import path

from accounts import views

urlpatterns = [path("setup/<str:token>/", views.setup, name="setup")]
