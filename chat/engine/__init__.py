"""From rows to `agent` and back: the next request of a conversation, and whom it asks."""
