"""Sign-in by a provider of identities, over real HTTP: whose account is opened, and which groups
follow. `tests/e2e/test_sign_in.py` does it in a browser."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group
from django.http import HttpResponse
from django.test import Client

from accounts.invitations import invite
from accounts.models import Invitation, User
from accounts.oidc.claims import find_verified_address
from accounts.oidc.http import ProxiedSession
from agent.wire.proxies import Proxies
from config.sign_in import OpenIdProvider, SignUp
from tests.support.openid_provider import OpenIdProviderProcess
from tests.support.services import free_port

PASSWORD = "correct horse battery"
CALLBACK = "/account/oidc/login/callback/"

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="session")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a provider that runs."""
    port = free_port()
    process = OpenIdProviderProcess(tmp_path_factory.mktemp("provider"), port, []).start()
    yield f"http://localhost:{port}"
    process.kill()


def known(issuer: str, **groups: str) -> OpenIdProvider:
    return OpenIdProvider(
        issuer=issuer,
        client_id="everlong",
        secret="shared",
        name="Example ID",
        scopes=("openid", "profile", "email"),
        groups_claim="groups",
        groups=groups,
        origins=(issuer,),
    )


@pytest.fixture(autouse=True)
def site(settings: Any, issuer: str) -> None:
    settings.OPENID_PROVIDER = known(issuer, staff="Colleagues", admins="Administrators")
    settings.SIGN_UP = SignUp("open", frozenset(), "")


def come(issuer: str, sub: str, client: Client | None = None, **claims: Any) -> Client:
    """Somebody signs in at the provider, which says this of them, and comes back."""
    client = client or Client()
    finish(client, agree(issuer, sub, client, **claims))
    return client


def agree(
    issuer: str, sub: str, client: Client, process: str = "login", **claims: Any
) -> dict[str, str]:
    """What the provider sends the browser back with."""
    requests.put(f"{issuer}/users/{sub}", json=claims, timeout=10).raise_for_status()
    there = client.post(f"/account/oidc/login/?process={process}")["Location"]
    asked = parse_qs(urlsplit(there).query)
    assert asked["code_challenge_method"] == ["S256"]
    agreed = requests.post(there, data={"sub": sub}, allow_redirects=False, timeout=10)
    back = urlsplit(agreed.headers["Location"])
    assert back.path == CALLBACK
    return {name: values[0] for name, values in parse_qs(back.query).items()}


def finish(client: Client, answer: dict[str, str]) -> HttpResponse:
    return client.get(CALLBACK, answer)  # type: ignore[return-value]


def name_of(client: Client) -> str:
    """Who is signed in; "" for nobody."""
    pk = client.get("/session/").json()["user"]
    return User.objects.get(pk=pk).username if pk else ""


def test_somebody_new_has_an_account_without_a_password(issuer: str) -> None:
    client = come(
        issuer, "1", email="Grace@Example.org", email_verified=True, preferred_username="grace"
    )
    assert name_of(client) == "grace"
    grace = User.objects.get()
    assert not grace.has_usable_password()
    assert not grace.is_staff
    address = EmailAddress.objects.get()
    assert (address.email, address.verified) == ("grace@example.org", True)


def test_they_are_known_by_the_issuers_subject_not_by_name_or_address(issuer: str) -> None:
    come(issuer, "2", email="a@example.org", email_verified=True, preferred_username="a")
    again = come(issuer, "2", email="b@example.org", email_verified=True, preferred_username="b")
    assert name_of(again) == "a"
    assert (SocialAccount.objects.get().provider, SocialAccount.objects.get().uid) == (issuer, "2")


def test_a_name_that_is_taken_opens_no_account(issuer: str) -> None:
    User.objects.create_superuser("root")
    client = come(issuer, "3", preferred_username="root")
    assert name_of(client) not in ("root", "")


@pytest.mark.parametrize("said", [False, "false", "yes", 1, None])
def test_an_address_that_is_not_verified_links_to_nothing_and_is_not_kept(
    issuer: str, said: object
) -> None:
    ada = User.objects.create_user("ada", "ada@example.org")
    EmailAddress.objects.create(user=ada, email="ada@example.org", verified=True, primary=True)
    client = come(issuer, f"4{said}", email="ada@example.org", email_verified=said)
    assert name_of(client) != "ada"
    assert not User.objects.exclude(pk=ada.pk).filter(email="ada@example.org").exists()


def test_a_verified_address_opens_the_account_that_confirmed_it_and_stays_connected(
    issuer: str,
) -> None:
    ada = User.objects.create_user("ada")
    EmailAddress.objects.create(user=ada, email="ada@example.org", verified=True, primary=True)
    claims = {"email": "Ada@example.org", "email_verified": True}
    assert name_of(come(issuer, "5", **claims)) == "ada"
    assert name_of(come(issuer, "5", email="else@example.org", email_verified=True)) == "ada"


def test_who_has_got_the_address_of_somebody_else_does_not_get_their_account(issuer: str) -> None:
    come(issuer, "5a", email="desk@example.org", email_verified=True, preferred_username="ada")
    come(issuer, "5a", email="ada@example.org", email_verified=True)  # somewhere else since
    successor = come(issuer, "5b", email="desk@example.org", email_verified=True)
    assert name_of(successor) == ""
    assert list(SocialAccount.objects.values_list("uid", flat=True)) == ["5a"]
    assert name_of(come(issuer, "5a", email="ada@example.org", email_verified=True)) == "ada"


@pytest.mark.parametrize("is_listed", [False, True])
def test_an_address_that_nobody_confirmed_opens_no_account_and_makes_none(
    issuer: str, is_listed: bool
) -> None:
    ada = User.objects.create_user("ada", "Ada@example.org")
    if is_listed:
        EmailAddress.objects.create(user=ada, email="ada@example.org", verified=False)
    client = Client()
    answer = agree(issuer, "6", client, email="ada@example.org", email_verified=True)
    shown = finish(client, answer)
    assert shown.status_code == 409
    assert "An account has your address already" in shown.content.decode()
    assert (name_of(client), User.objects.count()) == ("", 1)


@pytest.mark.parametrize(
    ("address", "is_verified", "comes_in"),
    [
        ("ada@example.org", True, True),
        ("ada@example.org", False, False),
        ("ada@sub.example.org", True, False),
        ("ada@example.org.evil.test", True, False),
        ("", True, False),
    ],
)
def test_sign_up_by_domain_needs_a_verified_address_of_it(
    issuer: str, settings: Any, address: str, is_verified: bool, comes_in: bool
) -> None:
    settings.SIGN_UP = SignUp("domain", frozenset({"example.org"}), "People")
    client = come(issuer, f"7{address}", email=address, email_verified=is_verified)
    assert bool(name_of(client)) is comes_in
    assert Group.objects.filter(name="People", user__isnull=False).exists() is comes_in


def test_where_sign_up_is_closed_nobody_new_comes_in(issuer: str, settings: Any) -> None:
    settings.SIGN_UP = SignUp("closed", frozenset(), "")
    client = Client()
    answer = agree(issuer, "8", client, email="ada@example.org", email_verified=True)
    assert "Sign-up is closed" in finish(client, answer).content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize(
    ("for_whom", "comes_in"), [("", True), ("ada@example.org", True), ("eve@example.org", False)]
)
def test_an_invitation_lets_them_in_where_it_is_closed(
    issuer: str, settings: Any, for_whom: str, comes_in: bool
) -> None:
    settings.SIGN_UP = SignUp("closed", frozenset(), "")
    chess = Group.objects.create(name="Chess")
    _, token = invite(None, group=chess, email=for_whom)
    client = Client()
    client.get(f"/invitation/{token}/")
    come(issuer, f"9{for_whom}", client, email="ada@example.org", email_verified=True)
    assert bool(name_of(client)) is comes_in
    assert chess.user_set.exists() is comes_in
    assert bool(Invitation.objects.get().used_at) is comes_in


def groups_of(client: Client) -> set[str]:
    return set(User.objects.get(username=name_of(client)).groups.values_list("name", flat=True))


def test_groups_follow_the_claim_at_each_sign_in_and_others_stay(issuer: str) -> None:
    client = come(issuer, "10", preferred_username="ada", groups=["staff", "unknown"])
    assert groups_of(client) == {"Colleagues"}
    User.objects.get().groups.add(Group.objects.create(name="Chess"))
    assert groups_of(come(issuer, "10", groups=["admins"])) == {"Administrators", "Chess"}
    assert groups_of(come(issuer, "10", groups="staff")) == {"Colleagues", "Chess"}
    assert groups_of(come(issuer, "10")) == {"Chess"}


@pytest.mark.parametrize("said", [7, True, {"staff": False}, [["staff"]], ["x"] * 5000, None, ""])
def test_a_claim_of_groups_that_is_none_puts_nobody_into_one(issuer: str, said: object) -> None:
    assert groups_of(come(issuer, "10a", preferred_username="ada", groups=said)) == set()


@pytest.mark.parametrize(
    "claims",
    [
        {"preferred_username": 7, "name": {"a": 1}, "given_name": ["b"]},
        {"preferred_username": "x" * 5000, "name": "y" * 5000, "nickname": 3},
        {"email": ["a@example.org"], "email_verified": True},
        {"email": "x" * 500 + "@example.org", "email_verified": True},
    ],
)
def test_claims_of_other_kinds_do_not_keep_a_person_out(
    issuer: str, claims: dict[str, Any]
) -> None:
    assert name_of(come(issuer, "10b", **claims))
    assert not EmailAddress.objects.exists()


@pytest.mark.parametrize("said", ["a\0b", "\ud800"])
def test_what_no_database_stores_is_refused(issuer: str, said: str) -> None:
    for name in ("given_name", "groups", "email"):
        assert name_of(come(issuer, f"10c{name}", **{name: said})) == ""
    assert not User.objects.exists()


def test_who_is_signed_in_connects_it_after_their_password(issuer: str) -> None:
    User.objects.create_user("ada", "typed@example.org", PASSWORD)
    client = Client()
    client.post("/account/login/", {"login": "ada", "password": PASSWORD})
    answer = agree(issuer, "11", client, process="connect", email="x@example.org")
    assert finish(client, answer)["Location"] == "/account/reauthenticate/"
    assert not SocialAccount.objects.exists()
    client.post("/account/reauthenticate/", {"password": PASSWORD})
    assert SocialAccount.objects.get().user.username == "ada"
    assert name_of(come(issuer, "11")) == "ada"


def test_a_disabled_person_is_not_let_in(issuer: str) -> None:
    come(issuer, "12", preferred_username="ada")
    User.objects.update(is_active=False)
    assert name_of(come(issuer, "12")) == ""


def test_an_answer_counts_once_and_only_in_the_browser_that_asked(issuer: str) -> None:
    client = Client()
    answer = agree(issuer, "13", client, preferred_username="ada")
    assert finish(Client(), answer).status_code == 401
    finish(client, answer)
    assert name_of(client) == "ada"
    assert finish(client, answer).status_code == 401


def test_the_page_says_where_the_provider_is_away(settings: Any) -> None:
    settings.OPENID_PROVIDER = known(f"http://localhost:{free_port()}")
    answer = Client().post("/account/oidc/login/")
    assert answer.status_code == 503
    assert "Example ID does not answer" in answer.content.decode()


def test_another_issuers_document_is_not_believed(settings: Any, issuer: str) -> None:
    settings.OPENID_PROVIDER = known(issuer.replace("localhost", "127.0.0.1") + "/../")
    assert Client().post("/account/oidc/login/").status_code == 503


def test_an_issuer_may_end_with_a_slash(settings: Any, issuer: str) -> None:
    settings.OPENID_PROVIDER = known(f"{issuer}/")
    there = Client().post("/account/oidc/login/")["Location"]
    assert there.startswith(f"{issuer}/oauth2/authorize?")


def test_without_a_provider_there_is_no_such_page(settings: Any) -> None:
    settings.OPENID_PROVIDER = None
    assert Client().post("/account/oidc/login/").status_code == 404
    assert Client().get(CALLBACK).status_code == 404
    assert "Continue with" not in Client().get("/account/login/").content.decode()


def test_it_leads_back_to_the_page_that_was_asked_for(issuer: str) -> None:
    client = Client()
    there = client.post("/account/oidc/login/", {"next": "/projects/"})["Location"]
    agreed = requests.post(there, data={"sub": "14"}, allow_redirects=False, timeout=10)
    back = urlsplit(agreed.headers["Location"])
    assert client.get(f"{back.path}?{back.query}")["Location"] == "/projects/"


def test_merely_opening_the_address_asks_first(issuer: str) -> None:
    shown = Client().get("/account/oidc/login/")
    assert "Continue with Example ID?" in shown.content.decode()


def test_it_is_asked_through_the_proxy_of_the_settings(settings: Any) -> None:
    settings.PROXIES = Proxies.read({"https_proxy": f"http://127.0.0.1:{free_port()}"})
    with pytest.raises(requests.exceptions.ProxyError):
        ProxiedSession().get("https://login.example.org/")


def test_a_proxy_of_the_environment_alone_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, issuer: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{free_port()}")
    assert ProxiedSession().get(f"{issuer}/.well-known/openid-configuration").ok


@pytest.mark.parametrize(
    ("userinfo", "id_token", "address"),
    [
        ({"email": "A@b.org", "email_verified": True}, {}, "a@b.org"),
        ({"email": "a@b.org", "email_verified": "true"}, {}, "a@b.org"),
        ({}, {"email": "a@b.org", "email_verified": True}, "a@b.org"),
        # What one document says of an address is nothing about the other's.
        ({"email": "a@b.org"}, {"email": "c@d.org", "email_verified": True}, None),
        ({"email_verified": True}, {"email": "c@d.org"}, None),
        ({"email": "a@b.org", "email_verified": "false"}, {}, None),
        ({}, {}, None),
    ],
)
def test_which_address_is_verified(
    userinfo: dict[str, Any], id_token: dict[str, Any], address: str | None
) -> None:
    assert find_verified_address({"userinfo": userinfo, "id_token": id_token}) == address
