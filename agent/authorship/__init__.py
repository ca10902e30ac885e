"""Which parts of a user's message they typed, and which others wrote."""
