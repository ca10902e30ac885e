"""Hooks for other apps. Receivers run after the commit, in the process that made the change."""

from django.dispatch import Signal

# Both send `compaction`, the row. There is one beginning and one end for each.
compaction_started = Signal()
compaction_ended = Signal()
