"""Real exports of other programs: everything in them is a conversation or is said to be none."""

import json
from pathlib import Path

import pytest

from agent.context.api_messages import build_api_messages
from agent.messages import AgentMessage, RawTokens
from agent.model.message_rules import Rules, find_message_violations
from chat.importers.archive import Archive
from chat.importers.formats import FORMATS, find_format
from chat.importers.records import ImportedConversation, Skipped
from tests.data.conftest import part

KINDS = {"claude": "claude_ai"}  # as the index calls what has another name here


def test_each_file_has_the_conversations_that_the_index_counts(
    data_directory: Path, report: dict[str, list[str]]
) -> None:
    folder = part(data_directory, "chat_exports") / "chat_exports"
    known = {one.NAME for one in FORMATS}
    lines = []
    for listed in json.loads((folder / "index.json").read_text()):
        kind = KINDS.get(listed["kind"], listed["kind"])
        if kind not in known:
            lines.append(f"{listed['file']}: the format {kind} is not read")
            continue
        with Archive([(listed["file"], folder / listed["file"])]) as archive:
            one = find_format(archive)
            assert kind == one.NAME, listed["file"]
            found = list(one.read(archive))
        talks = [each for each in found if isinstance(each, ImportedConversation)]
        skipped = [each for each in found if isinstance(each, Skipped)]
        assert len(talks) + len(skipped) == listed["conversations"], listed["file"]
        assert talks, listed["file"]
        for talk in talks:
            check_request(talk)
        lines.append(f"{listed['file']}: {len(talks)} read, {len(skipped)} skipped")
    if not lines:
        pytest.skip("the index lists no file")
    report["exports of other programs"] = lines


def check_request(talk: ImportedConversation) -> None:
    """The shown branch makes a valid request."""
    by_origin = {message.origin: message for message in talk.messages}
    branch, at = [], talk.leaf
    while at is not None:
        branch.append(by_origin[at])
        at = by_origin[at].parent
    assert branch
    history = [
        AgentMessage(number, message.role, message.blocks or [], RawTokens(1))
        for number, message in enumerate(reversed(branch), 1)
        if message.blocks
    ]
    question = [{"type": "text", "text": "And?"}]
    history.append(AgentMessage(len(branch) + 1, "user", question, RawTokens(1)))
    sent = build_api_messages(history, set(), own_from=len(branch) + 1, all_turns=True)
    assert find_message_violations(sent, Rules(frozenset())) == []
