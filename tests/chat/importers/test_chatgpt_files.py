"""Files of ChatGPT's exports, of both generations: attached, made, or a canvas."""

import json
from pathlib import Path
from typing import Any

import pytest

from chat.importers.archive import Archive
from chat.importers.chatgpt import read
from chat.importers.records import ImportedConversation, Skipped
from tests.chat.importers.exports import Json, call, chain, result, say, talk, write_zip

IMAGE, SOUND = b"an image", b"a sound"


class Read:
    """What comes of a zip: its one conversation, and the bytes of its files by message."""

    def __init__(self, path: Path, files: Json) -> None:
        write_zip(path, files)
        with Archive([(path.name, path)]) as archive:
            found = list(read(archive))
            (self.talk,) = [each for each in found if isinstance(each, ImportedConversation)]
            self.skipped = [each for each in found if isinstance(each, Skipped)]
            self.files = {
                message.origin: [(file.name, file.open().read()) for file in message.files]
                for message in self.talk.messages
                if message.files
            }
            self.types = [file.media_type for m in self.talk.messages for file in m.files]


def export(*messages: Json, **files: Any) -> Json:
    return {"conversations.json": [talk(chain(*messages))]} | files


def picture(pointer: str) -> Json:
    return {"content_type": "image_asset_pointer", "asset_pointer": pointer, "width": 4}


def attached(*attachments: Json, parts: tuple[Any, ...] = ("Look",)) -> Json:
    return say("user", *parts, kind="multimodal_text", metadata={"attachments": [*attachments]})


def test_files_of_the_classic_export_are_found_by_the_id_in_their_names(tmp_path: Path) -> None:
    message = attached(
        {"id": "file-AbC1", "name": "duck pond.png", "mime_type": "image/png"},
        parts=("Look", picture("file-service://file-AbC1"), picture("file-service://file-Xy2")),
    )
    files = {"file-AbC1-duck pond.png": IMAGE, "sub/file-Xy2-1b2c-3d.webp": b"second"}
    found = Read(tmp_path / "export.zip", export(message) | files)
    assert found.files == {"n0": [("duck pond.png", IMAGE), ("1b2c-3d.webp", b"second")]}
    assert found.types == ["image/png", "image/webp"]
    assert found.talk.tally.missing == []


def test_a_picture_of_2023_is_a_part_without_a_type(tmp_path: Path) -> None:
    part = {"asset_pointer": "file-service://file-Old7", "size_bytes": 9, "width": 3, "height": 3}
    found = Read(tmp_path / "export.zip", export(attached(parts=(part, "Look"))))
    assert [block["text"] for block in found.talk.messages[0].blocks] == ["Look"]
    assert not found.talk.tally.unknown


def test_files_of_2026_are_named_in_lists_beside_them(tmp_path: Path) -> None:
    message = attached(
        parts=(
            "Look",
            picture("sediment://file_01#page=1"),
            {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_02"},
            picture("sediment://file_03"),
        )
    )
    found = Read(
        tmp_path / "export.zip",
        {
            "conversations-000.json": [talk(chain(message))],
            "conversation_asset_file_names.json": {"file_01.dat": "pond.png", "file_03.dat": 5},
            "library_files.json": [
                {"file_id": "file_02", "file_name": "call.wav", "mime_type": "audio/wav"},
                {"file_id": None},
                "odd",
            ],
            "file_01.dat": IMAGE,
            "file_02.dat": SOUND,
            "file_03.dat": b"third",
            "codex.json": [],
            "message_feedback.json": [{"conversation_id": "c", "rating": "up"}],
            "shared_conversations.json": [{"id": "s", "conversation_id": "c", "title": "T"}],
        },
    )
    assert found.files == {
        "n0": [("pond.png", IMAGE), ("call.wav", SOUND), ("file_03.dat", b"third")]
    }
    assert found.types[1] == "audio/wav"
    assert [each.candidate for each in found.skipped] == [False]


def test_conversations_in_many_files_are_all_read(tmp_path: Path) -> None:
    path = write_zip(
        tmp_path / "export.zip",
        {
            f"conversations-{number:03}.json": [talk(chain(say("user", "a")), id=f"c{number}")]
            for number in range(60)
        },
    )
    with Archive([("export.zip", path)]) as archive:
        found = [each.origin for each in read(archive) if isinstance(each, ImportedConversation)]
    assert found == [f"c{number}" for number in range(60)]


def test_what_the_export_does_not_hold_is_named(tmp_path: Path) -> None:
    message = attached(
        {"id": "file-1", "name": "plan.pdf"},
        {"name": "no id.txt"},
        {},
        parts=(picture("file-service://file-2"), picture("nowhere")),
    )
    found = Read(tmp_path / "export.zip", export(message, say("assistant", "I see nothing.")))
    assert found.talk.tally.missing == ["plan.pdf", "no id.txt", "file-2"]
    assert found.talk.messages[0].blocks[0]["text"].count("not in the export") == 3


def test_a_list_of_names_that_is_broken_is_reported(tmp_path: Path) -> None:
    message = attached({"id": "file_1", "name": "pond.png"})
    files = {"library_files.json": b'[{"file_id": ', "file_1.dat": IMAGE}
    found = Read(tmp_path / "export.zip", export(message) | files)
    assert found.files == {"n0": [("pond.png", IMAGE)]}
    (skipped,) = found.skipped
    assert "library_files.json" in skipped.name
    assert not skipped.candidate


def test_a_picture_that_was_made_is_shown_in_the_answer(tmp_path: Path) -> None:
    made = say(
        "tool", picture("file-service://file-D1"), kind="multimodal_text", name="dalle.text2im"
    )
    found = Read(
        tmp_path / "export.zip",
        export(
            say("user", "Draw a duck"),
            call("dalle.text2im", '{"prompt": "duck"}'),
            made,
            result("dalle.text2im", "It is shown already.", kind="text"),
            say("assistant", "Here it is."),
        )
        | {"dalle-generations/file-D1-a.webp": IMAGE},
    )
    assert [(m.role, [b["type"] for b in m.blocks], len(m.files)) for m in found.talk.messages] == [
        ("user", ["text"], 0),
        ("assistant", ["tool_use"], 0),
        ("user", ["tool_result"], 0),
        ("assistant", ["text"], 1),
    ]


def test_a_plot_of_the_code_interpreter_is_shown_in_the_answer(tmp_path: Path) -> None:
    plot = {"messages": [{"message_type": "image", "image_url": "file-service://file-P1"}]}
    found = Read(
        tmp_path / "export.zip",
        export(
            say("user", "Plot it"),
            call("python", "plot()"),
            result("python", "<Figure>", metadata={"aggregate_result": plot}),
            say("assistant", "Here."),
        )
        | {"file-P1.png": IMAGE},
    )
    assert list(found.files.values()) == [[("file-P1.png", IMAGE)]]
    assert found.talk.messages[-1].files


def test_files_that_an_answer_links_to_are_found_by_their_message(tmp_path: Path) -> None:
    links = (
        "[a](sandbox:/mnt/data/sum.csv) [again](sandbox:/mnt/data/sum.csv) [b](sandbox:/x/b.txt)"
    )
    found = Read(
        tmp_path / "export.zip",
        export(say("user", "a"), say("assistant", links, id="message-7"))
        | {
            "library_files.json": [
                {"file_id": "f9", "file_name": "sum.csv", "origination_message_id": "message-7"},
                {"file_id": "f8", "file_name": "b.txt", "origination_message_id": "other"},
            ],
            "f9.dat": b"1,2",
        },
    )
    assert found.files == {"n1": [("sum.csv", b"1,2")]}
    assert found.talk.tally.missing == ["b.txt"]


def test_a_picture_at_the_end_of_the_shown_branch_is_shown(tmp_path: Path) -> None:
    made = say("tool", picture("file-service://file-D1"), name="dalle.text2im")
    messages = (say("user", "Draw"), call("dalle.text2im", "{}"), made)
    talks = [talk(chain(*messages), current_node="n2")]
    files = {"conversations.json": talks, "file-D1.webp": IMAGE}
    found = Read(tmp_path / "export.zip", files)
    assert list(found.files) == [found.talk.leaf]


# --- Canvas ---------------------------------------------------------------------------------------


def create(text: str, kind: str = "document") -> Json:
    return call("canmore.create_textdoc", json.dumps({"name": "d", "type": kind, "content": text}))


def update(pattern: str, new: str, **fields: Any) -> Json:
    changes = [{"pattern": pattern, "replacement": new} | fields]
    return call("canmore.update_textdoc", json.dumps({"updates": changes}))


def done(tool: str, identity: str = "doc1", title: str = "My plan") -> Json:
    mark = {"canvas": {"textdoc_id": identity, "title": title, "version": 1}}
    return result(f"canmore.{tool}", "Done", kind="text", metadata=mark)


CREATED = (say("user", "Write"), create("One duck"), done("create_textdoc"))


@pytest.mark.parametrize(
    ("change", "text", "lost"),
    [
        (update(".*", "Two ducks"), b"Two ducks", 0),
        (update("duck", "goose"), b"One goose", 0),
        (update(r"One\ duck", "3"), b"3", 0),
        (update("[a-z]+", "x"), b"One duck", 1),
        (update("(a+)+$", "x"), b"One duck", 1),
        (update("not there", "x"), b"One duck", 1),
        (call("canmore.update_textdoc", "no JSON"), b"One duck", 0),
        (call("canmore.comment_textdoc", '{"comments": []}'), b"One duck", 0),
    ],
)
def test_the_last_text_of_a_canvas_is_a_file(
    tmp_path: Path, change: Json, text: bytes, lost: int
) -> None:
    messages = [*CREATED, say("assistant", "Written."), say("user", "Change it")]
    messages += [change, done("update_textdoc"), say("assistant", "Changed.")]
    found = Read(tmp_path / "export.zip", export(*messages))
    assert [file for files in found.files.values() for file in files] == [("My plan.md", text)]
    assert found.talk.tally.dropped.total() == lost


def test_the_file_of_a_canvas_is_in_the_answer_that_wrote_it_last(tmp_path: Path) -> None:
    messages = [*CREATED, say("assistant", "Written."), say("user", "Again")]
    messages += [update(".*", "New"), done("update_textdoc"), say("assistant", "Changed.")]
    found = Read(tmp_path / "export.zip", export(*messages))
    assert found.files == {found.talk.messages[-1].origin: [("My plan.md", b"New")]}


def test_each_canvas_has_the_text_of_the_branch_that_is_shown(tmp_path: Path) -> None:
    mapping = chain(*CREATED)
    for name, text in (("x", "Shown"), ("y", "Not shown")):
        mapping[f"{name}1"] = {"parent": "n2", "message": say("user", name)}
        mapping[f"{name}2"] = {"parent": f"{name}1", "message": update(".*", text)}
        mapping[f"{name}3"] = {"parent": f"{name}2", "message": done("update_textdoc")}
    talks = [talk(mapping, current_node="x3")]
    found = Read(tmp_path / "export.zip", {"conversations.json": talks})
    assert [file for files in found.files.values() for file in files] == [("My plan.md", b"Shown")]


def test_two_canvases_are_two_files_with_endings_of_their_kinds(tmp_path: Path) -> None:
    found = Read(
        tmp_path / "export.zip",
        export(
            *CREATED,
            create("print(1)", "code/python"),
            done("create_textdoc", "doc2", "../script.py"),
        ),
    )
    files = {file for files in found.files.values() for file in files}
    assert files == {("script.py", b"print(1)"), ("My plan.md", b"One duck")}
