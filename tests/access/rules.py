"""Who gets in where. What is not named here has no rule, and its test fails."""

from collections.abc import Mapping

from accounts.tokens import (
    CONVERSATIONS_READ,
    CONVERSATIONS_WRITE,
    EXPORT_READ,
    IMPORTS_WRITE,
    MESSAGES_SEND,
    USAGE_READ,
)
from tests.access.addresses import Address
from tests.access.people import PEOPLE, Role
from tests.access.verdicts import Verdict

Rule = dict[Role, Verdict]


def let_in(*roles: Role, others: Verdict, nobody: Verdict = Verdict.SIGN_IN) -> Rule:
    """These get in; what happens to `others` who are signed in, and to `nobody`. A disabled person
    is nobody."""
    rule = dict.fromkeys(Role, others)
    rule |= dict.fromkeys((Role.NOBODY, Role.DISABLED), nobody)
    return rule | dict.fromkeys(roles, Verdict.IN)


OWNED = let_in(Role.OWNER, others=Verdict.HIDDEN)
PERSONAL = let_in(*PEOPLE, others=Verdict.IN)  # each at their own things
PUBLIC = let_in(*Role, others=Verdict.IN)
FOR_PROGRAMS = let_in(others=Verdict.SIGN_IN)  # no cookie opens it: tests/access/test_api.py
UNKNOWN_TOKEN = let_in(others=Verdict.HIDDEN, nobody=Verdict.HIDDEN)
NOT_SET_UP = let_in(others=Verdict.HIDDEN)  # personal, but nobody here has it
STRANGERS = (Role.OWNER, Role.OTHER, Role.OUTSIDER)  # to the administration
STAFF_ROLES = (Role.OPERATOR, Role.ADMINISTRATOR)
FIGURES = let_in(*STAFF_ROLES, others=Verdict.REFUSED, nobody=Verdict.REFUSED)
STAFF = let_in(*STAFF_ROLES, others=Verdict.SIGN_IN)
ADMINISTRATORS = STAFF | {Role.OPERATOR: Verdict.REFUSED}

# By how an address begins: what belongs to somebody, and old addresses that lead on.
STARTS: Mapping[str, Rule] = {
    "c/<uuid:pk>/": OWNED,
    "projects/<uuid:pk>/": OWNED,
    "memories/<int:pk>/": OWNED,
    "memories/proposals/<int:pk>/": OWNED,
    "attachments/<uuid:pk>/": OWNED,
    "s/<uuid:pk>/": PERSONAL,
    "settings/tokens/<int:pk>/": OWNED,
    "settings/notifications/<int:pk>/": OWNED,
    "imports/<uuid:pk>/": OWNED,
    "imports/pieces/<uuid:pk>/": OWNED,
    "imports/offers/<int:pk>/": OWNED,
    "account/sessions/<int:pk>/": OWNED,
    "account/2fa/webauthn/keys/<int:pk>/": PERSONAL,  # whose it is, is asked after the password
    "account/social/": PUBLIC,
    "api/v1/openapi.json": PERSONAL,
    "api/v1/docs/": PERSONAL,
    "api/v1/": FOR_PROGRAMS,
}
# The others, by their names, or where they have none by their routes.
NAMED: Mapping[str, Rule] = {
    **dict.fromkeys(
        (
            *("home", "conversation_create", "conversations_change", "conversations_move"),
            *("first_model_panel", "first_tool_panel", "memories", "projects", "share_target"),
            *("attachment_create", "sidebar", "palette", "announcement_dismiss", "imports"),
            *("settings", "settings_section", "settings/general/", "settings/tokens/"),
            "settings/notifications/",
            *("usage_page", "usage_calls", "account_export", "account_delete"),
            *("sessions_end_others", "mfa_list_webauthn", "mfa_add_webauthn"),
            "mfa_reauthenticate_webauthn",
            *("account_reauthenticate", "account_email"),
            *("account_change_password", "account_set_password"),
            *("mfa_index", "mfa_reauthenticate", "mfa_activate_totp"),
            *("mfa_generate_recovery_codes", "socialaccount_connections", "usersessions_list"),
        ),
        PERSONAL,
    ),
    **dict.fromkeys(
        (
            *("session", "account_login", "account_logout", "account_signup", "account_inactive"),
            *("manifest", "service_worker"),  # browsers ask for them without a cookie
            *("account_confirm_login_code", "mfa_authenticate"),  # where one was begun
            "mfa_login_webauthn",
            *("account_email_verification_sent", "account_confirm_email"),
            *("account_reset_password", "account_reset_password_done"),
            *("account_reset_password_from_key", "account_reset_password_from_key_done"),
            *("socialaccount_login_cancelled", "socialaccount_login_error", "socialaccount_signup"),
        ),
        PUBLIC,
    ),
    **dict.fromkeys(
        (
            *("setup", "invitation", "oidc_login", "oidc_callback"),
            *("openid_connect_login", "openid_connect_callback"),
        ),
        UNKNOWN_TOKEN,
    ),
    **dict.fromkeys(
        ("mfa_deactivate_totp", "mfa_view_recovery_codes", "mfa_download_recovery_codes"),
        NOT_SET_UP,
    ),
    "metrics": FIGURES,
    "admin:login": STAFF | dict.fromkeys(STRANGERS, Verdict.REFUSED),
    "admin:logout": PUBLIC,
    **dict.fromkeys(
        (
            *("admin:index", "admin:password_change", "admin:password_change_done"),
            *("admin:jsi18n", "admin:app_list"),
        ),
        STAFF,
    ),
    "admin:autocomplete": STAFF | dict.fromkeys(STAFF_ROLES, Verdict.REFUSED),  # of nothing
    "admin:view_on_site": STAFF | dict.fromkeys(STAFF_ROLES, Verdict.HIDDEN),  # of nothing
}
# Of the administration, what an operator sees too: usage, summaries and failures.
OPERATED = (
    *("admin:chat_compaction_", "admin:chat_conversation_", "admin:chat_message_"),
    *("admin:chat_modelprofile_", "admin:chat_turn_"),
    *("admin:spending_modelcall_", "admin:spending_charts", "admin:cost_centre"),
)
TOKENS: Mapping[str, str] = {
    **dict.fromkeys(
        ("export_markdown", "export_json", "export_zip", "export_html", "account_export"),
        EXPORT_READ,
    ),
    "usage_calls": USAGE_READ,
}


# What each operation of the API needs.
API_SCOPES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("list_conversations", "get_conversation", "list_branches", "list_messages"),
            *("get_message", "get_turn", "follow_turn", "list_compactions", "get_compaction"),
            *("get_me", "list_models", "list_projects", "search", "get_file", "get_file_content"),
            "get_queue",
        ),
        CONVERSATIONS_READ,
    ),
    **dict.fromkeys(
        (
            *("create_conversation", "change_conversation", "delete_conversation"),
            *("restore_conversation", "switch_branch", "delete_message", "revert_compaction"),
        ),
        CONVERSATIONS_WRITE,
    ),
    **dict.fromkeys(
        (
            *("send_message", "edit_message", "regenerate_answer", "retry", "stop_turn"),
            *("compact", "cancel_compaction", "upload_file", "delete_file"),
            *("queue_message", "remove_queued"),
        ),
        MESSAGES_SEND,
    ),
    **dict.fromkeys(
        (
            *("list_imports", "create_import", "send_piece", "get_import", "get_import_report"),
            *("start_import", "cancel_import"),
        ),
        IMPORTS_WRITE,
    ),
    **dict.fromkeys(("export_conversation", "export_project", "export_account"), EXPORT_READ),
    "get_usage": USAGE_READ,
}


def find_rule(address: Address) -> Rule | None:
    """None where nobody has said it. A page of the administration is for administrators, unless
    more is said."""
    for start, rule in STARTS.items():
        if address.route.startswith(start):
            return rule
    named = NAMED.get(address.name or address.route)
    if named or not address.route.startswith("admin/"):
        return named
    return STAFF if address.name.startswith(OPERATED) else ADMINISTRATORS
