"""Hostile texts in the admin panel and in searches: pages keep the shape of harmless ones."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib import admin
from playwright.sync_api import BrowserContext, Page

from chat.html import formulas
from tests.data.corpus import Corpus, spread
from tests.data.recordings import need
from tests.data.watching import Watched, seed, sign_in
from tests.support.server import EverlongProcess, manage

pytestmark = pytest.mark.e2e

SHAPES = (Path(__file__).parent / "shapes.js").read_text("utf-8")
PAGES_OF_A_KIND = 25
SEARCHES = 40
SEARCHED = ["/sidebar/", "/admin/chat/conversation/", "/admin/chat/message/"]

# Of other people's rows the administration shows nothing without a reason, but of one's own.
TAKE = """
from accounts.models import User
from chat.models import Conversation, Memory, Project
first = User.objects.order_by("pk").first()
for rows in (Conversation.objects, Project.objects, Memory.everything):
    rows.update(owner=first)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, site: Path) -> Iterator[EverlongProcess]:
    running = EverlongProcess(tmp_path_factory.mktemp("admin"), site).start()
    yield running
    running.kill()


def fetched(page: Page, addresses: Iterable[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(SHAPES, list(addresses))
    return found


def by_kind(shapes: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    """Addresses of the pages of single rows that lists lead to."""
    kinds = defaultdict(set)
    for shape in shapes:
        for link in shape["links"]:
            if link.startswith("/admin/") and link.endswith("/change/"):
                kinds[link.split("/")[3]].add(link)
    spread = {kind: max(1, len(links) // PAGES_OF_A_KIND) for kind, links in kinds.items()}
    return {kind: sorted(links)[:: spread[kind]] for kind, links in kinds.items()}


def test_the_admin_shows_every_text_as_text(
    server: EverlongProcess,
    context: BrowserContext,
    page: Page,
    data_directory: Path,
    hostile: Corpus,
    report: dict[str, list[str]],
) -> None:
    need(hostile.xss, "XSS payload")
    watched = Watched(context, server.url)
    context.set_default_timeout(120_000)
    texts = [quote(case.text[:200]) for case in spread(hostile.xss, SEARCHES)]
    searches = [f"{address}?q={text}" for text in texts for address in SEARCHED]
    made = seed(server, data_directory, "harmless")
    sign_in(context, server, made["harmless"]["session"])
    page.goto(f"{server.url}/admin/")
    harmless = pages(page, [f"{address}?q=Harmless" for address in SEARCHED])
    seed(server, data_directory, "hostile")
    manage(server.environment, "shell", "-c", TAKE)
    everything = pages(page, searches)
    known = {item for shape in harmless for item in shape["shape"]}
    known.add("BUTTON data-url")  # a result longer than its row
    strange = {
        shape["address"]: odd
        for shape in everything
        if (odd := sorted(filter(is_strange, set(shape["shape"]) - known)))
    }
    noticed = watched.problems(page)
    report["hostile texts in the admin and in searches"] = [
        f"{len(everything)} pages: {len(strange)} of another shape than with "
        f"harmless texts, {len(noticed)} scripts, policy violations or foreign requests"
    ]
    assert not strange, "\n".join(f"{k}: {v[:5]}" for k, v in list(strange.items())[:20])
    assert not noticed, "\n".join(noticed[:20])


def is_strange(item: str) -> bool:
    """Whether an element is one that no text may bring; formulas are drawn."""
    return item.split()[0] not in formulas.TAGS


def pages(page: Page, searches: list[str]) -> list[dict[str, Any]]:
    """All lists, searches, and some pages of single rows of each kind."""
    models = [model._meta for model in admin.site._registry]
    lists = [f"/admin/{meta.app_label}/{meta.model_name}/" for meta in models]
    found = fetched(page, ["/admin/", *lists, *(f"{address}?p=1" for address in lists), *searches])
    rows = by_kind(found)
    assert {"conversation", "message", "compaction", "turn", "modelprofile"} <= rows.keys()
    return found + fetched(page, [link for links in rows.values() for link in links])
