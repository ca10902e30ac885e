"""Websocket addresses."""

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.urls import path, re_path

from chat.live.consumer import ConversationConsumer

websocket_urlpatterns = [
    path(
        f"{settings.BASE_PATH[1:]}ws/conversations/<uuid:conversation_id>/",
        ConversationConsumer.as_asgi(),
    ),
    re_path("", WebsocketDenier.as_asgi()),  # without it, a traceback in the log for each
]
