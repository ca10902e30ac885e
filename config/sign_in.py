"""How people come in: who may make an account, mail, and a provider that says who somebody is.

What does not go together stops the start, as every value that cannot be used.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from agent.wire.proxies import is_loopback
from config.variables import Variables, wrong

WELL_KNOWN = "/.well-known/openid-configuration"


@dataclass(frozen=True)
class OpenIdProvider:
    """A provider of identities that speaks OpenID Connect.

    `groups`: the groups that it governs, by the value that its claim has for each. `origins`:
    those that a browser passes through at a sign-in.
    """

    issuer: str
    client_id: str
    secret: str = field(repr=False)
    name: str
    scopes: tuple[str, ...]
    groups_claim: str
    groups: Mapping[str, str]
    origins: tuple[str, ...]


@dataclass(frozen=True)
class SignUp:
    """Who may make an account without an invitation: "closed", "open" or "domain"."""

    who: str
    domains: frozenset[str]
    group: str


def read_openid_provider(env: Variables) -> OpenIdProvider | None:
    """None where `OIDC_ISSUER` is not set. Raises ImproperlyConfigured."""
    issuer = env.address("OIDC_ISSUER").removesuffix(WELL_KNOWN)
    client_id, secret = env.str("OIDC_CLIENT_ID", ""), env.secret("OIDC_CLIENT_SECRET")
    name = env.str("OIDC_NAME", "single sign-on")
    scopes = env.list("OIDC_SCOPES", ["openid", "profile", "email"])
    groups_claim = env.str("OIDC_GROUPS_CLAIM", "groups")
    groups = dict(_read_group(each) for each in env.list("OIDC_GROUPS", []))
    origins = env.list("OIDC_ORIGINS", [])
    if not issuer:
        return None
    parts = urlsplit(issuer)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise wrong("OIDC_ISSUER", "an address that begins with https://")
    if not client_id:
        raise ImproperlyConfigured("Set OIDC_CLIENT_ID too: OIDC_ISSUER knows this site by it.")
    if "openid" not in scopes:
        raise wrong("OIDC_SCOPES", "names separated by commas, among them openid")
    for origin in origins:
        if origin != _origin_of(origin):
            raise wrong("OIDC_ORIGINS", "origins such as https://login.example.org")
    return OpenIdProvider(
        issuer=issuer,
        client_id=client_id,
        secret=secret,
        name=name,
        scopes=tuple(scopes),
        groups_claim=groups_claim,
        groups=groups,
        origins=(_origin_of(issuer), *origins),
    )


def read_sign_up(env: Variables, has_mail: bool, has_provider: bool) -> SignUp:
    """Raises ImproperlyConfigured where nobody could show that an address is theirs."""
    who = env.str("SIGNUP", "closed", ("closed", "open", "domain"))
    domains = [each.lower().removeprefix("@") for each in env.list("SIGNUP_DOMAINS", [])]
    if who != "closed" and not (has_mail or has_provider):
        raise ImproperlyConfigured(
            f"SIGNUP is “{who}”, and no address could be confirmed. Set EMAIL_URL, or OIDC_ISSUER."
        )
    if who == "domain" and not domains:
        raise ImproperlyConfigured("Set SIGNUP_DOMAINS: SIGNUP is “domain”.")
    return SignUp(who, frozenset(domains), env.str("SIGNUP_GROUP", ""))


def _read_group(entry: str) -> tuple[str, str]:
    """`name`, or `value=name` where the provider has another word for the group."""
    value, _, name = entry.partition("=")
    return value.strip(), name.strip() or value.strip()


def _origin_of(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"
