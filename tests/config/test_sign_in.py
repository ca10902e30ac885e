"""Settings about sign-in: what does not go together is refused in words."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.sign_in import read_openid_provider, read_sign_up
from config.variables import Variables

PROVIDER = {"OIDC_ISSUER": "https://login.example.org/realm", "OIDC_CLIENT_ID": "everlong"}


def put(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> Variables:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return Variables()


def test_without_an_issuer_there_is_no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_openid_provider(put(monkeypatch, {"OIDC_CLIENT_ID": "everlong"})) is None


def test_a_provider_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {
        "OIDC_ISSUER": f"{PROVIDER['OIDC_ISSUER']}/.well-known/openid-configuration",
        "OIDC_GROUPS": "staff, 4f3a=Finance",
        "OIDC_ORIGINS": "https://other.example.org",
        "OIDC_CLIENT_SECRET": "a-secret-of-both",
    }
    found = read_openid_provider(put(monkeypatch, PROVIDER | more))
    assert found
    assert found.issuer == PROVIDER["OIDC_ISSUER"]
    assert found.groups == {"staff": "staff", "4f3a": "Finance"}
    assert found.origins == ("https://login.example.org", "https://other.example.org")
    assert "a-secret-of-both" not in repr(found)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"OIDC_ISSUER": "http://login.example.org"}, "begins with https"),
        ({"OIDC_ISSUER": "login.example.org"}, "OIDC_ISSUER is no address"),
        ({"OIDC_CLIENT_ID": ""}, "Set OIDC_CLIENT_ID too"),
        ({"OIDC_SCOPES": "email"}, "among them openid"),
        ({"OIDC_ORIGINS": "https://other.example.org/path"}, "origins such as"),
    ],
)
def test_a_provider_that_cannot_be_used_is_refused(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, str], words: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=words):
        read_openid_provider(put(monkeypatch, PROVIDER | change))


@pytest.mark.parametrize("who", ["open", "domain"])
def test_sign_up_needs_a_way_to_confirm_addresses(
    monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    env = put(monkeypatch, {"SIGNUP": who, "SIGNUP_DOMAINS": "@Example.org"})
    with pytest.raises(ImproperlyConfigured, match="Set EMAIL_URL, or OIDC_ISSUER"):
        read_sign_up(env, has_mail=False, has_provider=False)
    for has_mail in True, False:
        found = read_sign_up(env, has_mail, has_provider=not has_mail)
        assert (found.who, found.domains) == (who, {"example.org"})


def test_sign_up_by_domain_needs_domains(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImproperlyConfigured, match="Set SIGNUP_DOMAINS"):
        read_sign_up(put(monkeypatch, {"SIGNUP": "domain"}), True, True)


def test_sign_up_is_closed_unless_somebody_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_sign_up(put(monkeypatch, {}), False, False).who == "closed"


def test_a_mail_server_is_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    found = put(monkeypatch, {"EMAIL_URL": "submission://me:pass@mail.example.org:587"}).mail(
        "EMAIL_URL"
    )
    assert (found["EMAIL_HOST"], found["EMAIL_PORT"]) == ("mail.example.org", 587)
    assert found["EMAIL_USE_TLS"]


@pytest.mark.parametrize("wrong", ["mail.example.org", "imap://me:hush-hush@mail.example.org"])
def test_another_address_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        put(monkeypatch, {"EMAIL_URL": wrong}).mail("EMAIL_URL")
    assert "EMAIL_URL is no address of a mail server" in str(refused.value)
    assert "hush-hush" not in str(refused.value)


def test_no_mail_server_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMAIL_URL", raising=False)
    assert Variables().mail("EMAIL_URL") == {}
