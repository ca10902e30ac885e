from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from chat.live import budget_news, sign_outs  # noqa: F401 - connect their receivers
