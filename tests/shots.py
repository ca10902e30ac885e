"""Screenshots of the main states, to be looked at: `make shots`, or `python -m tests.shots DIR`.

Desktop and phone, light and dark. The model is scripted, so that every picture comes out the same.
"""

import argparse
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from playwright.sync_api import Browser, FilePayload, Page, sync_playwright

from demo.api.script import Script, is_chat, is_summary, is_title
from demo.api.server import DemoServer
from tests.support.patience import PATIENCE
from tests.support.programs import BROWSER, CHROMIUM_ARGUMENTS, require
from tests.support.server import EverlongProcess, build_site, manage

VOCABULARY = Path(__file__).resolve().parent.parent / "var" / "tiktoken"
PASSWORD = "a long enough password"
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
THEMES = ("light", "dark")
# A theme that has just changed is painted in the next frame.
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

QUESTIONS = [
    "We are moving our booking service from a cron job to a queue. Always answer with the "
    "trade-offs first. What should we look at?",
    "Show me the worker in Python, with retries.",
    "How do the options compare at 2,000 bookings an hour?",
    "Good. Which risks are left before the launch on 12 March?",
]
ANSWERS = [
    """The trade-off is **latency against simplicity**: a queue answers in seconds, a cron job needs
no broker.

1. *Delivery.* At-least-once means that every handler has to be idempotent.
2. *Order.* Bookings of one room must not overtake each other.
3. *Visibility.* A stuck queue is silent; alert on the age of the oldest job.

I would begin with the handlers: once they are idempotent, the rest is configuration.""",
    '''Retries trade duplicates for lost work, so the claim comes first:

```python
@shared_task(bind=True, acks_late=True, max_retries=5)
def confirm(self, booking_id: int) -> None:
    """Confirm a booking exactly once."""
    claimed = Booking.objects.filter(pk=booking_id, status="new").update(status="confirming")
    if not claimed:
        return  # somebody else has it
    try:
        gateway.charge(booking_id, timeout=10)
    except gateway.Unavailable as error:
        raise self.retry(exc=error, countdown=2**self.request.retries)
```

The `update` is the lock: of two workers one sees `claimed == 0` and leaves.''',
    """| option | p95 wait | cost a month | what breaks first |
|---|---:|---:|---|
| cron, every minute | 58 s | $0 | the run takes longer than a minute |
| Redis queue | 0.4 s | $25 | memory, at about 90,000 waiting jobs |
| PostgreSQL queue | 1.1 s | $0 | vacuum, above 300 jobs a second |

At 2,000 an hour all three work: a worker is busy for $\\rho = \\lambda / \\mu$ of the time, and
the mean wait is[^kingman]

$$W_q \\approx \\frac{\\rho}{1 - \\rho} \\cdot \\frac{c_a^2 + c_s^2}{2} \\cdot \\tau$$

Choose by what your team already runs.

[^kingman]: Kingman's formula; it holds for one worker under heavy load.""",
    """Three, in the order in which they would hurt:

- [ ] The gateway's rate limit of 100 calls a minute has never been tested.
- [ ] Nobody owns the dead-letter queue yet.
- [x] Room order is kept by routing on `room_id`.

Test the first one this week; the second needs a name, not code.""",
]
SUMMARY = """## Overview
The user moves a booking service from a cron job to a queue and launches on 12 March.
## Goal and constraints
- Answers give the trade-offs first [#1]
- It has to carry 2,000 bookings an hour [#5]
## Standing instructions
- Always answer with the trade-offs first. [#1]
## Decisions
- Handlers become idempotent first; the claim is a conditional update [#2 #4]
## Facts and values
- p95 wait: cron 58 s, Redis 0.4 s, PostgreSQL 1.1 s [#6]
## Progress
- Done: a worker with retries was written [#4]
## Files and artifacts
None.
## Errors and fixes
None.
## Open questions
None.
## Current work and next step
- Compare the options and choose one [#6]"""


class Studio:
    """A server with a scripted model, and a camera."""

    def __init__(self, directory: Path, browser: Browser, url: str, script: Script) -> None:
        self.directory = directory
        self.browser = browser
        self.url = url
        self.script = script

    @contextmanager
    def page(self, state: dict[str, object] | None = None) -> Iterator[Page]:
        width, height = SIZES["desktop"]
        context = self.browser.new_context(
            viewport={"width": width, "height": height},
            storage_state=state,  # type: ignore[arg-type]
            locale="en-GB",
            reduced_motion="reduce",
        )
        context.set_default_timeout(15_000)
        yield context.new_page()
        context.close()

    def shoot(self, page: Page, name: str, in_view: str = "body") -> None:
        """One state in all sizes and themes, with what matters in view."""
        for size, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            page.locator(in_view).last.scroll_into_view_if_needed()
            for theme in THEMES:
                page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
                page.evaluate(TWO_FRAMES)
                page.screenshot(path=self.directory / f"{name}-{size}-{theme}.png")
        width, height = SIZES["desktop"]
        page.set_viewport_size({"width": width, "height": height})


def say(page: Page, text: str) -> None:
    page.fill("#composer textarea[name=text]", text)
    page.keyboard.press("Enter")


def answered(page: Page, number: int) -> None:
    """Wait until so many answers are there and the composer is free."""
    page.locator("article[data-role=assistant][data-status=complete]").nth(number - 1).wait_for()
    page.locator("#send:visible").wait_for()


def take_all(studio: Studio, setup_path: str, fill: Callable[[], object]) -> None:
    """All pictures. `fill()` stores a year's model calls of a site of fifty people."""
    script = studio.script
    script.reply("Booking service: from cron to queue", when=is_title, always=True)
    with studio.page() as page:
        page.goto(studio.url)
        studio.shoot(page, "00-new-site")
        page.goto(studio.url + setup_path)
        studio.shoot(page, "01-first-run")
        page.fill("[name=username]", "ada")
        page.fill("[name=password1]", PASSWORD)
        page.fill("[name=password2]", PASSWORD)
        page.click("button[type=submit]")
        page.wait_for_url(studio.url + "/")
        studio.shoot(page, "02-empty")
        for number, (question, answer) in enumerate(zip(QUESTIONS, ANSWERS, strict=True), 1):
            if number == 3:
                gate = script.stall(answer[:330], then=answer[330:], when=is_chat)
                say(page, question)
                page.locator("article[data-status=streaming] .tail").wait_for()
                gate.reached.wait(PATIENCE)
                studio.shoot(page, "04-streaming")
                gate.release()
            else:
                script.reply(answer, when=is_chat)
                say(page, question)
            answered(page, number)
            if number == 2:
                studio.shoot(page, "03-code")
        branches(studio, page)
        choosing(studio, page)
        composing(studio, page)
        compact(studio, page)
        failure(studio, page)
        doors(studio, page)
        state = page.context.storage_state()
    with studio.page(state) as page:  # type: ignore[arg-type]
        page.goto(studio.url + "/admin/chat/conversation/")
        studio.shoot(page, "09-admin-conversations")
        page.goto(studio.url + "/admin/chat/compaction/")
        studio.shoot(page, "10-admin-compactions")
        page.click("#result_list tbody a")
        page.wait_for_url("**/compaction/*/change/**")
        studio.shoot(page, "11-admin-compaction")
        page.goto(studio.url + "/admin/chat/conversation/")
        page.click("#result_list tbody a")
        studio.shoot(page, "19-admin-conversation")
        page.goto(studio.url + "/admin/")
        studio.shoot(page, "22-admin")
        page.goto(studio.url)
        studio.shoot(page, "23-continue")
        settings(studio, page)
        page.goto(studio.url)
        page.get_by_label("Temporary chat").check()
        studio.script.reply("Gladly.", when=is_chat)
        say(page, "A question that nobody keeps.")
        answered(page, 1)
        studio.shoot(page, "20-temporary")
        page.goto(studio.url)
        sharing(studio, page)
        fill()
        for name, path in MONEY_AND_ACCESS.items():
            page.goto(f"{studio.url}/{path}")
            if "/reauthenticate/" in page.url:
                page.fill("[name=password]", PASSWORD)
                page.keyboard.press("Enter")
                page.wait_for_url(f"**/{path}")
            studio.shoot(page, f"27-{name}")


def branches(studio: Studio, page: Page) -> None:
    """Another version of the last question, and the form that edits it."""
    studio.script.reply(
        "Two:\n\n1. The gateway's rate limit.\n2. The dead-letter queue.", when=is_chat
    )
    last = page.locator("article[data-role=user]").last
    last.hover()
    last.get_by_role("button", name="Edit message").click()
    page.locator(".edit-form textarea").fill("Good. Which two risks are the worst?")
    studio.shoot(page, "12-editing")
    page.locator(".edit-form textarea").press("Control+Enter")
    page.locator("article", has_text="1. The gateway").or_(
        page.locator("li", has_text="The dead-letter queue.")
    ).last.wait_for()
    answered(page, 4)
    studio.shoot(page, "13-branches")
    page.locator("article[data-role=user]").last.get_by_role(
        "button", name="Previous version"
    ).click()
    page.locator("article", has_text="has never been tested").wait_for()


def choosing(studio: Studio, page: Page) -> None:
    """The dialog before a compaction."""
    page.click("#gauge")
    page.click("#compact-now")
    page.get_by_label("Gentle").check()
    studio.shoot(page, "21-compact-choice", "#compact-form [type=submit]")
    page.keyboard.press("Escape")


def composing(studio: Studio, page: Page) -> None:
    """Files to be sent, the commands, the help, the menus."""
    source = (studio.directory / "03-code-desktop-light.png").read_bytes()
    script = b"print('x')\n" * 90
    files: list[FilePayload] = [
        {"name": "screenshot.png", "mimeType": "image/png", "buffer": source},
        {"name": "worker.py", "mimeType": "text/x-python", "buffer": script},
    ]
    page.set_input_files("#file-input", files)
    uploaded = page.locator("#tray input[name=attachments]")
    uploaded.nth(1).wait_for(state="attached")
    page.fill("#composer textarea", "What do you make of these?")
    studio.shoot(page, "14-files")
    studio.script.reply("A worker, and a picture of it.", when=is_chat)
    page.keyboard.press("Enter")
    answered(page, 5)
    studio.shoot(page, "15-files-sent")
    page.fill("#composer textarea", "")
    page.locator("#composer textarea").press_sequentially("/")
    studio.shoot(page, "16-commands")
    page.keyboard.press("Escape")
    page.fill("#composer textarea", "")
    page.keyboard.press("Control+/")
    studio.shoot(page, "17-help")
    page.keyboard.press("Escape")
    page.click("#conversation-menu summary")
    studio.shoot(page, "18-menu")
    page.keyboard.press("Escape")


SECTIONS = (
    *("general", "memory", "tokens", "notifications", "sessions", "security", "usage", "data"),
)


def settings(studio: Studio, page: Page) -> None:
    """The menu of the account, and each section of the settings."""
    page.click(".user-menu summary")
    studio.shoot(page, "24-account-menu")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+,")
    page.locator("#dialog .settings").wait_for()
    studio.shoot(page, "25-settings", "#dialog-title")
    for section in SECTIONS:
        page.goto(f"{studio.url}/settings/{section}/")
        studio.shoot(page, f"25-settings-{section}")
    page.goto(f"{studio.url}/settings/tokens/")
    page.get_by_label("Name").fill("Nightly backup")
    page.get_by_label("Export my conversations").check()
    page.get_by_role("button", name="Make the token").click()
    page.locator("#token-new").wait_for()
    studio.shoot(page, "25-settings-token")


def sharing(studio: Studio, page: Page) -> None:
    """The dialog of a conversation's links, and what a link shows."""
    page.locator("#sidebar-list a", has_text="Booking service").first.click()
    page.click("#conversation-menu summary")
    page.locator("#conversation-menu [data-url*=shares]").click()
    page.locator("#dialog form [type=submit]").first.click()
    link = page.locator("#dialog input[readonly]").first
    link.wait_for()
    studio.shoot(page, "26-shares", "#dialog-title")
    page.goto(link.input_value())
    studio.shoot(page, "26-shared")


# Made of a year's model calls, where they show any.
MONEY_AND_ACCESS = {
    "usage": "usage/",
    "password": "account/password/change/",
    "second-factor": "account/2fa/",
    "authenticator-app": "account/2fa/totp/activate/",
    "passkeys": "account/2fa/webauthn/",
    "sessions": "account/sessions/",
    "delete-account": "account/delete/",
    "admin": "admin/",
    "admin-charts": "admin/spending/modelcall/charts/",
    "admin-calls": "admin/spending/modelcall/",
    "admin-budgets": "admin/spending/budget/",
    "admin-accounts": "admin/accounts/user/",
    "admin-account": "admin/accounts/user/1/change/",
    "admin-groups": "admin/auth/group/",
    "admin-group": "admin/auth/group/1/change/",
    "admin-invitation": "admin/accounts/invitation/add/",
    "admin-announcement": "admin/chat/announcement/add/",
    "admin-audit": "admin/accounts/auditentry/",
}
FILL = """
from accounts.models import User
from spending.models import ModelCall
from tests.spending.year import fill_year
fill_year(20_000)
ModelCall.objects.filter(user__username="person00").update(user=User.objects.get(username="ada"))
"""


def compact(studio: Studio, page: Page) -> None:
    gate = studio.script.stall(SUMMARY[:100], then=SUMMARY[100:], when=is_summary)
    say(page, "/compact the launch")
    page.locator("#compaction-row").wait_for()
    gate.reached.wait(PATIENCE)
    page.wait_for_timeout(400)  # the spinner shows after 150 ms
    studio.shoot(page, "05-compacting")
    gate.release()
    page.locator(".divider").wait_for()
    page.click("#gauge")
    page.locator("#gauge-panel .plot").wait_for()
    studio.shoot(page, "06-panel")
    page.keyboard.press("Escape")
    page.locator(".divider .summary > summary").click()
    page.locator(".divider").scroll_into_view_if_needed()
    studio.shoot(page, "07-compacted")


def failure(studio: Studio, page: Page) -> None:
    studio.script.error(429, retry_after=40, when=is_chat)
    say(page, "Write the announcement for the team.")
    page.locator("article[data-status=failed]").wait_for()
    studio.shoot(page, "08-error", "article .error-card, article[data-status=failed]")


def doors(studio: Studio, page: Page) -> None:
    """What waits to be sent, what is scheduled, how a chat is saved, an import, the API's page."""
    gate = studio.script.stall("Rollouts trade", then=" speed for safety.", when=is_chat)
    say(page, "How would you roll it out?")
    page.locator("article[data-status=streaming] .tail").wait_for()
    gate.reached.wait(PATIENCE)
    for text in ("And who has to be told?", "Write that as a checklist for the launch day."):
        say(page, text)
        page.locator(".queued", has_text=text).wait_for()
    studio.shoot(page, "28-queue")
    for left in (1, 0):
        page.locator(".queued [data-queue=remove]").last.click()
        page.wait_for_function("n => document.querySelectorAll('.queued').length === n", arg=left)
    gate.release()
    page.locator("#send:visible").wait_for()
    for name, entry in (("29-schedules", "Scheduled prompts…"), ("29-saving", "Save as a file…")):
        page.click("#conversation-menu summary")
        page.get_by_role("button", name=entry).click()
        page.locator("#dialog-title").wait_for()
        studio.shoot(page, name, "#dialog-title")
        page.keyboard.press("Escape")
    page.goto(f"{studio.url}/imports/")
    studio.shoot(page, "30-imports")
    export = FilePayload(name="chats.json", mimeType="application/json", buffer=EXPORT)
    page.set_input_files("[name=files]", [export])
    page.get_by_role("heading", name="Report").wait_for()
    studio.shoot(page, "30-import-report")
    page.goto(f"{studio.url}/api/v1/docs/")
    studio.shoot(page, "31-api")


# Of ChatGPT: a short chat, custom instructions, and a picture whose bytes are not there.
EXPORT = json.dumps(
    [
        {
            "id": "one",
            "title": "Sourdough",
            "create_time": 1_750_000_000,
            "mapping": {
                "a": {
                    "parent": None,
                    "message": {
                        "author": {"role": "user"},
                        "content": {
                            "content_type": "user_editable_context",
                            "user_profile": "I bake on Sundays.",
                            "user_instructions": "Answer in grams.",
                        },
                    },
                },
                "b": {
                    "parent": "a",
                    "message": {
                        "author": {"role": "user"},
                        "content": {
                            "content_type": "multimodal_text",
                            "parts": [
                                "Is this crumb too tight?",
                                {
                                    "content_type": "image_asset_pointer",
                                    "asset_pointer": "file-service://file-crumb",
                                },
                            ],
                        },
                    },
                },
                "c": {
                    "parent": "b",
                    "message": {
                        "author": {"role": "assistant"},
                        "content": {
                            "content_type": "text",
                            "parts": ["A little. Give it 40 minutes more at 24 °C."],
                        },
                    },
                },
            },
        }
    ]
).encode()


@contextmanager
def running_site() -> Iterator[tuple[EverlongProcess, DemoServer, Browser]]:
    """A new site of its own, its scripted model, and Chromium. Nothing is read from `.env`."""
    with tempfile.TemporaryDirectory() as scratch, DemoServer() as model, sync_playwright() as play:
        (site := Path(scratch) / "site").mkdir()
        shutil.copytree(VOCABULARY, site / "tiktoken")
        build_site(site)
        server = EverlongProcess(
            Path(scratch),
            site,
            ANTHROPIC_BASE_URL=model.base_url,
            ANTHROPIC_API_KEY="test",
            DEFAULT_MODEL="claude-sonnet-5-5",
            MODEL_RETRIES="0",
            ENV_FILE=os.devnull,
        ).start()
        browser = play.chromium.launch(executable_path=require(*BROWSER), args=CHROMIUM_ARGUMENTS)
        try:
            yield server, model, browser
        finally:
            browser.close()
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, nargs="?", default=Path("shots"))
    directory: Path = parser.parse_args().directory
    directory.mkdir(parents=True, exist_ok=True)
    with running_site() as (server, model, browser):
        fill = partial(manage, server.environment, "shell", "--command", FILL)
        take_all(Studio(directory, browser, server.url, model.script), server.setup_path, fill)
    print(f"Screenshots are in {directory}.")


if __name__ == "__main__":
    main()
