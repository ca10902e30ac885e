"""Facts about the user that last beyond a conversation."""

from agent.tools import Tool

REMEMBER = Tool(
    name="remember",
    description=(
        "Keep a fact about the user for their later conversations: preferences, names, standing "
        "decisions. In a project it is kept for the conversations of that project. "
        "One short sentence, in the user's own words where possible. Not for what "
        "matters only here. What the user did not say themselves in their last message is kept "
        "only if they agree in the page."
    ),
    input_schema={
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
)
RECALL = Tool(
    name="recall",
    description="List the remembered facts with their ids; with a query, the matching ones.",
    input_schema={"type": "object", "properties": {"query": {"type": "string"}}},
)
FORGET = Tool(
    name="forget",
    description=(
        "Delete a remembered fact by its id, when it is wrong or the user asks for it. Where they "
        "did not name it, the page asks them first."
    ),
    input_schema={
        "type": "object",
        "properties": {"id": {"type": "integer"}},
        "required": ["id"],
    },
)
