"""Finished HTML that the cache keeps, filed under its conversation, so that it goes with it."""

from collections.abc import Collection, Iterable
from uuid import UUID

from django.core.cache import cache
from django.db import transaction
from django.utils.translation import get_language

HTML_VERSION = 14  # of the HTML; count up when it changes, so that cached pages are rendered anew
# What is drawn in the moment in which its conversation is deleted stays for so long.
HTML_CACHE_SECONDS = 24 * 3600


def make_key(conversation_id: UUID, what: str) -> str:
    """The key of a conversation's HTML in the active language. `what` tells apart all that a
    conversation has, and changes when the HTML would."""
    return f"{_prefix(conversation_id)}{HTML_VERSION}:{get_language()}:{what}"


def keep(key: str, html: str) -> None:
    cache.set(key, html, HTML_CACHE_SECONDS)


def forget_later(conversation_ids: Iterable[UUID]) -> None:
    """Forget all HTML of conversations when this transaction is committed."""
    prefixes = {_prefix(each) for each in conversation_ids}
    if prefixes:
        # A cache that cannot be reached must not make the deletion seem to have failed.
        transaction.on_commit(lambda: _forget(prefixes), robust=True)


def _forget(prefixes: Collection[str]) -> None:
    cache.delete_prefixed(prefixes)  # type: ignore[attr-defined]  # config.caches


def _prefix(conversation_id: UUID) -> str:
    return f"html:{conversation_id}:"
