"""All settings. The environment is read in config/ and nowhere else.

With nothing set, the embedded profile runs: SQLite, an in-process worker and channel layer, and the
demo server. `DATABASE_URL` and `REDIS_URL` select the scaled profile; `docs/operations.md` lists
every variable.
"""

import os
import secrets
import sys
from urllib.parse import quote
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog
from django.core.exceptions import ImproperlyConfigured

from agent.wire.proxies import Proxies
from config import environment, logs
from config.allauth_policy import *  # noqa: F403 - each is a setting
from config.compaction_policy import site_policy
from config.content_security import make_policy
from config.public_url import read_public_url, tell_apart
from config.sign_in import read_openid_provider, read_sign_up
from config.variables import Variables, strip_secrets, tell_in_words, wrong
from config.version import VERSION  # noqa: F401 - a setting too

sys.excepthook = tell_in_words  # of manage.py, Celery and whatever else loads the settings
try:
    environment.load_env_file()
    DATA_DIR = environment.make_data_dir()
except environment.WrongSetting as error:
    raise ImproperlyConfigured(str(error)) from None
ENV_FILE = environment.find_env_file()
BASE_DIR, FILES_DIR = environment.BASE_DIR, environment.FILES_DIR
env = Variables()

# --- Core -----------------------------------------------------------------------------------------

DEBUG = env.bool("DEBUG", False)
REDIS_URL = env.str("REDIS_URL", "")
SCALED = bool(REDIS_URL)
if SCALED and "://" not in REDIS_URL:  # which may hold a password
    raise ImproperlyConfigured("REDIS_URL is no address; it can be one as redis://host:6379/0.")


def load_or_create_secret_key() -> str:
    """`SECRET_KEY`, or in the embedded profile a random one kept in the data directory."""
    if key := env.str("SECRET_KEY", ""):
        return key
    if SCALED:
        raise ImproperlyConfigured("Set SECRET_KEY: all web and worker processes must share it.")
    path = DATA_DIR / "secret_key"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(48))
    return path.read_text()


# The others are still accepted, for sessions and for keys that were stored before a change.
SECRET_KEY, *SECRET_KEY_FALLBACKS = strip_secrets(
    [load_or_create_secret_key(), *env.secrets("SECRET_KEY_FALLBACKS", [])]
)
# The first one encrypts the keys that administrators enter, all decrypt; none: SECRET_KEY does.
ENCRYPTION_KEYS = strip_secrets(env.secrets("ENCRYPTION_KEYS", []))
if any(len(each) < 32 for each in ENCRYPTION_KEYS):
    raise ImproperlyConfigured("Set ENCRYPTION_KEYS to random texts of at least 32 characters.")
# The address at which people reach the site, if it is not HOST and PORT: "https://chat.example.org".
PUBLIC_URL = read_public_url(env.str("PUBLIC_URL", ""))
BASE_PATH = PUBLIC_URL.path if PUBLIC_URL else "/"  # before all addresses: "/", or "/chat/"
ALLOWED_HOSTS = env.list(
    "ALLOWED_HOSTS",
    ["127.0.0.1", "localhost", "[::1]", *([PUBLIC_URL.host] if PUBLIC_URL else [])],
)
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", [PUBLIC_URL.origin] if PUBLIC_URL else [])
HOST = env.str("HOST", "127.0.0.1")
if not HOST.strip():
    raise wrong(
        "HOST", "127.0.0.1 (only this machine), 0.0.0.0 (its networks) or one address of it"
    )
PORT = env.int("PORT", 8000, least=1, most=65535)

INSTALLED_APPS = [
    "accounts",
    "spending",
    "chat",
    "config.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "config.apps.StaticFilesConfig",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "accounts.oidc",
    "allauth.usersessions",
    "channels",
    "csp",
    "django_htmx",
]
MIDDLEWARE = [
    "chat.web.health.answer_probes",  # before the check of the host
    "chat.api.middleware.keep_to_form",  # before whatever reads a cookie, or refuses
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "chat.web.errors.refuse_misfit",  # in the reader's language
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "accounts.middleware.PrivatePagesMiddleware",  # after that of the token
    "accounts.middleware.SecondFactorMiddleware",
    "chat.admin.impossible.ImpossibleValuesMiddleware",
]
ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [FILES_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["config.templates.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "accounts.views.page_context",
                "chat.web.conversation.page_context",
                "chat.web.announcement.page_context",
            ],
            "builtins": ["django.templatetags.i18n", "chat.html.moments"],
            "libraries": {"site_report": "chat.admin.report"},
        },
    },
]
# For what arrives over the socket, and for readers whose language is not in LANGUAGES.
LANGUAGE_CODE = env.str("LANGUAGE_CODE", "en")
LANGUAGES = [(code, code) for code in env.list("LANGUAGES", [LANGUAGE_CODE])]
LOCALE_PATHS = [FILES_DIR / "locale"]
FORMAT_MODULE_PATH = "config.formats"
TIME_ZONE = env.str("TIME_ZONE", "UTC")
try:
    ZoneInfo(TIME_ZONE)
except (ZoneInfoNotFoundError, ValueError, OSError):
    raise wrong("TIME_ZONE", "a name such as UTC or Europe/Berlin") from None
USE_TZ = True

# --- Data -----------------------------------------------------------------------------------------

SQLITE = f"sqlite:///{quote(str(DATA_DIR / 'everlong.sqlite3'))}"
DATABASES = {"default": env.database("DATABASE_URL", SQLITE)}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # IMMEDIATE: a deferred transaction that reads and then writes fails at once under contention.
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        # What is deleted is overwritten, also where SQLite was not built to do so by itself.
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
        "PRAGMA secure_delete=ON;",
    }
    DATABASES["default"]["CONN_MAX_AGE"] = None
else:
    DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {
        "min_size": 1,
        "max_size": env.int("DATABASE_POOL", 12, least=1),
        "timeout": 10,
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "config.caches.SurvivingRedisCache",
        "LOCATION": REDIS_URL,
    }
    if SCALED
    else {
        "BACKEND": "config.caches.LocalCache",
        "OPTIONS": {"MAX_ENTRIES": 2000},
    }
}

MEDIA_ROOT = DATA_DIR / "media"  # attachments: only a view gives them out, to their owner
FILE_UPLOAD_PERMISSIONS, FILE_UPLOAD_DIRECTORY_PERMISSIONS = 0o600, 0o700
STATIC_URL = f"{BASE_PATH}static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [FILES_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "config.storage.StaticFilesStorage"},
}
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
# No other site loads them, so none is told that it may.
WHITENOISE_ALLOW_ALL_ORIGINS = False

# --- Channels -------------------------------------------------------------------------------------

CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "chat.protocol.redis_layer.RedisChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL]},
    }
    if SCALED
    else {"BACKEND": "chat.protocol.local_layer.LocalChannelLayer"}
}

# --- Celery ---------------------------------------------------------------------------------------

CELERY_BROKER_URL = REDIS_URL or "memory://localhost/"
# In the embedded profile, how often (s) the worker looks into the queue in memory: a task waits 50
# ms for it, and an idle server takes 2 ms of processor time a second for it.
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {"socket_connect_timeout": 2, "socket_timeout": 10} if SCALED else {"polling_interval": 0.1}
)
# A turn waits until its task is queued: rather than wait long, it goes on without the task.
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.2}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

# --- Model ----------------------------------------------------------------------------------------

ANTHROPIC_API_KEY = env.secret("ANTHROPIC_API_KEY")
ANTHROPIC_BASE_URL = env.address("ANTHROPIC_BASE_URL")
PROXIES = Proxies.read(os.environ)  # HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY
DEMO = not (ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL)
if DEMO and SCALED:
    raise ImproperlyConfigured(
        "Set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for a local model server: the demo server "
        "runs only in the embedded profile (without REDIS_URL)."
    )
DEMO_SERVER = "demo.embedded.start"  # a path, so that the product does not import the demo
DEMO_TOKENS_PER_SECOND = env.float("DEMO_TOKENS_PER_SECOND", 80.0)  # 0: all at once
DEFAULT_MODEL = env.str("DEFAULT_MODEL", "everlong-demo" if DEMO else "claude-sonnet-5-5")
# The model that writes summaries and titles; empty: the conversation's own.
SUMMARY_MODEL = env.str("SUMMARY_MODEL", "")
SUMMARY_BASE_URL = env.address("SUMMARY_BASE_URL")  # its server, if it has one of its own
SUMMARY_API_KEY = env.secret("SUMMARY_API_KEY")
if SUMMARY_BASE_URL and not SUMMARY_MODEL:
    raise ImproperlyConfigured(
        "Set SUMMARY_MODEL too: SUMMARY_BASE_URL is the server of that model."
    )
# "name=window" pairs, for servers whose model list does not tell the context window.
MODEL_WINDOWS = env.numbers("MODEL_WINDOWS")
PROMPT_CACHING = env.bool("PROMPT_CACHING", True)
MODEL_TIMEOUT = env.float("MODEL_TIMEOUT", 120.0, least=1)  # seconds without a byte
MODEL_RETRIES = env.int("MODEL_RETRIES", 2)  # of calls that have produced nothing yet

# --- Tools ----------------------------------------------------------------------------------------

TOOLS = env.bool("TOOLS", True)  # offered to models that can call them
MAX_TOOL_ROUNDS = env.int("MAX_TOOL_ROUNDS", 50)  # of one turn
MAX_TOOL_CALLS = env.int("MAX_TOOL_CALLS", 64, least=1)  # of one reply
WEB_TOOLS_VERSION = env.str("WEB_TOOLS_VERSION", "20260318")
WEB_TOOLS_USES = env.int("WEB_TOOLS_USES", 5)  # of each, in one request
MEMORY_TOKENS = env.int("MEMORY_TOKENS", 1_000)  # of remembered facts in every request
MCP_LIST_SECONDS = env.float("MCP_LIST_SECONDS", 300.0)  # how long a server's list of tools holds
# A turn does not wait longer for one.
MCP_LIST_TIMEOUT = env.float("MCP_LIST_TIMEOUT", 3.0, least=0.1)
MCP_ASK_SECONDS = env.float("MCP_ASK_SECONDS", 600.0)  # how long a call waits for the user
MCP_DOWN_SECONDS = env.float("MCP_DOWN_SECONDS", 60.0)  # a dead server is not asked again sooner
# The administrator names one of these for a server; no other variable can be sent anywhere.
MCP_SECRETS = {k: env.secret(k) for k in os.environ if k.startswith("MCP_SECRET_")}

# --- Compaction -----------------------------------------------------------------------------------

CONTEXT_BUDGET = env.int("CONTEXT_BUDGET", 200_000)  # tokens; never more than the model's window
# The site's defaults of agent.compaction.policy.Policy, by field; a conversation may differ.
COMPACTION = site_policy(env, input_characters=100_000 if SUMMARY_MODEL else 0)
# Count a compacted context with a call of 16 tokens where the server has no count_tokens.
COUNT_BY_PROBE = env.bool("COUNT_BY_PROBE", False)
# Ask the server to keep a prefix for an hour where the user's pauses make that cheaper.
CACHE_FOR_AN_HOUR = env.bool("CACHE_FOR_AN_HOUR", True)
COMPACTION_PICKUP_SECONDS = env.float("COMPACTION_PICKUP_SECONDS", 10.0)
LEASE_SECONDS = env.float("LEASE_SECONDS", 15.0, least=1)

# --- Sign-in --------------------------------------------------------------------------------------

# Django's settings of mail; none: nothing is mailed, and no page offers what needs it.
MAIL = env.mail("EMAIL_URL")
globals().update(MAIL or {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"})
DEFAULT_FROM_EMAIL = env.str("EMAIL_FROM", f"everlong@{PUBLIC_URL.host if PUBLIC_URL else HOST}")
EMAIL_TIMEOUT = 10
OPENID_PROVIDER = read_openid_provider(env)
SIGN_UP = read_sign_up(env, bool(MAIL), bool(OPENID_PROVIDER))
# Of whom one is asked: nobody, administrators and operators, or everybody.
REQUIRE_SECOND_FACTOR = env.str("REQUIRE_SECOND_FACTOR", "", ("", "staff", "all"))

# --- Slack ----------------------------------------------------------------------------------------

# With them, threads can be linked with conversations: docs/slack.md.
SLACK_BOT_TOKEN, SLACK_APP_TOKEN = env.pair("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN")
SLACK = bool(SLACK_BOT_TOKEN)
SLACK_API_URL = env.address("SLACK_API_URL") or "https://slack.com/api/"  # another is for tests

# --- Security -------------------------------------------------------------------------------------

AUTH_USER_MODEL = "accounts.User"
# What every operator may in the administration, without a permission that somebody has to give.
_LOOKED_AT = ("compaction", "conversation", "message", "modelprofile", "turn")
OPERATOR_PERMISSIONS = {"spending.view_modelcall", *(f"chat.view_{name}" for name in _LOOKED_AT)}
# Proxies in front that append to X-Forwarded-For; with 0 that header is not believed.
TRUSTED_PROXIES = ALLAUTH_TRUSTED_PROXY_COUNT = env.int("TRUSTED_PROXIES", 0)

# Per user: messages, and all else that asks a model (retries, edits, new answers, summaries).
MESSAGES_PER_MINUTE = env.int("MESSAGES_PER_MINUTE", 30)
TURNS_AT_ONCE = env.int("TURNS_AT_ONCE", 10, least=1)  # answers and compactions of a user that run
MAX_MESSAGE_CHARACTERS = env.int("MAX_MESSAGE_CHARACTERS", 200_000, least=1)
# Bytes of a form or a frame: a character takes up to 12 ("%F0%9F%98%80", "\ud83d\ude00").
MAX_TEXT_BYTES = 12 * MAX_MESSAGE_CHARACTERS + 100_000
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_TEXT_BYTES
# The push services that browsers may name, by host; "*." stands for any name below, and an origin
# for itself. Those of Chrome, Firefox, Edge and Safari.
PUSH_SERVICES = env.list(
    "PUSH_SERVICES",
    [
        *("fcm.googleapis.com", "*.push.services.mozilla.com"),
        *("*.notify.windows.com", "*.push.apple.com"),
    ],
)
# By what they know the site: 32 random bytes in base64url. In the embedded profile it is made.
VAPID_PRIVATE_KEY = env.secret("VAPID_PRIVATE_KEY")
RETENTION_DAYS = env.int("RETENTION_DAYS", 0, least=0)  # without a message; 0: for ever
# Files of imports until they are stored: of one person, and of all.
IMPORT_MB = env.int("IMPORT_MB", 4_000, least=1)
IMPORTS_MB = env.int("IMPORTS_MB", 20_000, least=1)

HTTPS = env.bool("HTTPS", bool(PUBLIC_URL and PUBLIC_URL.is_https))
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = HTTPS
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = env.int("HSTS_SECONDS", 0)
SESSION_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = LANGUAGE_COOKIE_PATH = BASE_PATH
_site = tell_apart(PUBLIC_URL, DATABASES["default"], port=None if SCALED else PORT)
SESSION_COOKIE_NAME = f"everlong_session_{_site}"
CSRF_COOKIE_NAME = f"everlong_csrf_{_site}"
MESSAGE_COOKIE_NAME = f"everlong_messages_{_site}"
ANNOUNCEMENT_COOKIE_NAME = f"everlong_announcement_{_site}"  # what somebody has put away
LANGUAGE_COOKIE_NAME = f"everlong_language_{_site}"
MFA_TRUST_COOKIE_NAME = f"everlong_trusted_{_site}"
MESSAGE_STORAGE = "config.message_storage.MessageStorage"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = make_policy(OPENID_PROVIDER.origins if OPENID_PROVIDER else ())

# --- Limits of connections (server/) --------------------------------------------------------------

MAX_CONNECTIONS = env.int("MAX_CONNECTIONS", 2_000)  # of one web process, websockets included
CONNECTIONS_PER_ADDRESS = env.int("CONNECTIONS_PER_ADDRESS", 500)  # 0: no limit
# Open tabs of one person, in one web process.
SOCKETS_PER_USER = env.int("SOCKETS_PER_USER", 50, least=1)
# In which a request's header has to come.
HEADER_SECONDS = env.float("HEADER_SECONDS", 15.0, least=1)
IDLE_SECONDS = env.float("IDLE_SECONDS", 75.0)  # that a connection is kept for the next request
BODY_GRACE_SECONDS = env.float("BODY_GRACE_SECONDS", 30.0)  # then a body needs the rate below
BODY_BYTES_PER_SECOND = env.float("BODY_BYTES_PER_SECOND", 2_000.0)
# Bodies above 100 kB that are in memory at a time.
LARGE_BODIES = env.int("LARGE_BODIES", 4, least=1)

# --- Logs and metrics -----------------------------------------------------------------------------

METRICS_TOKEN = env.secret("METRICS_TOKEN")  # lets /metrics be read without an account
LOG_LEVEL = env.str("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
LOG_JSON = env.bool("LOG_JSON", SCALED)
structlog.configure(
    processors=logs.OURS,
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "default": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processor": logs.choose_renderer(LOG_JSON),
            "foreign_pre_chain": logs.FOREIGN,
        },
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "default"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        name: {"level": LOG_LEVEL}
        for name in ("accounts", "agent", "chat", "config", "demo", "server", "spending")
    },
}
