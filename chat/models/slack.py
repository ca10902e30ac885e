"""Threads of Slack that conversations are linked with. Nothing here holds what people wrote, but
an event that is not dealt with yet."""

from django.db import models

from chat.models.compaction import Compaction
from chat.models.conversation import Conversation
from chat.models.message import Message


class SlackConnection(models.Model):
    """The one row of the process that is connected to Slack: it alone answers and posts. It extends
    its lease; another process takes over when that has run out."""

    ONLY = 1

    holder = models.CharField(max_length=64, blank=True)
    lease_expires = models.DateTimeField()
    team = models.CharField(max_length=40, blank=True, help_text="The workspace's id.")
    team_name = models.CharField(max_length=200, blank=True)
    problem = models.TextField(blank=True, help_text="Why Slack is not reached, and the next step.")

    def __str__(self) -> str:
        return f"Slack connection of {self.holder or 'nobody'}"


class SlackThread(models.Model):
    """A conversation and a thread that are one. `ts` is Slack's id of a message in a channel, and
    its time: "1764170000.000100"."""

    conversation = models.OneToOneField(
        Conversation, on_delete=models.CASCADE, related_name="slack_thread"
    )
    team = models.CharField(max_length=40)
    channel = models.CharField(max_length=40)
    channel_name = models.CharField(max_length=100, blank=True, help_text="Empty: a direct one.")
    ts = models.CharField(
        max_length=40,
        blank=True,
        help_text="Of the message that it begins with; empty: that is not posted yet.",
    )
    asked_by = models.CharField(
        max_length=40, blank=True, help_text="Slack's id of the person who linked it."
    )
    from_ts = models.CharField(
        max_length=40, blank=True, help_text="Only what is newer belongs to the conversation."
    )
    seen_ts = models.CharField(
        max_length=40, blank=True, help_text="The newest message of Slack's that was looked at."
    )
    through = models.PositiveIntegerField(
        default=0, help_text="The number of the last message that the thread has."
    )
    history_version = models.BigIntegerField(
        null=True, blank=True, help_text="Of the conversation, when all of it was posted."
    )
    compactions = models.PositiveIntegerField(
        default=0, help_text="How many the conversation had completed then."
    )
    told = models.JSONField(
        default=list, help_text="Ids of people who know that only its owner writes here."
    )
    linked_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "channel", "ts"],
                condition=~models.Q(ts=""),
                name="one_slack_thread",
            )
        ]

    def __str__(self) -> str:
        return f"thread {self.ts} of {self.channel}"


class SlackMessage(models.Model):
    """What the owner wrote in a linked thread, and which message it is here."""

    thread = models.ForeignKey(SlackThread, on_delete=models.CASCADE, related_name="messages")
    ts = models.CharField(max_length=40)
    client_id = models.CharField(max_length=64, help_text="As in Message, and while it is queued.")
    message = models.ForeignKey(
        Message,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The newest version of it, once it was edited.",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["thread", "ts"], name="one_slack_message"),
        ]

    def __str__(self) -> str:
        return f"message {self.ts}"


class SlackPost(models.Model):
    """What the thread has, or is about to have, of a message or a compaction: one post of Slack's.
    A long text is several. The texts themselves are made from the messages each time."""

    thread = models.ForeignKey(SlackThread, on_delete=models.CASCADE, related_name="posts")
    key = models.CharField(max_length=80, help_text="What it is of, and which part.")
    message = models.ForeignKey(
        Message, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    compaction = models.ForeignKey(
        Compaction, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    tries = models.PositiveIntegerField(
        default=0, help_text="Without a `ts` it may have been posted: it is looked for first."
    )
    ts = models.CharField(max_length=40, blank=True)
    digest = models.CharField(max_length=64, blank=True, help_text="Of the text that it shows.")
    final = models.BooleanField(default=False, help_text="Its text will not change any more.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["thread", "key"], name="one_slack_post")]

    def __str__(self) -> str:
        return f"post {self.key}"


class SlackEvent(models.Model):
    """Something that happened in Slack and concerns us, until it is dealt with; then `payload` is
    empty, and the row stays for a while, so that the same event is known again."""

    key = models.CharField(max_length=120, unique=True, help_text="The same for the same event.")
    thread = models.ForeignKey(
        SlackThread, null=True, blank=True, on_delete=models.CASCADE, related_name="events"
    )
    place = models.CharField(
        max_length=90, db_index=True, help_text="Channel and thread: its events go one by one."
    )
    order = models.CharField(max_length=40, help_text="Slack's time of what happened.")
    payload = models.JSONField(default=dict, blank=True)
    done = models.BooleanField(default=False)
    tries = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["order"], condition=models.Q(done=False), name="slack_event_waiting"
            ),
            models.Index(fields=["created_at"], name="slack_event_age"),
        ]

    def __str__(self) -> str:
        return self.key
