from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        # They listen: to sign-ins, and to second factors that come and go.
        import accounts.oidc.groups
        import accounts.second_factor
        import accounts.sign_up  # noqa: F401
