from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from chat.live import sign_outs  # noqa: F401 - connects its receivers
