"""The tools that reach what was compacted away: originals stay, and are found by their words."""

from agent.tools import Tool

SEARCH_HISTORY = Tool(
    name="search_history",
    description=(
        "Search the original messages of this conversation, also those that are now only "
        "summarised: exact wording, values, code, tool results. Use it before saying that "
        "something is not known, and to check a detail that the summary names. Write the words "
        "that the message would hold, not a question; every word counts, none is required. "
        "Quoted phrases, paths, ids and error codes are found exactly. Hits come best first with "
        "their numbers, as [#12], those of another conversation as [#12 in its id]; cite them "
        "just so, and open more with read_messages."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "The words to look for."},
            "all_conversations": {
                "type": "boolean",
                "description": "Search all of the user's conversations. Default: only this one.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)

READ_MESSAGES = Tool(
    name="read_messages",
    description=(
        "Read original messages of this conversation in full, by their numbers. Long ones come in "
        "pages: the result says how to read on. The pictures and PDFs of a message come with it; "
        "where one cannot be shown again, the result says so: then ask the user to attach it again."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "from": {"type": "integer", "minimum": 1, "description": "The first number."},
            "to": {"type": "integer", "minimum": 1, "description": "The last number."},
            "offset": {
                "type": "integer",
                "minimum": 0,
                "description": "Characters of the first message to skip, to read on in it.",
            },
            "conversation": {
                "type": "string",
                "description": "Another conversation of the user, as search_history names it.",
            },
        },
        "required": ["from", "to"],
        "additionalProperties": False,
    },
)
