"""Ways in, in a real browser: a provider of identities on another origin, an authenticator app,
passkeys, invitations, and a list of sessions that one can end."""

import base64
import hmac
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import PASSWORD, Check, create_administrator
from tests.support.openid_provider import OpenIdProviderProcess
from tests.support.server import EverlongProcess, manage
from tests.support.services import free_port

pytestmark = pytest.mark.e2e

MakePerson = Callable[[str], None]
BUTTON = "Continue with Example ID"
PEOPLE = [
    {
        "sub": "grace",
        "email": "Grace@Example.org",
        "email_verified": True,
        "preferred_username": "grace",
        "groups": ["staff", "chess"],
    },
    {"sub": "edsger", "email": "edsger@example.org", "email_verified": True},
    {"sub": "mallory", "email": "edsger@example.org", "email_verified": False},
    {"sub": "alan", "email": "alan@example.org", "email_verified": True},
    {"sub": "barbara", "preferred_username": "barbara"},
]
ADD_EDSGER = """
from allauth.account.models import EmailAddress
from accounts.models import User
edsger = User.objects.create_user("edsger", "edsger@example.org", "correct horse battery")
EmailAddress.objects.create(user=edsger, email="edsger@example.org", verified=True, primary=True)
User.objects.create_user("typed", "alan@example.org", "correct horse battery")
"""


@pytest.fixture(scope="module")
def issuer() -> str:
    """The address of the provider, on another origin than the site."""
    return f"http://localhost:{free_port()}"


@pytest.fixture
def provider(tmp_path: Path, issuer: str) -> Iterator[None]:
    """The provider answers."""
    process = OpenIdProviderProcess(tmp_path, int(issuer.rpartition(":")[2]), PEOPLE).start()
    yield
    process.kill()


@pytest.fixture(scope="module")
def everlong(
    tmp_path_factory: pytest.TempPathFactory, site: Path, issuer: str, browser: Browser
) -> Iterator[EverlongProcess]:
    """A site with an administrator, edsger, whose address is confirmed, and an account into which
    alan's address was typed."""
    process = EverlongProcess(
        tmp_path_factory.mktemp("sign-in"),
        site,
        ANTHROPIC_API_KEY="",
        ANTHROPIC_BASE_URL="",
        OIDC_ISSUER=issuer,
        OIDC_CLIENT_ID="everlong",
        OIDC_CLIENT_SECRET="shared-with-the-provider",
        OIDC_NAME="Example ID",
        OIDC_GROUPS="staff=Colleagues,admins",
        SIGNUP="open",
        EMAIL_URL=f"file:///{tmp_path_factory.mktemp('mail')}",
    ).start()
    process.url = process.url.replace("127.0.0.1", "localhost")  # a passkey is of a name
    with browser.new_context() as context:
        create_administrator(context, process)
    manage(process.environment, "shell", "-c", ADD_EDSGER)
    yield process
    process.kill()


@pytest.fixture
def make_person(everlong: EverlongProcess) -> MakePerson:
    """`make_person(name)`: somebody with an account and a password."""

    def make(name: str) -> None:
        ask(everlong, f"[User.objects.create_user({name!r}, password={PASSWORD!r})]")

    return make


def sign_in(page: Page, everlong: EverlongProcess, name: str) -> None:
    page.goto(f"{everlong.url}/account/login/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def show_who(page: Page) -> None:
    """Enter the password once more, for what changes how somebody signs in."""
    page.get_by_role("heading", name="Is it still you?").wait_for()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()


def continue_as(page: Page, everlong: EverlongProcess, person: str) -> None:
    """From the sign-in page to the provider, and from there back."""
    page.goto(f"{everlong.url}/account/login/")
    page.get_by_role("button", name=BUTTON).click()
    page.get_by_role("button", name=person, exact=True).click()


def who(page: Page, everlong: EverlongProcess) -> str:
    """The name of who is signed in, "" for nobody, and their groups."""
    pk = page.request.get(f"{everlong.url}/session/").json()["user"]
    return ask(everlong, f"User.objects.filter(pk={pk or 0}).values_list('username', flat=True)")


def add_authenticator(page: Page) -> None:
    """A device that keeps passkeys and has none yet. It agrees to whatever it is asked."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("WebAuthn.enable")
    devtools.send(
        "WebAuthn.addVirtualAuthenticator",
        {
            "options": {
                "protocol": "ctap2",
                "transport": "internal",
                "hasResidentKey": True,
                "hasUserVerification": True,
                "isUserVerified": True,
                "automaticPresenceSimulation": True,
            }
        },
    )


def find_code(key: str) -> str:
    """What an authenticator app shows now: RFC 6238 with its usual values."""
    counter = struct.pack(">Q", int(time.time()) // 30)
    digest = hmac.digest(base64.b32decode(key), counter, "sha1")
    offset = digest[-1] & 15
    number = int.from_bytes(digest[offset : offset + 4], "big") & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"


def ask(everlong: EverlongProcess, rows: str) -> str:
    """Values of the site's database, separated by blanks."""
    code = f"from accounts.models import *\nprint(*{rows})"
    return manage(everlong.environment, "shell", "-c", code).strip()


@pytest.mark.usefixtures("provider")
def test_who_comes_by_the_provider_has_an_account_and_groups(
    page: Page, everlong: EverlongProcess
) -> None:
    for _ in range(2):  # at first one is made, then it is found
        continue_as(page, everlong, "grace")
        page.wait_for_url(f"{everlong.url}/")
        assert who(page, everlong) == "grace"
        page.context.clear_cookies()
    assert ask(everlong, "User.objects.get(username='grace').groups.all()") == "Colleagues"
    assert ask(everlong, "User.objects.filter(email='grace@example.org')") == "grace"


@pytest.mark.usefixtures("provider")
def test_a_verified_address_opens_the_account_that_has_confirmed_it(
    page: Page, everlong: EverlongProcess
) -> None:
    continue_as(page, everlong, "mallory")  # who only says that it is theirs
    page.wait_for_url(f"{everlong.url}/")
    assert who(page, everlong) not in ("", "edsger")
    page.context.clear_cookies()
    continue_as(page, everlong, "edsger")
    page.wait_for_url(f"{everlong.url}/")
    assert who(page, everlong) == "edsger"


@pytest.mark.usefixtures("provider")
def test_an_address_that_was_only_typed_opens_nothing(
    page: Page, everlong: EverlongProcess
) -> None:
    continue_as(page, everlong, "alan")
    page.get_by_role("heading", name="An account has your address already").wait_for()
    assert who(page, everlong) == ""


def test_a_provider_that_is_away_is_explained(page: Page, everlong: EverlongProcess) -> None:
    page.goto(f"{everlong.url}/account/login/")
    page.get_by_role("button", name=BUTTON).click()
    page.get_by_role("heading", name="Example ID does not answer").wait_for()


def test_codes_of_an_app_and_recovery_codes_are_asked_for(
    page: Page, everlong: EverlongProcess, make_person: MakePerson
) -> None:
    make_person("tess")
    sign_in(page, everlong, "tess")
    page.goto(f"{everlong.url}/account/2fa/totp/activate/")
    show_who(page)
    key = page.locator("main code").inner_text()
    page.get_by_label("Authenticator code").fill(find_code(key))
    page.get_by_role("button", name="Add it").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()
    recovery = page.locator(".recovery-codes code").first.inner_text()
    page.context.clear_cookies()
    sign_in(page, everlong, "tess")
    page.get_by_role("heading", name="Your second factor").wait_for()
    page.goto(everlong.url)  # the password alone opens nothing
    page.wait_for_url(f"{everlong.url}/account/2fa/authenticate/")
    page.get_by_label("Code").fill(recovery)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{everlong.url}/")


def test_a_passkey_signs_in_by_itself(
    page: Page, everlong: EverlongProcess, make_person: MakePerson
) -> None:
    add_authenticator(page)
    make_person("pat")
    sign_in(page, everlong, "pat")
    page.goto(f"{everlong.url}/account/2fa/webauthn/add/")
    show_who(page)
    page.get_by_role("button", name="Add it").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()
    page.context.clear_cookies()
    page.goto(f"{everlong.url}/account/login/")
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(f"{everlong.url}/")
    assert who(page, everlong) == "pat"


def test_a_browser_without_a_passkey_is_told(page: Page, everlong: EverlongProcess) -> None:
    add_authenticator(page)
    page.goto(f"{everlong.url}/account/login/")
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_text("The browser gave no passkey").wait_for()


def test_a_session_is_ended_from_another_one_and_its_page_knows(
    page: Page, everlong: EverlongProcess, make_person: MakePerson, browser: Browser
) -> None:
    make_person("sue")
    sign_in(page, everlong, "sue")
    with browser.new_context() as elsewhere:
        other = elsewhere.new_page()
        sign_in(other, everlong, "sue")
        other.locator("#composer textarea").fill("Hello")
        other.keyboard.press("Enter")
        other.locator("article[data-role=assistant][data-status=complete]").wait_for()
        page.goto(f"{everlong.url}/account/sessions/")
        expect(page.locator(".rows li")).to_have_count(2)
        page.locator(".rows li").nth(1).get_by_role("button", name="Sign out").click()
        expect(page.locator(".rows li")).to_have_count(1)
        other.locator("#cover", has_text="You were signed out").wait_for()


def test_an_invitation_is_accepted_by_the_provider(
    page: Page, everlong: EverlongProcess, provider: None
) -> None:
    manage(
        everlong.environment,
        "shell",
        "-c",
        "from django.contrib.auth.models import Group\nGroup.objects.get_or_create(name='Chess')",
    )
    link = manage(everlong.environment, "invite", "--group", "Chess").strip()
    page.goto(everlong.url + link[link.index("/invitation/") :])
    page.get_by_role("button", name=BUTTON).click()
    page.get_by_role("button", name="barbara", exact=True).click()
    page.wait_for_url(f"{everlong.url}/")
    assert ask(everlong, "User.objects.get(username='barbara').groups.all()") == "Chess"
    page.context.clear_cookies()
    page.goto(everlong.url + link[link.index("/invitation/") :])
    page.get_by_role("heading", name="This invitation cannot be used").wait_for()


ENTRANCES = (
    *("login", "signup", "password/reset", "password/reset/done", "confirm-email", "oidc/login"),
    *(
        "password/reset/key/1-x",
        "confirm-email/x",
        "3rdparty/login/cancelled",
        "3rdparty/login/error",
    ),
)


def test_no_page_of_the_ways_in_breaks_a_rule(
    page: Page, everlong: EverlongProcess, make_person: MakePerson, check: Check
) -> None:
    for path in ENTRANCES:
        page.goto(f"{everlong.url}/account/{path}/")
        check(path)
    page.goto(f"{everlong.url}/account/login/")
    page.get_by_role("button", name=BUTTON).click()
    page.get_by_role("heading", name="Example ID does not answer").wait_for()
    check("the provider is away")
    link = manage(everlong.environment, "invite").strip()
    for path in link[link.index("/invitation/") :], "/invitation/x/":
        page.goto(everlong.url + path)
        check(path)
    make_person("ally")
    sign_in(page, everlong, "ally")
    page.wait_for_url(f"{everlong.url}/")
    for path in "2fa", "sessions", "3rdparty", "email", "password/change":
        page.goto(f"{everlong.url}/account/{path}/")
        check(path)
    page.get_by_role("link", name="Second factor").click()
    page.get_by_role("link", name="Add an app").click()
    page.get_by_role("heading", name="Is it still you?").wait_for()
    check("the password once more")
    show_who(page)
    key = page.locator("main code").inner_text()
    check("an app is added")
    page.get_by_label("Authenticator code").fill(find_code(key))
    page.get_by_role("button", name="Add it").click()
    page.get_by_role("heading", name="Recovery codes").wait_for()
    check("recovery codes")
    add_authenticator(page)
    page.goto(f"{everlong.url}/account/2fa/webauthn/add/")
    check("a passkey is added")
    page.get_by_role("button", name="Add it").click()
    page.get_by_text("The passkey is added.").wait_for()
    check("all second factors")
    for path in "webauthn", "recovery-codes/generate", "totp/deactivate":
        page.goto(f"{everlong.url}/account/2fa/{path}/")
        check(path)
    for link_name in "Rename", "Remove":
        page.goto(f"{everlong.url}/account/2fa/webauthn/")
        page.get_by_role("link", name=link_name).click()
        page.get_by_role("heading", name=link_name).wait_for()
        check(link_name)
    page.context.clear_cookies()
    sign_in(page, everlong, "ally")
    page.get_by_role("heading", name="Your second factor").wait_for()
    check("a second factor is asked for")
