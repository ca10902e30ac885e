from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = "People"  # "Accounts" is what django-allauth is called

    def ready(self) -> None:
        # They listen: to sign-ins and sessions that end, to second factors that come and go, to
        # changes of groups.
        import accounts.audit
        import accounts.oidc.groups
        import accounts.policies
        import accounts.push
        import accounts.second_factor
        import accounts.sign_up  # noqa: F401
