"""Hooks for other apps. Receivers run after the commit, in the process that made the change."""

from django.dispatch import Signal

# Both send `compaction`, the row: of each one beginning and one end.
compaction_started = Signal()
compaction_ended = Signal()
