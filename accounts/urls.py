"""Included at the root, before django-allauth's own addresses."""

from django.urls import path

from accounts import invitation_pages, session_pages, views

urlpatterns = [
    path("setup/<str:token>/", views.setup, name="setup"),
    path("session/", views.session, name="session"),
    path("invitation/<str:token>/", invitation_pages.invitation, name="invitation"),
    path("account/sessions/", session_pages.sessions, name="usersessions_list"),
    path("account/sessions/others/", session_pages.sessions_end_others, name="sessions_end_others"),
    path("account/sessions/<int:pk>/", session_pages.session_end, name="session_end"),
]
