"""HTTP addresses."""

from django.contrib import admin
from django.urls import include, path

from chat import views

urlpatterns = [
    path("", views.home, name="home"),
    path("c/", views.conversation_create, name="conversation_create"),
    path("c/<uuid:pk>/", views.conversation, name="conversation"),
    path("c/<uuid:pk>/messages/", views.messages, name="messages"),
    path("c/<uuid:pk>/rename/", views.conversation_rename, name="conversation_rename"),
    path("c/<uuid:pk>/delete/", views.conversation_delete, name="conversation_delete"),
    path("c/<uuid:pk>/settings/", views.conversation_settings, name="conversation_settings"),
    path("c/<uuid:pk>/model/", views.conversation_model, name="conversation_model"),
    path("c/<uuid:pk>/retry/", views.conversation_retry, name="conversation_retry"),
    path("sidebar/", views.sidebar, name="sidebar"),
    path("healthz", views.health, name="health"),
    path("", include("accounts.urls")),
    path("account/", include("allauth.urls")),
    path("admin/", admin.site.urls),
]
