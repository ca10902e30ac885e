"""Every text that the page shows can be translated; without a catalogue it stays English."""

import ast
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as site
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import translation

from accounts.models import User
from accounts.services import issue_setup_link
from agent.errors import AgentError, ErrorCode
from agent.model.api_errors import REFUSED
from chat.errors import translate_error
from chat.models import Compaction, Conversation, Memory, Message, Turn
from chat.services.library import memories, projects
from chat.web.script_texts import _catalogue
from tests.chat.factories import add_messages, make_compaction, make_conversation, make_turn
from tests.chat.pseudo import LANGUAGE, Reader, pseudo_language

pytestmark = pytest.mark.django_db(transaction=True)

ANSWER = [
    {"type": "thinking", "thinking": "Σκέψη."},
    {
        "type": "text",
        "text": "Απάντηση[^1] ![α](https://α.ελ).\n\n```\nκώδικας\n```\n\n[^1]: Σημείωση",
    },
    {"type": "redacted_thinking", "data": "x"},
    {"type": "tool_use", "id": "a", "name": "εργαλείο", "input": {}},
    {"type": "tool_use", "id": "b", "name": "εργαλείο", "input": {"ένα": "α" * 5_000}},
    {"type": "image", "source": {"type": "url"}},
    {"type": "άγνωστο"},
]
SUMMARY = "## Περίληψη\n\n- Χαιρετισμός [#1 #2] \n- Τέλος"


@pytest.fixture(autouse=True)
def _pseudo(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Iterator[None]:
    settings.LANGUAGES = [("en", "en"), (LANGUAGE, LANGUAGE)]
    settings.DEFAULT_MODEL = "μοντέλο"
    with pseudo_language(monkeypatch):
        yield


@pytest.fixture
def owner(user: User) -> User:
    User.objects.filter(pk=user.pk).update(username="χρήστης")
    user.refresh_from_db()
    return user


@pytest.fixture
def browser(owner: User) -> Client:
    client = Client(headers={"accept-language": LANGUAGE})
    client.force_login(owner)
    return client


@pytest.fixture
def talk(owner: User) -> Conversation:
    made = make_conversation(
        owner=owner,
        title="Συζήτηση",
        model="μοντέλο",
        messages=["Γεια", "Γεια σου", "Ένα", "Δύο", "Τρία", "Τέσσερα"],
    )
    turn = make_turn(made, status=Turn.Status.FAILED, notice="trimmed")
    add_messages(made, ["Ερώτηση", ANSWER], turn=turn)
    error = AgentError(ErrorCode.TOO_LONG, REFUSED, said="κακό").as_dict()
    add_messages(made, ["Λάθος"])
    too_long = make_turn(made, status=Turn.Status.FAILED, error=error)
    add_messages(made, ["Μισό"], turn=too_long, status=Message.Status.FAILED)
    failed = make_turn(made, status=Turn.Status.FAILED)
    add_messages(made, ["Ξανά"])
    add_messages(made, ["Μισή"], turn=failed, status=Message.Status.FAILED)
    return made


def unmarked(client: Client, address: str, data: dict[str, str] | None = None) -> list[str]:
    """The words of a page that are not translatable, got or with `data` posted."""
    response = client.get(address) if data is None else client.post(address, data)
    html = response.content.decode()
    assert "⟦" in html, (address, response.status_code)
    return Reader(html).unmarked


def test_the_reader_finds_what_is_not_marked() -> None:
    html = '<p title="One">⟦two <b>three</b>⟧ four Everlong 5 k</p><svg><text>six</text></svg>'
    assert Reader(html).unmarked == ["One", "four Everlong 5 k"]


def test_the_new_chat_page(browser: Client, owner: User) -> None:
    assert unmarked(browser, "/") == []
    User.objects.filter(pk=owner.pk).update(first_name="Όνομα")
    assert unmarked(browser, "/") == []
    page = browser.get("/").content.decode()
    assert re.search(rf'<html\s+lang="{LANGUAGE}"\s+dir="ltr"', page)


OCCASIONS = [{"trigger": each} for each in Compaction.Trigger]
OCCASIONS += [{"trigger": "", "origin": each} for each in Compaction.Origin if each != "compaction"]


@pytest.mark.parametrize("occasion", OCCASIONS)
def test_a_conversation_with_everything_in_it(
    browser: Client, talk: Conversation, occasion: dict[str, str]
) -> None:
    row = make_compaction(talk, SUMMARY, through=4, method="chunks")
    Compaction.objects.filter(pk=row.pk).update(**occasion)
    assert unmarked(browser, talk.get_absolute_url()) == []


@pytest.mark.parametrize("flag", ["temporary", "pinned", "archived"])
def test_a_conversation_in_other_states(browser: Client, talk: Conversation, flag: str) -> None:
    Conversation.objects.filter(pk=talk.pk).update(
        **{flag: True}, compaction_settings={"enabled": False}
    )
    assert unmarked(browser, talk.get_absolute_url()) == []
    for query in "", "?archived=1", "?q=Γεια", "?q=ωωω":
        assert unmarked(browser, reverse("sidebar") + query) == [], query


DIALOGS = "conversation_settings", "conversation_rename", "compact_preview", "usage", "messages"


@pytest.mark.parametrize("name", DIALOGS)
def test_the_dialogs(browser: Client, talk: Conversation, name: str) -> None:
    assert unmarked(browser, reverse(name, args=[talk.pk])) == []


def test_a_form_that_is_refused(browser: Client, talk: Conversation) -> None:
    address = reverse("conversation_settings", args=[talk.pk])
    assert unmarked(browser, address, {"threshold": "99", "context_budget": "1"}) == []
    assert unmarked(browser, reverse("conversation_create"), {"text": " "}) == []


def test_the_dialogs_of_a_summary(browser: Client, talk: Conversation) -> None:
    version = make_compaction(talk, SUMMARY, through=4)
    edit = reverse("summary_edit", args=[talk.pk, version.pk])
    revert = reverse("summary_revert", args=[talk.pk, version.pk])
    assert unmarked(browser, edit) == []
    assert unmarked(browser, edit, {"text": ""}) == []
    assert unmarked(browser, revert) == []
    assert unmarked(browser, edit, {"text": "- Η τιμή είναι 4711 [#1]\n- Άλλο 4712 [#2]"}) == []
    assert unmarked(browser, revert, {}) == []  # not the current one any more


def test_the_dialog_that_deletes_a_message(browser: Client, talk: Conversation) -> None:
    make_compaction(talk, SUMMARY, through=4)
    for message in talk.messages.filter(number__in=(1, 8)):
        assert unmarked(browser, reverse("message_delete", args=[talk.pk, message.pk])) == []


def test_the_dialog_that_leaves_a_message_out(browser: Client, talk: Conversation) -> None:
    make_compaction(talk, SUMMARY, through=4)
    address = reverse("message_leave_out", args=[talk.pk, talk.messages.get(number=1).pk])
    assert unmarked(browser, address) == []
    browser.post(address)
    assert unmarked(browser, address) == []


def test_nothing_to_compact(browser: Client, owner: User) -> None:
    empty = make_conversation(owner=owner, title="Άδεια", model="μοντέλο")
    assert unmarked(browser, reverse("compact_preview", args=[empty.pk])) == []


def test_the_memory_page(browser: Client, owner: User) -> None:
    address = reverse("memories")
    assert unmarked(browser, address) == []
    for source in Memory.Source:
        memories.remember_fact(owner.pk, f"Γεγονός {len(source)}", source)
    assert unmarked(browser, address, {"text": ""}) == []
    assert unmarked(browser, address, {"text": "α" * 5_000}) == []


def test_the_pages_of_a_project(
    browser: Client, owner: User, talk: Conversation, settings: Any, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    assert unmarked(browser, reverse("projects")) == []
    assert unmarked(browser, reverse("projects"), {"name": ""}) == []
    project = projects.create_project(owner, "Έργο")
    address = project.get_absolute_url()
    assert unmarked(browser, address) == []
    projects.add_file(project, "Ένα", "Κείμενο".encode())
    memories.remember_fact(owner.pk, "Γεγονός", Memory.Source.USER, project_id=project.pk)
    assert unmarked(browser, reverse("conversation_move", args=[talk.pk])) == []
    projects.move_conversations(owner, [talk.pk], project)
    for page in "", "delete/":
        assert unmarked(browser, f"{address}{page}") == [], page
    assert unmarked(browser, address, {"name": "", "model": "x"}) == []
    assert unmarked(browser, f"{address}files/", {}) == []
    for page in talk.get_absolute_url(), f"/?project={project.pk}", reverse("memories"):
        assert unmarked(browser, page) == [], page
    assert unmarked(browser, reverse("palette") + "?q=Έργο") == []
    assert unmarked(browser, reverse("conversation_move", args=[talk.pk])) == []
    projects.set_project_archived(project, archived=True)
    assert unmarked(browser, address) == []
    assert unmarked(browser, reverse("projects")) == []


ACCOUNT_PAGES = (
    *("account_login", "account_signup", "account_reset_password", "account_inactive"),
    "account_reset_password_done",
)


@pytest.mark.parametrize("name", ACCOUNT_PAGES)
def test_the_pages_of_the_signed_out(name: str) -> None:
    client = Client(headers={"accept-language": LANGUAGE})
    assert unmarked(client, reverse(name)) == []


def test_a_wrong_password(owner: User) -> None:
    client = Client(headers={"accept-language": LANGUAGE})
    assert unmarked(client, reverse("account_login"), {"login": "α", "password": "β"}) == []


@pytest.mark.parametrize("name", ["account_change_password", "account_logout"])
def test_the_pages_of_the_signed_in(browser: Client, name: str) -> None:
    assert unmarked(browser, reverse(name)) == []


def test_the_set_up_page() -> None:
    client = Client(headers={"accept-language": LANGUAGE})
    address = reverse("setup", args=[issue_setup_link()])
    assert unmarked(client, address) == []
    assert unmarked(client, address, {"username": "", "password1": "1", "password2": "2"}) == []
    assert unmarked(client, reverse("setup", args=["x"])) == []


@pytest.mark.parametrize("code", ["400", "403", "403_csrf", "404", "500"])
def test_the_pages_of_faults(code: str) -> None:
    with translation.override(LANGUAGE):
        assert Reader(render_to_string(f"{code}.html")).unmarked == []


def test_a_cached_message_is_not_shown_in_another_language(
    browser: Client, talk: Conversation
) -> None:
    make_compaction(talk, SUMMARY, through=4)
    address = talk.get_absolute_url()
    english = Client()
    english.force_login(talk.owner)
    for _ in range(2):
        assert "⟦" not in english.get(address).content.decode()
        assert unmarked(browser, address) == []


TEMPLATES = sorted(Path(site.BASE_DIR, "templates").rglob("*.html"))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_templates_say_nothing_that_is_not_marked(template: Path) -> None:
    """Those of the admin too, which no page above shows."""
    source = template.read_text()
    for apart in (
        r"blocktranslate.*?{% endblocktranslate",
        r"block (?:body_?class|attributes).*?{% endblock",
    ):
        source = re.sub(rf"{{% {apart} %}}", " ", source, flags=re.S)
    assert Reader(re.sub(r"{%.*?%}|{{.*?}}|{#.*?#}", " ", source)).unmarked == []


# --- The catalogues -------------------------------------------------------------------------------

SENTENCE = re.compile(r'(?<!gettext\()(?:"([A-Z≈][a-z’\']+ [^"\n]*)"|`([A-Z≈][a-z]+ [^`\n]*)`)')
script_files = pytest.mark.parametrize(
    "script", sorted(Path(site.BASE_DIR, "static/js").rglob("*.js")), ids=lambda path: path.name
)


@script_files
def test_scripts_say_nothing_that_is_not_marked(script: Path) -> None:
    code = re.sub(r"^\s*(//|/?\*).*$|\s// .*$", "", script.read_text(), flags=re.M)
    code = re.sub(r'ngettext\(\s*"[^"]*",\s*"[^"]*"', "", code)
    code = re.sub(r"gettext\(\s+", "gettext(", code)
    assert [m[0] for m in SENTENCE.finditer(code)] == []


@script_files
def test_marked_texts_of_scripts_are_written_out(script: Path) -> None:
    calls = re.findall(r"(?<!function )\bgettext\(\s*(.)", script.read_text())
    assert set(calls) <= {'"'}


def test_marked_texts_in_python_are_outside_f_strings() -> None:
    """There xgettext does not find them."""
    for path in Path(site.BASE_DIR, "chat").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                assert "gettext(" not in ast.unparse(node), path


def test_errors_of_the_engine_have_marked_words() -> None:
    """What a server says is not ours to translate: it stands beside them."""
    for folder in "agent", "chat":
        for path in Path(site.BASE_DIR, folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "AgentError":
                    words = ast.unparse(node.args[-1])
                    literal = isinstance(node.args[-1], ast.Constant | ast.JoinedStr)
                    assert not literal, (path, words)


def test_the_error_of_a_frame_is_in_the_readers_language() -> None:
    error = AgentError(ErrorCode.BAD_REQUEST, REFUSED, said="κακό").as_dict()
    with translation.override(LANGUAGE):
        told = translate_error(error)
    assert told == error | {"message": f"⟦{REFUSED}⟧"}
    assert translate_error(None) is None


def test_the_scripts_get_the_catalogue_of_the_readers_language(
    browser: Client, owner: User, settings: Any, tmp_path: Path
) -> None:
    settings.LOCALE_PATHS = [tmp_path]
    head = "Content-Type: text/plain; charset=utf-8\nPlural-Forms: nplurals=3; plural="
    head += "n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2;\n"
    forms = {"{count} file\0{count} files": "{count} dosiero\0{count} dosieroj\0nenio"}
    write_catalogue(tmp_path, {"": head, "Send": "Sendi"} | forms)
    _catalogue.cache_clear()
    told = texts(browser.get("/").content.decode())
    assert told["texts"]["Send"] == "Sendi"
    assert told["texts"]["{count} file"] == ["{count} dosiero", "{count} dosieroj", "nenio"]
    assert told["plurals"][:22] == "2011111111111111111110"
    english = Client()
    english.force_login(owner)
    assert texts(english.get("/").content.decode()) == {}
    _catalogue.cache_clear()


def texts(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="script-texts" type="application/json">(.*?)</script>', page)
    assert found
    return json.loads(found[1])


def write_catalogue(folder: Path, messages: dict[str, str]) -> None:
    """The compiled catalogue of the scripts, as `msgfmt` writes it: keys, then their values."""
    folder = folder / LANGUAGE / "LC_MESSAGES"
    folder.mkdir(parents=True)
    strings = [
        text.encode() for text in (*sorted(messages), *(messages[k] for k in sorted(messages)))
    ]
    count = len(messages)
    start = 28 + 16 * count
    table = b""
    for string in strings:
        table += struct.pack("<II", len(string), start)
        start += len(string) + 1
    head = struct.pack("<7I", 0x950412DE, 0, count, 28, 28 + 8 * count, 0, 28 + 16 * count)
    (folder / "djangojs.mo").write_bytes(head + table + b"\0".join(strings) + b"\0")
