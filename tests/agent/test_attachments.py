"""Files in requests: references until the bytes are needed, the oldest as placeholders."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from agent.attachments import fill_in_files, limit_files, list_file_ids_in
from agent.messages import AgentMessage, Block
from tests.agent.conversations import COUNTER


def file(name: str = "a.png", size: int = 300, kind: str = "image") -> Block:
    media_type = "image/png" if kind == "image" else "text/plain"
    source = {"type": "attachment", "id": name, "media_type": media_type, "bytes": size}
    return {"type": kind, "title": name, "source": source | {"tokens": 42}}


def message(number: int, *blocks: Block) -> AgentMessage:
    return AgentMessage(number, "user", [*blocks, {"type": "text", "text": "Look."}], 10)


def files_in(messages: Sequence[AgentMessage]) -> list[int]:
    return [m.number for m in messages if any(b["type"] == "image" for b in m.blocks)]


def test_files_that_fit_are_left_alone() -> None:
    messages = [message(1, file()), message(2)]
    assert limit_files(messages, 400) == messages


def test_the_oldest_become_placeholders_down_to_half() -> None:
    messages = [message(n, file(size=300)) for n in range(1, 6)]  # 400 bytes each as base64
    sent = limit_files(messages, 1_600)
    assert files_in(sent) == [4, 5]
    assert "a.png" in sent[0].blocks[0]["text"]
    assert sent[0].blocks[1] == messages[0].blocks[1]


@given(st.lists(st.integers(0, 900), max_size=30))
def test_what_was_replaced_never_comes_back_and_all_fits(sizes: list[int]) -> None:
    limit = 1_300  # one of the largest always fits
    messages = [message(n, file(size=size)) for n, size in enumerate(sizes, 1)]
    before: set[int] = set()
    for end in range(len(messages) + 1):
        sent = limit_files(messages[:end], limit)
        kept = set(files_in(sent))
        assert sum(-(-sizes[n - 1] // 3) * 4 for n in kept) <= limit
        gone = {m.number for m in messages[:end] if sizes[m.number - 1]} - kept
        assert before <= gone
        before = gone


async def test_bytes_join_the_body_and_missing_files_are_told() -> None:
    async def read(ids: Sequence[str]) -> Mapping[str, bytes]:
        assert list(ids) == ["a.png", "b.txt", "gone.png"]
        return {"a.png": b"abc", "b.txt": "x = 1 – ü".encode()}

    cached = file("gone.png") | {"cache_control": {"type": "ephemeral"}}
    content = [file("a.png"), file("b.txt", kind="document"), cached]
    body = {"messages": [{"role": "user", "content": content}]}
    image, text, gone = fill_in_files(body, await read(list_file_ids_in(body["messages"])))[
        "messages"
    ][0]["content"]
    assert image == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "YWJj"},
    }
    assert text["source"]["data"] == "x = 1 – ü"
    assert text["title"] == "b.txt"
    assert gone["type"] == "text"
    assert gone["cache_control"] == {"type": "ephemeral"}
    assert content[0]["source"]["type"] == "attachment"  # the stored block is not touched


def test_a_reference_counts_its_own_estimate() -> None:
    assert COUNTER.count_blocks([file()]) - COUNTER.count_blocks([]) == 42
