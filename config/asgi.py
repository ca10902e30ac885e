"""The ASGI application: HTTP to Django, websockets to the consumer."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
http = get_asgi_application()  # loads the apps that the imports below need

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402

from chat.live.routing import websocket_urlpatterns  # noqa: E402
from config.middleware import BelowPath, ReusingThreads, SameOriginMiddleware  # noqa: E402

protocols = ProtocolTypeRouter(
    {
        "http": ReusingThreads(http),
        "websocket": SameOriginMiddleware(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
application = BelowPath(protocols, settings.BASE_PATH)
