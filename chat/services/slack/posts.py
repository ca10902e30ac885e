"""What stands in a thread of us, written down before and after each call: a process that dies in
between leaves a post that the next one looks for."""

from django.db.models import F

from chat.models import SlackPost, SlackThread


def claim_post(post: SlackPost) -> bool:
    """Begin to post it; False where another process has begun meanwhile."""
    mine = SlackPost.objects.filter(pk=post.pk, tries=post.tries, ts="")
    return bool(mine.update(tries=F("tries") + 1))


def open_post(
    thread: SlackThread, key: str, *, message_id: int | None, compaction_id: int | None
) -> SlackPost:
    """The row of a post, new or as it is."""
    return SlackPost.objects.get_or_create(
        thread=thread,
        key=key,
        defaults={"message_id": message_id, "compaction_id": compaction_id},
    )[0]


def note_posted(post: SlackPost, ts: str, digest: str, *, final: bool) -> None:
    """It stands there with that text."""
    SlackPost.objects.filter(pk=post.pk).update(ts=ts, digest=digest, final=final)


def forget_post(post: SlackPost) -> None:
    """It was taken back, or cannot be changed any more."""
    post.delete()


def note_begun(thread: SlackThread, ts: str) -> None:
    """The message that a thread begins with is posted."""
    SlackThread.objects.filter(pk=thread.pk, ts="").update(ts=ts, from_ts=ts, seen_ts=ts)


def note_complete(
    thread: SlackThread, *, through: int, history_version: int, compactions: int
) -> None:
    """The thread has all of the conversation, as it was when it had these."""
    SlackThread.objects.filter(pk=thread.pk).update(
        through=max(through, thread.through),
        history_version=history_version,
        compactions=compactions,
    )
