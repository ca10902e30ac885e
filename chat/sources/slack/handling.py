"""Stored events are dealt with: what the owner of a thread wrote becomes prompts here."""

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.core.cache import cache
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import User
from accounts.preferences import speaking_with
from chat.db.threads import in_db
from chat.errors import RefusalCode, Refused
from chat.live.admission import Sender
from chat.live.enqueuing import ask_for_rebuild
from chat.live.runner import runner
from chat.models import Conversation, Message, SlackEvent, SlackMessage, SlackThread
from chat.queries.slack import find_known, find_thread, list_waiting, list_waiting_places
from chat.services.library import attachments
from chat.services.library.file_types import MAX_FILE_BYTES
from chat.services.slack import inbox, threads
from chat.services.slack.threads import Place
from chat.services.turns.turns import NewMessage
from chat.sources.slack import words
from chat.sources.slack.client import CallRefused, FileRefused, SlackClient, SlackFault
from chat.sources.slack.people import People, SlackPerson
from chat.sources.slack.reading import list_people, read_mrkdwn
from chat.sources.slack.socket import Identity
from chat.sources.slack.taking import CHANGED, COMMAND, DELETED

log = structlog.get_logger(__name__)

AT_ONCE = 200  # events that are looked at together
STRANGER_TOLD_SECONDS = 3_600
_LINK = re.compile(r"^\s*link\s+\S*?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\S*\s*$", re.I)

Payload = Mapping[str, Any]


class Handler:
    """Deals with the events of one workspace, those of a thread one after the other."""

    def __init__(self, client: SlackClient, identity: Identity) -> None:
        self._client = client
        self._identity = identity
        self._people = People(client)
        self._busy: dict[str, asyncio.Task[None]] = {}

    async def look(self) -> None:
        """Begin with what waits, where nothing is being dealt with yet."""
        for place in await in_db(list_waiting_places, AT_ONCE):
            if place not in self._busy:
                task = asyncio.create_task(self._deal_with_all(place))
                self._busy[place] = task
                task.add_done_callback(partial(self._forget, place))

    def _forget(self, place: str, _: object) -> None:
        self._busy.pop(place, None)

    async def close(self) -> None:
        """End what is being dealt with: it waits in the database."""
        for task in list(self._busy.values()):
            task.cancel()
        await asyncio.gather(*self._busy.values(), return_exceptions=True)

    async def _deal_with_all(self, place: str) -> None:
        """The events of a place in their order. What cannot be said here yet keeps what follows it
        waiting; a change of something older does not."""
        for event in await in_db(list_waiting, place):
            is_change = event.payload.get("kind") in (CHANGED, DELETED)
            if event.not_before and event.not_before > timezone.now():
                if is_change:
                    continue
                return
            if not await self._deal_with(event) and not is_change:
                return

    async def _deal_with(self, event: SlackEvent) -> bool:
        """Whether it is done with."""
        try:
            await self._dispatch(event)
        except SlackFault as fault:
            passes = not isinstance(fault, CallRefused) or fault.code == "missing_scope"
            if passes and not inbox.is_given_up(event):
                log.info("slack event waits", reason=str(fault))
                await in_db(inbox.postpone_event, event, getattr(fault, "seconds", None))
                return False
            log.warning("slack event not dealt with", reason=str(fault))
        except Refused as refusal:
            if refusal.retryable and not inbox.is_given_up(event):
                await in_db(inbox.postpone_event, event)
                return False
            await self._tell_refusal(event, refusal)
        except Exception:
            log.exception("slack event failed", key=event.key)
            if not inbox.is_given_up(event):
                await in_db(inbox.postpone_event, event)
                return False
        await in_db(inbox.finish_event, event)
        return True

    async def _dispatch(self, event: SlackEvent) -> None:
        match event.payload.get("kind"):
            case "message":
                await self._on_message(event.payload)
            case "command":
                await self._on_command(event)
            case "changed" | "deleted":
                await self._on_change(event.payload)

    # --- Commands ---------------------------------------------------------------------------------

    async def _on_command(self, event: SlackEvent) -> None:
        payload, thread = event.payload, event.thread
        person = await self._people.find(payload["user"], self._identity.team)
        if person.user is None:
            await self._tell_stranger(person, payload)
            return
        text = await self._read(payload["text"])
        with speaking_with(person.user):
            if thread is None:
                name = await self._enter_channel(payload)
                place = Place(self._identity.team, payload["channel"], name)
                thread = await self._link(person, place, payload["text"], event)
            if text and not _LINK.match(payload["text"]):
                new = _make_prompt(payload, text, (), person)
                await in_db(threads.queue_once, thread, new)

    async def _enter_channel(self, payload: Payload) -> str:
        """The name of the channel that a command was given in, "" for a direct conversation with
        the bot. Refused where the bot cannot post."""
        try:
            answer = await self._client.call("conversations.info", channel=payload["channel"])
        except CallRefused as fault:
            if fault.code == "missing_scope":
                return str(payload["channel_name"])
            raise _not_invited() from fault
        about = answer.get("channel") or {}
        if about.get("is_im"):
            return ""
        if about.get("is_member") is False:
            raise _not_invited()
        return str(about.get("name") or payload["channel_name"])

    async def _link(
        self, person: SlackPerson, place: Place, text: str, event: SlackEvent | None = None
    ) -> SlackThread:
        """The thread of a new conversation, or of the one that `link …` names. Refused."""
        assert person.user
        if (found := _LINK.match(text)) is None:
            return await in_db(threads.open_linked, person.user, place, person.id, event)
        try:
            return await in_db(
                threads.link_thread, person.user, UUID(found[1]), place, person.id, event
            )
        except Conversation.DoesNotExist as error:
            raise Refused(
                RefusalCode.NOT_LINKABLE,
                gettext("No chat of yours has this address. Copy it from the browser."),
            ) from error

    # --- Messages ---------------------------------------------------------------------------------

    async def _on_message(self, payload: Payload) -> None:
        thread = await in_db(find_thread, self._identity.team, payload["channel"], payload["root"])
        person = await self._people.find(payload["user"], self._identity.team)
        if person.user is None:
            await self._tell_stranger(person, payload)
            return
        with speaking_with(person.user):
            if thread is None and payload["called"]:
                await self._begin(person, payload)
            elif thread and thread.conversation.owner_id != person.user.pk:
                if await in_db(threads.note_told, thread, person.id):
                    await self._tell(payload, words.explain_other_owner(thread.conversation))
            elif thread and _LINK.match(self._without_mention(payload["text"])):
                await self._tell(payload, words.describe_opening(thread))
            elif thread:
                await self._send(thread, person, payload)

    async def _begin(self, person: SlackPerson, payload: Payload) -> None:
        """A mention, or a direct message: its thread gets a conversation."""
        name = "" if payload["direct"] else await self._name_channel(payload["channel"])
        place = Place(self._identity.team, payload["channel"], name, payload["root"], payload["ts"])
        asked = self._without_mention(payload["text"])
        thread = await self._link(person, place, asked)
        if _LINK.match(asked) or not (asked or payload["files"]):
            await self._tell(payload, words.describe_opening(thread))
        else:
            await self._send(thread, person, payload)

    async def _send(self, thread: SlackThread, person: SlackPerson, payload: Payload) -> None:
        assert person.user
        text = await self._read(payload["text"])
        files = await self._fetch_files(person.user, thread, payload)
        if not text and not files:
            return
        new = _make_prompt(payload, text, files, person)
        await in_db(threads.take_message, thread, payload["ts"], new)

    async def _fetch_files(self, user: User, thread: SlackThread, payload: Payload) -> list[str]:
        """The ids of the files here. What cannot be taken is said, and the rest goes."""
        taken, faults = [], []
        for file in payload["files"]:
            name = str(file.get("name") or "file")
            address = str(file.get("url_private_download") or file.get("url_private") or "")
            try:
                if (file.get("size") or 0) > MAX_FILE_BYTES:
                    raise FileRefused("too large")
                data = await self._client.fetch_file(address, MAX_FILE_BYTES)
                stored = await in_db(attachments.store_unsent, user, name, data)
                taken.append(str(stored.pk))
            except Refused as refusal:
                faults.append(f"{name}: {refusal.message}")
            except FileRefused as fault:
                log.info("file of slack not taken", reason=str(fault))
                said = gettext("{name} could not be fetched. Attach it in Everlong.")
                faults.append(said.format(name=name))
        if faults:
            said = words.explain_failure("\n".join(faults), thread.conversation)
            await self._tell(payload, said)
        return taken

    # --- Changes ----------------------------------------------------------------------------------

    async def _on_change(self, payload: Payload) -> None:
        """An edit or a deletion of what the owner wrote there."""
        known = await in_db(
            find_known, self._identity.team, payload["channel"], payload["root"], payload["ts"]
        )
        if known is None:
            return
        owner = known.thread.conversation.owner
        if not owner.is_active:
            return
        with speaking_with(owner):
            if payload["kind"] == DELETED:
                try:
                    rested = await in_db(threads.delete_taken, known)
                except Message.DoesNotExist:
                    return
                if rested:
                    await asyncio.to_thread(ask_for_rebuild, known.thread.conversation_id)
                return
            person = await self._people.find(payload["user"], self._identity.team)
            if person.user != owner:
                return
            text = await self._read(payload["text"])
            if not await in_db(threads.edit_queued, known, text):
                await self._edit_sent(known, text, person)

    @staticmethod
    async def _edit_sent(known: SlackMessage, text: str, person: SlackPerson) -> None:
        """The answer to the new version begins in this process."""
        sender = Sender(known.thread.conversation.owner_id)
        await runner.begin(
            sender, threads.edit_sent, known, text, holder=runner.holder, zone=person.zone
        )

    # --- Words ------------------------------------------------------------------------------------

    async def _read(self, text: str) -> str:
        """What somebody wrote, as Markdown, without the bot's own name."""
        mentioned = list_people(text) - {self._identity.user}
        names = {each: await self._people.name(each) for each in sorted(mentioned)}
        return read_mrkdwn(text, names | {self._identity.user: ""})

    def _without_mention(self, text: str) -> str:
        return re.sub(rf"<@{re.escape(self._identity.user)}(\|[^>]*)?>", "", text).strip()

    async def _name_channel(self, channel: str) -> str:
        try:
            about = await self._client.call("conversations.info", channel=channel)
        except CallRefused:
            return channel
        return str((about.get("channel") or {}).get("name") or channel)

    async def _tell_stranger(self, person: SlackPerson, payload: Payload) -> None:
        """Once an hour at most; a command is answered each time, as it was asked."""
        answers = payload["kind"] == COMMAND
        key = f"slack-stranger:{self._identity.team}:{person.id}"
        if answers or await in_db(cache.add, key, 1, STRANGER_TOLD_SECONDS):
            await self._tell(payload, words.explain_stranger(person))

    async def _tell_refusal(self, event: SlackEvent, refusal: Refused) -> None:
        payload = event.payload
        conversation = event.thread.conversation if event.thread else None
        said = words.explain_failure(refusal.message, conversation)
        try:
            await self._tell(payload, said)
        except SlackFault as fault:
            log.warning("refusal not told in slack", reason=str(fault))

    async def _tell(self, payload: Payload, text: str) -> None:
        """Say something that only the person themselves sees."""
        if answer_at := payload.get("answer_at"):
            await self._client.respond(answer_at, text)
            return
        if not payload.get("user"):  # a deletion does not always say whose it is
            return
        try:
            await self._client.call(
                "chat.postEphemeral",
                channel=payload["channel"],
                user=payload["user"],
                thread_ts=payload["root"],
                text=text,
            )
        except CallRefused as fault:  # they have left the channel, or the bot has
            log.info("not told in slack", reason=str(fault))


def _make_prompt(
    payload: Payload, text: str, files: Sequence[str], person: SlackPerson
) -> NewMessage:
    """What somebody wrote, with an id that is the same each time that it comes."""
    about = payload.get("ts") or payload.get("answer_at", "")
    digest = hashlib.sha256(f"{payload['channel']}:{about}".encode()).hexdigest()
    return NewMessage(
        text,
        files,
        client_id=f"slack-{digest[:40]}",
        zone=person.zone,
        source=Message.Source.SLACK,
    )


def _not_invited() -> Refused:
    return Refused(
        RefusalCode.NOT_LINKABLE,
        gettext("Everlong is not in this channel. Invite it with /invite, and try again."),
    )
