"""The provider of identities that the settings name, and what of its claims counts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allauth.account.models import EmailAddress
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.app_settings import UID_MAX_LENGTH
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import (
    OpenIDConnectProvider,
    OpenIDConnectProviderAccount,
)
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from allauth.utils import build_absolute_uri
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from accounts.oidc.claims import (
    find_verified_address,
    is_about,
    is_storable,
    keep_texts,
    merge_claims,
)


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Raises OAuth2Error where a document is of another shape than its reader expects."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise OAuth2Error(f"{what} cannot be read: {error!r:.200}") from error


class OpenIdAdapter(OpenIDConnectOAuth2Adapter):
    """django-allauth's conversation with a provider, with two checks more."""

    @property
    def openid_config(self) -> dict[str, Any]:
        """What the provider says of itself. Raises OAuth2Error if it is another one's document, or
        does not say where one signs in, and RequestException if there is none."""
        if not hasattr(self, "_openid_config"):
            with get_adapter().get_requests_session() as session:
                answer = session.get(self.get_provider().server_url)
            answer.raise_for_status()
            self._openid_config = self._check(answer.json())
        return self._openid_config

    def _check(self, config: Any) -> dict[str, Any]:
        if not isinstance(config, dict):
            raise OAuth2Error("What OIDC_ISSUER says of itself is no object.")
        if str(config.get("issuer")).rstrip("/") != self.provider_id.rstrip("/"):
            raise OAuth2Error(f"OIDC_ISSUER calls itself {config.get('issuer')!r:.200}.")
        if missing := {"authorization_endpoint", "token_endpoint"} - config.keys():
            raise OAuth2Error(f"OIDC_ISSUER does not name its {' and '.join(sorted(missing))}.")
        return config

    def get_access_token_data(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        with _reading("The provider's answer to a code"):
            data: dict[str, Any] = super().get_access_token_data(*args, **kwargs)
            return {**data}  # no object: TypeError

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **kwargs: Any) -> Any:
        """Raises OAuth2Error where a document about the person is missing, or about another."""
        if not (id_token := kwargs["response"].get("id_token")):
            raise OAuth2Error("The provider sent no ID token.")
        with _reading("The provider's ID token or its keys"):
            data = {"id_token": self._decode_id_token(app, id_token)}
        if not 0 < len(str(data["id_token"].get("sub") or "")) <= UID_MAX_LENGTH:
            raise OAuth2Error("The provider's ID token is about nobody, or has too long a name.")
        if "userinfo_endpoint" in self.openid_config:
            data["userinfo"] = self._fetch_user_info(token.token)
            if not is_about(data["userinfo"], data["id_token"]["sub"]):
                raise OAuth2Error("The provider's user info is about somebody else.")
        if not is_storable(data):
            raise OAuth2Error("The provider sent characters that are none.")
        return self.get_provider().sociallogin_from_response(request, data)

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        return build_absolute_uri(request, reverse("oidc_callback"))


class OpenIdAccount(OpenIDConnectProviderAccount):
    def to_str(self) -> str:
        """What its owner knows it by."""
        claims = self.account.extra_data
        return str(claims.get("email") or claims.get("preferred_username") or self.account.uid)


class OpenIdProvider(OpenIDConnectProvider):
    """A person's address counts only if the provider has verified it."""

    account_class = OpenIdAccount
    oauth2_adapter_class = OpenIdAdapter

    def get_login_url(self, request: HttpRequest, **kwargs: Any) -> str:
        query = f"?{urlencode(kwargs)}" if kwargs else ""
        return reverse("oidc_login") + query

    def get_callback_url(self) -> str:
        return reverse("oidc_callback")

    def extract_uid(self, data: dict[str, Any]) -> str:
        return str(data["id_token"]["sub"])

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Only what is asked later: nothing else of a person's data is stored."""
        claims = merge_claims(data)
        kept = {"email", "preferred_username", self.app.settings["groups_claim"]}
        return {name: claims[name] for name in kept & claims.keys()}

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = super().extract_common_fields(keep_texts(merge_claims(data)))
        fields["email"] = find_verified_address(data)
        return fields

    def extract_email_addresses(self, data: dict[str, Any]) -> list[EmailAddress]:
        address = find_verified_address(data)
        return [EmailAddress(email=address, verified=True, primary=True)] if address else []


provider_classes = [OpenIdProvider]  # django-allauth's registry asks for it
