"""The variables of the environment as values: what cannot be used is refused in words."""

import os
import re
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from environs import Env, EnvError

from agent.wire.masking import remember_secret

DATABASE = (
    "an address such as postgres://user:password@host/name or sqlite:////srv/everlong.sqlite3"
)
ADDRESS = re.compile(r"https?://[^\s/?#]+[^\s?#]*", re.I)

# Types under names that the readers do not take away.
Text = str
Texts = list[str]
Whole = int
Number = float
Flag = bool
Settings = dict[str, Any]


class Variables:
    """Reads with environs. Each reader raises ImproperlyConfigured with the variable's name, its
    value and what it can be. Numbers are 0 or more unless a range is given."""

    def __init__(self) -> None:
        self._env = Env()

    def str(self, name: Text, default: Text, possible: Collection[Text] = ()) -> Text:
        """A text, or one of some words."""
        value: Text = self._env.str(name, default)
        if possible and value not in possible:
            raise wrong(name, f"one of: {', '.join(sorted(possible))}")
        return value

    def bool(self, name: Text, default: Flag) -> Flag:
        return bool(self._read(self._env.bool, name, default, "true or false"))

    def int(self, name: Text, default: Whole, least: Number = 0, most: Number = inf) -> Whole:
        possible = f"a whole number, {_range(least, most)}"
        value: Whole = self._read(self._env.int, name, default, possible)
        if not least <= value <= most:
            raise wrong(name, possible)
        return value

    def float(self, name: Text, default: Number, least: Number = 0, most: Number = inf) -> Number:
        possible = f"a number, {_range(least, most)}"
        value: Number = self._read(self._env.float, name, default, possible)
        if not least <= value <= most:
            raise wrong(name, possible)
        return value

    def list(self, name: Text, default: Texts) -> Texts:
        """Texts separated by commas, without the blanks around them."""
        return [each.strip() for each in self.secrets(name, default) if each.strip()]

    def secrets(self, name: Text, default: Texts) -> Texts:
        """Texts separated by commas, each as it is."""
        found: Texts = self._env.list(name, default)
        return found

    def secret(self, name: Text) -> Text:
        """A key or a token without the white space around it (a file that holds one often ends with
        a line end), which is masked from now on. Refused where it could not be sent."""
        secret: Text = self._env.str(name, "").strip()
        if not (secret.isascii() and secret.isprintable()):
            raise ImproperlyConfigured(
                f"{name} has a line end, or another character in it that no key has. Set it to the "
                "key alone."
            )
        for part in (secret, secret.rpartition(" ")[2]):  # "Bearer" may stand before it
            remember_secret(part)
        return secret

    def pair(self, name: Text, other: Text) -> tuple[Text, Text]:
        """Two keys that are of no use without each other: both, or neither."""
        found = self.secret(name), self.secret(other)
        if any(found) and not all(found):
            raise ImproperlyConfigured(f"Set both {name} and {other}, or neither of them.")
        return found

    def numbers(self, name: Text) -> Mapping[Text, Whole]:
        """Whole numbers by name."""
        possible = "pairs name=number, separated by commas, with whole numbers above 0"
        found: Mapping[Text, Whole] = self._read(
            self._env.dict, name, {}, possible, subcast_values=int
        )
        if any(number < 1 for number in found.values()):
            raise wrong(name, possible)
        return found

    def address(self, name: Text) -> Text:
        """The address of a server, or "". The value is not shown: it may hold a password."""
        value: Text = self._env.str(name, "").strip()
        if value and not ADDRESS.fullmatch(value):
            raise ImproperlyConfigured(
                f"{name} is no address; it can be one such as http://127.0.0.1:8080."
            )
        return value

    def database(self, name: Text, default: Text) -> Settings:
        """Django's settings of a database, from its address. The value is not shown: it may hold a
        password."""
        try:
            found: Settings = self._env.dj_db_url(name, default)
        except EnvError:
            found = {"ENGINE": ""}
        if found["ENGINE"] not in ("django.db.backends.sqlite3", "django.db.backends.postgresql"):
            shown = "not an address of SQLite or PostgreSQL" if os.environ[name] else "empty"
            raise ImproperlyConfigured(f"{name} is {shown}; it can be {DATABASE}.") from None
        return found

    def mail(self, name: Text) -> Settings:
        """Django's settings of mail, from the address of a server; {} where none is set. The value
        is not shown: it may hold a password."""
        if not self._env.str(name, "").strip():
            return {}
        try:
            found: Settings = self._env.dj_email_url(name)
        except (EnvError, KeyError, ValueError):
            found = {}
        if "EMAIL_BACKEND" not in found:  # a scheme that nobody knows
            raise ImproperlyConfigured(
                f"{name} is no address of a mail server; it can be one such as "
                "submission://user:password@mail.example.org:587."
            )
        remember_secret(found.get("EMAIL_HOST_PASSWORD") or "")
        return found

    def _read(
        self, read: Callable[..., Any], name: Text, default: Any, possible: Text, **options: Any
    ) -> Any:
        try:
            return read(name, default, **options)
        except (EnvError, ValueError):
            raise wrong(name, possible) from None


def strip_secrets(secrets: Sequence[str]) -> list[str]:
    """Secrets of the site's own without the white space around them, and after them, as they are,
    those that had some: what was signed or stored with them stays readable."""
    stripped = [each.strip() for each in secrets]
    for each in stripped:
        remember_secret(each)
    return [*stripped, *(each for each in secrets if each != each.strip())]


def tell_in_words(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """For `sys.excepthook`: who starts a process with a wrong setting gets the sentence alone."""
    if isinstance(error, ImproperlyConfigured):
        sys.stderr.write(f"Everlong cannot start. {error}\n")
    else:
        sys.__excepthook__(kind, error, trace)


def wrong(name: str, possible: str) -> ImproperlyConfigured:
    """What to raise for a variable: its name, its value, and what it can be."""
    value = os.environ.get(name, "")
    shown = f"“{value}”" if value.strip() else "empty"
    hint = "" if value.strip() else " Set it, or remove it."
    return ImproperlyConfigured(f"{name} is {shown}; it can be {possible}.{hint}")


def _range(least: float, most: float) -> str:
    return f"{least:,} or more" if most == inf else f"from {least} to {most}"
