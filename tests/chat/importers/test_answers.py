"""Nodes of an export as messages: every node in one, and every branch a valid request."""

from collections.abc import Iterator
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.context.api_messages import build_api_messages
from agent.messages import AgentMessage, RawTokens, plain_text
from agent.model.message_rules import Rules, find_message_violations
from chat.importers.answers import Part, fold, make_call_id
from chat.importers.records import ImportedMessage
from chat.importers.trees import Node, Tree

TOOL = "python"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def prompt(words: str = "do it") -> Part:
    return Part("user", [text(words)])


def answer(words: str = "done") -> Part:
    return Part("assistant", [text(words)])


def calls(*ids: str) -> Part:
    return Part(
        "assistant", [{"type": "tool_use", "id": i, "name": TOOL, "input": {}} for i in ids]
    )


def result(words: str = "42", **fields: Any) -> Part:
    return Part("tool", text=words, name=TOOL, **fields)


def chain(*parts: Part) -> list[ImportedMessage]:
    return fold(Tree(Node(f"n{i}", f"n{i - 1}", part) for i, part in enumerate(parts)))


@st.composite
def trees(draw: st.DrawFn) -> list[Node[Part]]:
    nodes = [Node("n0", None, prompt())]
    for number in range(1, draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(["user", "assistant", "thinking", "call", "calls", "tool"]))
        identity = f"n{number}"
        words = f"<{identity}>"
        part = {
            "user": prompt(words),
            "assistant": answer(words),
            "thinking": Part("assistant", [{"type": "thinking", "thinking": words}]),
            "call": calls(make_call_id(identity)),
            "calls": calls(f"{make_call_id(identity)}a", f"{make_call_id(identity)}b"),
            "tool": result(words),
        }[kind]
        parent = f"n{draw(st.integers(max(0, number - 4), number - 1))}"
        nodes.append(Node(identity, parent, part))
    return nodes


def branches(messages: list[ImportedMessage]) -> Iterator[list[ImportedMessage]]:
    by_origin = {message.origin: message for message in messages}
    parents = {message.parent for message in messages}
    for leaf in messages:
        if leaf.origin in parents:
            continue
        branch = [leaf]
        while branch[-1].parent is not None:
            branch.append(by_origin[branch[-1].parent])
        yield branch[::-1]


def all_words(blocks: list[dict[str, Any]]) -> str:
    return plain_text(blocks) + "".join(block.get("thinking", "") for block in blocks)


@given(trees())
def test_every_node_is_in_one_message_that_stands_after_its_parent(
    nodes: list[Node[Part]],
) -> None:
    messages = fold(Tree(nodes))
    inside = [origin for message in messages for origin in message.origins]
    assert len(inside) == len(set(inside))
    assert {node.id for node in nodes} <= set(inside)
    placed: set[str | None] = {None}
    for message in messages:
        assert message.parent in placed
        assert message.origin not in placed
        assert message.origin == message.origins[0]
        placed.add(message.origin)


@given(trees())
def test_each_branch_says_what_its_nodes_say(nodes: list[Node[Part]]) -> None:
    tree = Tree(nodes)
    for branch in branches(fold(tree)):
        said = "\n".join(map(all_words, (message.blocks for message in branch)))
        last = max((o for o in branch[-1].origins if o in tree.nodes), key=lambda o: int(o[1:]))
        for each in tree.path_to(last):
            part = tree.nodes[each].value
            assert (part.text or all_words(part.blocks)) in said


@given(trees(), st.booleans())
def test_each_branch_is_a_valid_request(nodes: list[Node[Part]], declared: bool) -> None:
    tools = {TOOL} if declared else set()
    for branch in branches(fold(Tree(nodes))):
        history = [
            AgentMessage(number, message.role, message.blocks, RawTokens(1))
            for number, message in zip(count(1), branch, strict=False)
        ]
        history.append(AgentMessage(len(branch) + 1, "user", [text("And?")], RawTokens(1)))
        sent = build_api_messages(history, tools, own_from=len(history), all_turns=True)
        assert find_message_violations(sent, Rules(frozenset(tools))) == []


def test_an_answer_with_a_call_is_three_messages() -> None:
    messages = chain(prompt(), answer("Let me see."), calls("c1"), result(), answer("It is 42."))
    assert [(m.role, [b["type"] for b in m.blocks]) for m in messages] == [
        ("user", ["text"]),
        ("assistant", ["text", "tool_use"]),
        ("user", ["tool_result"]),
        ("assistant", ["text"]),
    ]
    assert messages[1].origins == ["n1", "n2"]
    assert messages[2].blocks[0] == {
        "type": "tool_result",
        "tool_use_id": "c1",
        "content": "42",
    }


def test_several_results_of_one_call_are_one() -> None:
    messages = chain(prompt(), calls("c1"), result("one"), result("two"), answer())
    assert messages[2].blocks == [
        {"type": "tool_result", "tool_use_id": "c1", "content": "one\n\ntwo"}
    ]
    assert messages[2].origins == ["n2", "n3"]


def test_a_result_without_a_call_gets_one() -> None:
    messages = chain(prompt(), result("found"), answer())
    assert [m.origin for m in messages] == ["n0", "n1:call", "n1", "n2"]
    assert messages[1].blocks[0]["id"] == messages[2].blocks[0]["tool_use_id"]


def test_results_name_the_calls_they_are_of() -> None:
    messages = chain(prompt(), calls("c1", "c2"), result("2", call="c2"), result("1", call="c1"))
    assert [(b["tool_use_id"], b["content"]) for b in messages[2].blocks] == [
        ("c2", "2"),
        ("c1", "1"),
    ]


def test_branches_of_one_call_do_not_write_into_each_other() -> None:
    messages = fold(
        Tree(
            [
                Node("ask", None, prompt()),
                Node("call", "ask", calls("c1")),
                Node("one", "call", result("one")),
                Node("two", "call", result("two")),
                Node("more", "two", result("more")),
            ]
        )
    )
    contents = {m.origin: m.blocks[0].get("content") for m in messages[2:]}
    assert contents == {"one": "one", "two": "two\n\nmore"}


def test_an_answer_that_broke_off_is_not_gone_on_with() -> None:
    broken = Part("assistant", [text("Well")], status="interrupted")
    messages = chain(prompt(), broken, answer("Again."))
    assert [(m.status, m.origins) for m in messages[1:]] == [
        ("interrupted", ["n1"]),
        ("complete", ["n2"]),
    ]


def test_memory_does_not_grow_with_the_square_of_the_calls() -> None:
    parts = [prompt()]
    for number in range(3_000):
        parts += [calls(f"c{number}"), result(str(number))]
    messages = chain(*parts)
    assert len(messages) == 6_001
    assert messages[-1].blocks[0]["tool_use_id"] == "c2999"
