"""The API of a person's own programs, below `api/v1/`. `chat.api.site` puts it together, and
docs/api.md describes it."""
