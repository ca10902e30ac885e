"""The state of a summary: its chapters, and what changes them without a model."""
