"""Files: what is taken and what is refused, who sees them, and what the model gets."""

from base64 import b64decode
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from accounts.models import User
from chat.db.threads import in_db
from chat.errors import Refused
from chat.html.message import render_message
from chat.models import Attachment, Conversation, Message
from chat.services.library import attachments, conversations
from chat.services.library.file_types import inspect_file
from chat.services.turns import branches, endings, requests
from chat.services.turns.endings import TurnOutcome
from chat.services.turns.sweep import sweep
from chat.services.turns.turns import NewMessage
from demo.api.script import is_chat
from tests.chat.factories import HOLDER, make_conversation, make_user
from tests.chat.sockets import Chat
from tests.support.office import document, paragraph, workbook
from tests.support.pictures import picture


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    return tmp_path / "media"


# --- What a file is -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "sent_as"),
    [("PNG", "png"), ("GIF", "png"), ("JPEG", "jpeg"), ("MPO", "jpeg"), ("WEBP", "jpeg")],
)
def test_an_image_is_known_by_its_content(kind: str, sent_as: str) -> None:
    found = inspect_file("report.txt", picture(kind=kind), owner_id=1)
    assert (found.kind, found.media_type) == ("image", f"image/{sent_as}")
    assert (found.width, found.height, found.tokens) == (280, 140, 50)


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("paper", b"%PDF-1.7\n...\n%%EOF\n", "pdf"),
        ("about /Encrypt", b"%PDF-1.7\n(see /Encrypt there) /EncryptMetadata\n%%EOF", "pdf"),
        ("book", b"%PDF-1.7\n" + b"<< /Type /Page >>" * 600 + b"<< /Type /Pages >>%%EOF", "pdf"),
        ("main.py", b"print('x')\n", "text"),
        ("notes.png", "\ufeffÜber".encode(), "text"),
        ("plan.txt", document(paragraph("A plan")), "office"),
    ],
)
def test_documents_and_text_are_known_by_their_content(name: str, data: bytes, kind: str) -> None:
    assert inspect_file(name, data, owner_id=1).kind == kind


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.txt", b"", "file_empty"),
        ("a.png", b"MZ\x90\x00\x03", "file_type"),
        ("a.png", picture()[:60], "file_damaged"),
        ("a.txt", b"a" * 400_001, "file_too_large"),
        ("a.pdf", b"%PDF-" + b"a" * 20_000_000, "file_too_large"),
        ("a.pdf", b"%PDF-1.7\n<< /Type /Page >>", "file_damaged"),
        ("a.pdf", b"%PDF-1.7\ntrailer << /Encrypt 5 0 R >>\n%%EOF", "file_encrypted"),
        ("a.pdf", b"%PDF-1.7\n" + b"<< /Type/Page /X 1 >>" * 601 + b"%%EOF", "file_too_large"),
        ("a.svg", b"\xff\xfe<svg/>\0\0", "file_type"),
        ("bomb.png", picture((8_000, 8_000), mode="1", color=0), "file_too_large"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_name(name: str, data: bytes, code: str) -> None:
    with pytest.raises(Refused, match=name) as refused:
        inspect_file(name, data, owner_id=1)
    assert refused.value.code == code


# --- Who sees it, and for how long ----------------------------------------------------------------


def upload(user: User, name: str = "a.png", data: bytes = b"") -> tuple[Client, Any]:
    client = Client()
    client.force_login(user)
    file = SimpleUploadedFile(name, data or picture(), content_type="text/html")
    return client, client.post("/attachments/", {"file": file})


def test_a_file_is_shown_to_its_owner_only_and_can_run_nothing(user: User) -> None:
    client, response = upload(user)
    assert response.status_code == 201
    url = response.json()["url"]
    shown = client.get(url)
    assert shown["Content-Type"] == "image/png"
    assert "sandbox" in shown["Content-Security-Policy"]
    assert shown["X-Content-Type-Options"] == "nosniff"
    stranger = Client()
    stranger.force_login(make_user(admin=True))
    assert stranger.get(url).status_code == 404
    assert Client().get(url).status_code == 302


def test_a_browser_that_keeps_a_file_asks_each_time_whose_it_is(user: User) -> None:
    client, response = upload(user)
    url = response.json()["url"]
    shown = client.get(url)
    assert shown["Cache-Control"] == "private, no-cache"
    again = client.get(url, headers={"If-None-Match": shown["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again["Content-Security-Policy"] == shown["Content-Security-Policy"]
    client.logout()
    assert client.get(url, headers={"If-None-Match": shown["ETag"]}).status_code == 302


def test_text_and_pdf_are_saved_not_opened(user: User) -> None:
    client, response = upload(user, "../../page.html", b"<script>alert(1)</script>")
    shown = client.get(response.json()["url"])
    assert shown["Content-Disposition"] == 'attachment; filename="page.html"'
    assert shown["Content-Type"] == "text/plain"


def test_of_an_office_file_the_owner_gets_the_original_and_its_text(user: User) -> None:
    plan = document(paragraph("Größe"))
    client, response = upload(user, "plan.docx", plan)
    url = response.json()["url"]
    shown = client.get(url)
    assert shown.content == plan
    assert shown["Content-Type"].endswith("wordprocessingml.document")
    assert shown["Content-Disposition"] == 'attachment; filename="plan.docx"'
    assert client.get(f"{url}?text").content.decode() == "Größe"


def test_a_file_is_taken_back_by_its_owner_unless_it_was_sent(user: User) -> None:
    client, response = upload(user)
    url = response.json()["url"]
    stranger = Client()
    stranger.force_login(make_user())
    assert stranger.delete(url).status_code == 404
    assert client.delete(url).status_code == 204
    assert client.get(url).status_code == 404
    row = attachments.store_unsent(user, "plan.png", picture())
    send(user, make_conversation(owner=user), str(row.pk))
    assert client.delete(f"/attachments/{row.pk}/").status_code == 204
    assert client.get(f"/attachments/{row.pk}/").status_code == 200


def test_a_refused_file_says_why(user: User) -> None:
    _, response = upload(user, "tool.exe", b"MZ\x90\x00")
    assert response.status_code == 422
    assert "tool.exe cannot be sent" in response.content.decode()


def send(user: User, conversation: Conversation, *files: str, text: str = "Look.") -> Message:
    opening = requests.send_message(
        user, conversation.pk, NewMessage(text, files=files), expected_head=None, holder=HOLDER
    )
    assert opening is not None
    turn = opening.turn
    endings.end_turn(turn.pk, TurnOutcome("completed"))
    return Message.objects.get(turn=turn, role="user")


def test_a_message_refers_to_its_files_and_needs_no_text(user: User) -> None:
    conversation = make_conversation(owner=user)
    row = attachments.store_unsent(user, "plan.png", picture())
    sent = send(user, conversation, str(row.pk), text="")
    assert sent.blocks == [attachments.make_reference(row)]
    assert "data" not in str(sent.blocks)
    assert sent.tokens >= 50


@pytest.mark.parametrize("stranger", [True, False])
def test_another_persons_file_cannot_be_sent(user: User, stranger: bool) -> None:
    conversation = make_conversation(owner=user)
    other = attachments.store_unsent(make_user(), "secret.txt", b"secret")
    with pytest.raises(Refused, match="no longer exists"):
        send(user, conversation, str(other.pk) if stranger else "not an id")
    assert not conversation.messages.exists()


def test_a_text_in_another_encoding_is_sent_in_utf_8_and_says_so(user: User) -> None:
    data = "Straße;3 €".encode("cp1252")
    client, response = upload(user, "orte.csv", data)
    assert response.json()["encoding"] == "windows-1252"
    url = response.json()["url"]
    whole, text = client.get(url), client.get(f"{url}?text")
    assert (whole.content, whole["Content-Type"]) == (data, "text/plain; charset=windows-1252")
    assert text.content.decode() == "Straße;3 €"
    sent = send(user, make_conversation(owner=user), response.json()["id"])
    assert "Read as windows-1252." in render_message(sent)


def test_a_message_says_that_the_text_of_an_office_file_is_read(user: User) -> None:
    row = attachments.store_unsent(user, "plan.docx", document(paragraph("plan " * 500)))
    assert row.tokens > 400  # of the text: the file has fewer bytes
    sent = send(user, make_conversation(owner=user), str(row.pk))
    html = render_message(sent)
    assert "The model reads its text." in html
    assert f"/attachments/{row.pk}/?text" in html


def test_files_go_with_their_last_message(user: User, media: Path) -> None:
    conversation = make_conversation(owner=user)
    row = attachments.store_unsent(user, "plan.docx", document(paragraph("plan")))
    sent = send(user, conversation, str(row.pk))
    turn = branches.edit_message(user, conversation.pk, sent.pk, "Look again.", holder=HOLDER).turn
    endings.end_turn(turn.pk, TurnOutcome("completed"))
    edited = Message.objects.get(turn=turn, role="user")
    assert edited.blocks[0] == attachments.make_reference(row)
    branches.delete_message(user, conversation.pk, edited.pk)
    assert Attachment.objects.exists()  # the first version still shows it
    conversations.delete_conversation(Conversation.objects.get(pk=conversation.pk))
    assert not Attachment.objects.exists()
    assert not [path for path in media.rglob("*") if path.is_file()]


def test_what_was_never_sent_is_swept_after_a_day(user: User) -> None:
    kept = attachments.store_unsent(user, "new.txt", b"new")
    old = attachments.store_unsent(user, "old.txt", b"old")
    past = timezone.now() - timedelta(days=2)
    Attachment.objects.filter(pk=old.pk).update(created_at=past)
    assert sweep() == 1
    assert list(Attachment.objects.all()) == [kept]


def test_a_temporary_conversation_is_not_listed_and_swept_after_a_day(user: User) -> None:
    temporary = make_conversation(owner=user, messages=2, temporary=True, title="Secret plan")
    client = Client()
    client.force_login(user)
    assert b"Secret plan" not in client.get("/sidebar/").content
    assert sweep() == 0
    past = timezone.now() - timedelta(days=2)
    Conversation.objects.filter(pk=temporary.pk).update(updated_at=past)
    assert sweep() == 1
    assert not Conversation.objects.exists()


# --- What the model gets --------------------------------------------------------------------------


async def test_the_bytes_are_in_the_request_and_nowhere_else(chat: Chat) -> None:
    data = picture()
    row = await in_db(attachments.store_unsent, chat.user, "plan.png", data)
    note = await in_db(attachments.store_unsent, chat.user, "note.txt", b"The answer is 42.")
    costs = workbook({"Costs": "<row><c><v>7</v></c></row>"})
    sheet = await in_db(attachments.store_unsent, chat.user, "costs.xlsx", costs)
    chat.model.script.reply("Seen.", when=is_chat)
    tab = await chat.open()
    tab.say("What is this?", attachments=[str(row.pk), str(note.pk), str(sheet.pk)])
    await tab.next("turn.finished", status="completed")
    image, *texts, text = chat.model.script.requests[-1].body["messages"][-1]["content"][-4:]
    assert b64decode(image["source"]["data"]) == inspect_file("plan.png", data, owner_id=1).data
    assert [each["source"]["data"] for each in texts] == [
        "The answer is 42.",
        "## Costs\n\n| 7 |\n| --- |",
    ]
    assert texts[1]["title"] == "costs.xlsx"
    assert text["text"] == "What is this?"
