"""The panels of the message box: the models to choose from, and the tools that they may use."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET, require_http_methods

from accounts.policies import Rights, load_rights
from chat.engine.model_profiles import (
    find_default_name,
    has_prices,
    list_offered,
    load_profile,
)
from chat.engine.rights import explain_barred
from chat.engine.tools import TOOL_GROUPS
from chat.errors import Refused
from chat.models import McpServer, ModelProfile
from chat.services.library import conversations
from chat.web.access import find_conversation, get_user, refusal_response
from chat.web.compression import compress_without_query

MCP = "mcp:"  # before the name of a server
NONE_OFFERED = gettext_noop(
    "There is no model that your account may use. Ask an administrator for one."
)


def describe_offer(user_id: int, profile: ModelProfile) -> dict[str, Any]:
    """What a page says of models: those to choose from, the chosen one's name, and why it may not
    answer; "": it may."""
    models, barred = list_offered(user_id), explain_barred(user_id, profile)
    if barred:
        barred = gettext(barred if models else NONE_OFFERED)
    return {"models": models, "model_label": str(profile), "model_barred": barred}


@login_required
@require_GET
@compress_without_query
def model_panel(request: HttpRequest, pk: UUID | None = None) -> HttpResponse:
    """What is offered, with window and price; of the start page without a conversation."""
    row, user_id = find_conversation(request, pk) if pk else None, get_user(request).pk
    chosen = row.model if row else request.GET.get("model") or find_default_name(user_id)
    models = [
        {"name": each.name, "label": str(each), "about": describe(each), "on": each.name == chosen}
        for each in list_offered(user_id)
    ]
    context = {"models": models, "conversation": row, "none_offered": gettext(NONE_OFFERED)}
    return render(request, "chat/composer/models.html", context)


def describe(profile: ModelProfile) -> str:
    """A model's window and prices in words."""
    window = gettext("{tokens:,} tokens").format(tokens=profile.context_window)
    if not has_prices(profile):
        price = gettext("price unknown")
    elif not (profile.input_price or profile.output_price):
        price = gettext("free")
    else:
        price = gettext("${input:g} in, ${output:g} out per million").format(
            input=profile.input_price, output=profile.output_price
        )
    return f"{window} · {price}"


# --- Tools ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Something that a user can let the model use. `value` is what the page posts."""

    value: str
    label: str
    about: str
    on: bool


@login_required
@require_http_methods(["GET", "POST"])
@compress_without_query
def tool_panel(request: HttpRequest, pk: UUID | None = None) -> HttpResponse:
    """What the model may use: switched at once in a conversation, and posted with its first message
    on the start page."""
    row, user_id = find_conversation(request, pk) if pk else None, get_user(request).pk
    name = row.model if row else request.GET.get("model") or find_default_name(user_id)
    stored = row.tool_settings if row else {}
    choices = list_choices(user_id, stored, load_profile(name))
    if request.method == "GET" or row is None:
        context = {"choices": choices, "conversation": row}
        return render(request, "chat/composer/tools.html", context)
    changed = read_choices(request.POST.getlist("tools"), stored, choices)
    try:
        conversations.change_settings(row, {"tool_settings": changed})
    except Refused as refusal:
        return refusal_response(refusal, 409)
    return HttpResponse(status=204)


def list_choices(
    user_id: int, stored: Mapping[str, Any], profile: ModelProfile
) -> list[ToolChoice]:
    """What somebody may switch for a model, and how it stands in a conversation's `tool_settings`;
    nothing for a model without tools."""
    if not (settings.TOOLS and profile.tools):
        return []
    rights = load_rights(user_id)
    return [each for each in _list_choices(stored, profile) if _may_use(rights, each.value)]


def _may_use(rights: Rights, value: str) -> bool:
    if value.startswith(MCP):
        return rights.may_use_server(value.removeprefix(MCP))
    return rights.may_use_tools(value)


def _list_choices(stored: Mapping[str, Any], profile: ModelProfile) -> Iterator[ToolChoice]:
    off, servers = stored.get("off", ()), stored.get("mcp", ())
    yield ToolChoice(
        "history",
        gettext("Search in this chat"),
        gettext("It reads earlier messages word for word, also summarised ones."),
        "history" not in off,
    )
    yield ToolChoice(
        "memory",
        gettext("Memory"),
        gettext("It is told the remembered facts, and can note more."),
        "memory" not in off,
    )
    if profile.web_tools:
        yield ToolChoice(
            "web",
            gettext("Search the web"),
            gettext(
                "The model may search the web and open pages. Its provider charges for searches."
            ),
            bool(stored.get("web")),
        )
    for server in McpServer.objects.filter(enabled=True):
        about = gettext("A server of tools. It asks you before each call.")
        if server.name in stored.get("mcp_allowed", ()):
            about = gettext("A server of tools. It acts without asking.")
        yield ToolChoice(f"{MCP}{server.name}", server.name, about, server.name in servers)


def read_choices(
    chosen: Sequence[str], stored: Mapping[str, Any], choices: Sequence[ToolChoice]
) -> dict[str, Any]:
    """A conversation's `tool_settings` with what was chosen of what was shown."""
    shown = {choice.value for choice in choices}
    on, off = shown & {*chosen}, shown - {*chosen}
    hidden = [name for name in stored.get("mcp", ()) if f"{MCP}{name}" not in shown]
    mcp = [value.removeprefix(MCP) for value in sorted(on) if value.startswith(MCP)]
    changed = {**stored, "mcp": [*hidden, *mcp]}
    if "web" in shown:
        changed["web"] = "web" in on
    if shown:
        changed["off"] = sorted(({*stored.get("off", ())} - on) | (off & TOOL_GROUPS.keys()))
    return {name: value for name, value in changed.items() if value or name in stored}
