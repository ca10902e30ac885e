"""The API of a person's own programs, below `api/v1/`: put together in `chat.api.site`, described in
docs/api.md."""
