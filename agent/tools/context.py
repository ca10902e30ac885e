"""The model's own way to make room."""

from agent.tools import Tool

COMPACT_CONTEXT = Tool(
    name="compact_context",
    description=(
        "Summarise the older part of this conversation before your next step, to make room. Use "
        "it between two parts of a long task, when earlier tool results are not needed word for "
        "word any more."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "focus": {"type": "string", "description": "What the summary must keep in particular."}
        },
    },
)
