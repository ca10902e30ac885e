"""Who comes to the site in these tests, and what belongs to them."""

from dataclasses import dataclass, field
from datetime import date, time
from enum import StrEnum
from typing import Any

from allauth.usersessions.models import UserSession
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Group
from django.db.models import ForeignKey, Q
from django.test import Client

from accounts.models import AccessToken, AuditEntry, GroupPolicy, PushSubscription, User
from accounts.tokens import EXPORT_READ, issue_token
from chat.importers.records import Offered
from chat.models import (
    Attachment,
    Compaction,
    Conversation,
    ImportJob,
    ImportOffer,
    Memory,
    MemoryProposal,
    Message,
    Project,
    QueuedPrompt,
    ScheduledPrompt,
    Share,
)
from chat.services.library import (
    attachments,
    import_jobs,
    import_offers,
    memories,
    projects,
    shares,
)
from chat.services.library.file_types import inspect_file
from chat.services.turns import queue
from chat.services.turns.turns import NewMessage
from tests.access.addresses import Address
from tests.chat.factories import make_compaction, make_conversation, make_user
from tests.chat.sockets import sign_in


class Role(StrEnum):
    """Who asks. Those with a session of their own are at the addresses of the owner's things."""

    NOBODY = "nobody"
    DISABLED = "disabled"  # at their own things, with the cookie of before
    OWNER = "owner"
    OTHER = "other"
    OUTSIDER = "outsider"  # of a group that may use no model, no tool and no server
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"


SECRET = "Zanzibar"  # in all that the owner has written
OURS = ("accounts", "chat", "spending")
UNHEEDED = (AuditEntry,)  # a row says that somebody has looked
PEOPLE = (Role.OWNER, Role.OTHER, Role.OUTSIDER, Role.OPERATOR, Role.ADMINISTRATOR)


@dataclass(frozen=True)
class Belongings:
    """One of everything that a person can have."""

    owner: User
    project: Project = field(init=False)
    project_file: Attachment = field(init=False)
    conversation: Conversation = field(init=False)
    message: Message = field(init=False)  # with a file
    file: Attachment = field(init=False)
    compaction: Compaction = field(init=False)
    memory: Memory = field(init=False)
    proposal: MemoryProposal = field(init=False)
    schedule: ScheduledPrompt = field(init=False)
    share: Share = field(init=False)
    revoked: Share = field(init=False)
    token: AccessToken = field(init=False)
    queued: QueuedPrompt = field(init=False)
    subscription: PushSubscription = field(init=False)
    session: UserSession = field(init=False)  # of another browser
    import_job: ImportJob = field(init=False)
    offer: ImportOffer = field(init=False)

    def __post_init__(self) -> None:
        owner, keep = self.owner, self.__dict__
        keep["project"] = projects.create_project(owner, SECRET)
        text = SECRET.encode()
        note = inspect_file(f"{SECRET}.txt", text, owner_id=owner.pk)
        keep["project_file"] = attachments.store_checked(
            owner, f"{SECRET}.txt", text, note, self.project
        )
        said = [f"{SECRET} {number}" for number in range(7)]  # the last one waits for an answer
        keep["conversation"] = make_conversation(
            owner, messages=said, project=self.project, title=SECRET, system_prompt=SECRET
        )
        keep["compaction"] = make_compaction(self.conversation, f"## Overview\n- {SECRET} [#1 #2]")
        keep["message"] = self.conversation.messages.get(number=7)
        keep["file"] = attachments.store_unsent(owner, f"{SECRET} plan.txt", text)
        self.message.attachments.add(self.file)
        keep["memory"], _ = memories.remember_fact(owner.pk, f"Likes {SECRET}", Memory.Source.USER)
        keep["proposal"] = memories.propose_fact(
            owner.pk, f"Knows {SECRET}", self.conversation.pk, 1
        )
        keep["share"] = shares.share_conversation(owner, self.conversation.pk, None)
        keep["revoked"] = shares.share_conversation(owner, self.conversation.pk, self.message.pk)
        shares.revoke_share(owner, self.conversation.pk, self.revoked.pk)
        waiting = NewMessage(SECRET, client_id="queued")
        keep["queued"] = queue.queue_prompt(owner.pk, self.conversation.pk, waiting)
        keep["import_job"] = import_jobs.create(owner, [(f"{SECRET}.json", 10)])
        import_offers.add_offer(self.import_job, Offered("memory", SECRET), None)
        keep["offer"] = self.import_job.offers.get()
        keep["schedule"] = ScheduledPrompt.objects.create(
            conversation=self.conversation,
            text=SECRET,
            repeat=ScheduledPrompt.Repeat.DAILY,
            first_date=date(2026, 11, 26),
            time=time(9),
            time_zone="UTC",
        )
        issue_token(owner, "A program", [EXPORT_READ], None)
        keep["token"] = owner.access_tokens.get()
        keep["subscription"] = PushSubscription.objects.create(user=owner, endpoint_hash=owner.pk)
        keep["session"] = UserSession.objects.create(
            user=owner, session_key=sign_in(owner), ip="127.0.0.1", user_agent="A browser"
        )

    def name_parameters(self, address: Address) -> dict[str, Any]:
        """Values for the parameters of an address: what they mean follows from how it begins, or in
        the administration from its name."""
        values: dict[str, Any] = {
            "message": self.message.pk,
            "queued": self.queued.pk,
            "version": self.compaction.pk,
            "compaction": self.compaction.pk,
            "share": self.share.pk,
            "schedule": self.schedule.pk,
            "file": self.file.pk,
            "number": self.message.number,
            "position": self.message.position,
            "seconds": 0,
            "after": 0,
            "before": 4,
            "token": "a-token",
            "key": "a-key",
            "uidb36": "1",
            "provider_id": "a-provider",
            "app_label": "chat",
            "url": "admin/nowhere/",
            "content_type_id": 1,
            "object_id": 1,
            "id": 1,
            "section": "general",
            "user": self.owner.pk,
            "group": 1,
            "pk": 1,
        }
        starts: dict[str, dict[str, Any]] = {
            "c/": {"pk": self.conversation.pk},
            "projects/": {"pk": self.project.pk, "file": self.project_file.pk},
            "memories/": {"pk": self.memory.pk},
            "memories/proposals/": {"pk": self.proposal.pk},
            "attachments/": {"pk": self.file.pk},
            "s/": {"pk": self.share.pk},
            "settings/tokens/": {"pk": self.token.pk},
            "settings/notifications/": {"pk": self.subscription.pk},
            "account/sessions/": {"pk": self.session.pk},
            "imports/": {"pk": self.import_job.pk, "file": self.import_job.files.get().pk},
            "imports/offers/": {"pk": self.offer.pk},
            "api/v1/": {
                "conversation": self.conversation.pk,
                "project": self.project.pk,
                "turn": turn.pk if (turn := self.conversation.turns.first()) else 1,
                "queued": 1,
                "job": self.project.pk,  # of nobody
            },
            "api/v1/imports/": {"file": 1},
        }
        for start, of_it in starts.items():
            if address.route.startswith(start):
                values |= of_it
        rows: dict[str, Any] = {
            "accounts_user": self.owner,
            "auth_user": self.owner,
            "chat_conversation": self.conversation,
            "chat_message": self.message,
            "chat_compaction": self.compaction,
            "chat_memory": self.memory,
            "chat_project": self.project,
            "chat_turn": self.conversation.turns.first(),
        }
        for model, row in rows.items():
            if address.name.startswith(f"admin:{model}_"):
                values |= dict.fromkeys(("pk", "id", "object_id"), row.pk)
        return values

    def list_fields(self) -> dict[str, Any]:
        """What forms may hold: what would change something, if it were heeded."""
        return {
            "id": [str(self.conversation.pk)],
            "conversation": [str(self.conversation.pk)],
            "project": str(self.project.pk),
            "through": str(self.message.pk),
            "attachments": [str(self.file.pk)],
            "text": "Changed by a stranger",
            "title": "Changed by a stranger",
            "name": "Changed by a stranger",
            "model": "test-model",
            "decision": "accept",
            "add": "1",
            "pinned": "1",
            "archived": "1",
        }

    def read_rows(self) -> dict[str, list[dict[str, Any]]]:
        """All that is stored of this person, by model: what refers to them, to their conversation,
        its messages or their project."""
        referred = {
            User: [self.owner.pk],
            Conversation: [self.conversation.pk],
            Message: [*self.conversation.messages.values_list("pk", flat=True)],
            Project: [self.project.pk],
        }
        rows: dict[str, list[dict[str, Any]]] = {}
        for model in apps.get_models():
            if model._meta.app_label not in OURS or model in UNHEEDED:
                continue
            wanted = Q(pk__in=referred.get(model, []))
            for column in model._meta.get_fields():
                if isinstance(column, ForeignKey) and column.related_model in referred:
                    wanted |= Q(**{f"{column.name}__in": referred[column.related_model]})
            found = model._base_manager.filter(wanted).order_by("pk").values()
            rows[model.__name__] = [row | {"last_login": None} for row in found]
        return rows


class Cast:
    """Everybody. They are signed in before one of them is disabled."""

    def __init__(self) -> None:
        self.users = {
            Role.DISABLED: make_user("disabled"),
            Role.OWNER: make_user("owner"),
            Role.OTHER: make_user("other"),
            Role.OUTSIDER: make_user("outsider"),
            Role.OPERATOR: make_user("operator", staff=True),
            Role.ADMINISTRATOR: make_user("administrator", admin=True),
        }
        bar_from_everything(self.users[Role.OUTSIDER])
        self.owned = Belongings(self.users[Role.OWNER])
        self._of_disabled = Belongings(self.users[Role.DISABLED])
        self._clients = {role: Client(raise_request_exception=False) for role in Role}
        for role, user in self.users.items():
            self._clients[role].force_login(user)
        disabled = self.users[Role.DISABLED]
        disabled.is_active = False
        disabled.save()
        self.requests = 0

    def find_place(self, role: Role) -> Belongings:
        """Whose things somebody asks for."""
        return self._of_disabled if role == Role.DISABLED else self.owned

    def ask(self, role: Role, method: str, path: str, fields: dict[str, Any] | None = None) -> Any:
        """The answer to a request. Who has signed out by it is signed in again."""
        client = self._clients[role]
        self.requests += 1
        response: Any = (
            client.post(path, fields) if method == "POST" else client.generic(method, path)
        )
        if settings.SESSION_COOKIE_NAME in response.cookies:
            client.cookies.clear()
            if role in self.users and role != Role.DISABLED:
                client.force_login(self.users[role])
        return response

    def read_cookie(self, role: Role) -> str:
        """Of somebody's session; "" for none."""
        cookie = self._clients[role].cookies.get(settings.SESSION_COOKIE_NAME)
        return cookie.value if cookie else ""

    def show_token(self, scope: str) -> dict[str, str]:
        """The header of the owner's own program."""
        user = self.users[Role.OWNER]
        return {"Authorization": f"Bearer {issue_token(user, scope, [scope], None)}"}


def bar_from_everything(user: User) -> None:
    """Put somebody into a group that may use no model, no tool and no server."""
    group = Group.objects.create(name="Outsiders")
    GroupPolicy.objects.create(group=group, model_names=[], tool_groups=[], mcp_servers=[])
    user.groups.add(group)
