"""Keys and tokens from the environment, where files that hold them often end with a line end."""

from collections.abc import Sequence

from django.core.exceptions import ImproperlyConfigured

from agent.wire.masking import remember
from config.variables import Variables


def read_secret(env: Variables, name: str) -> str:
    """A key without the white space around it, which is masked from now on. ImproperlyConfigured
    where it could not be sent."""
    secret = env.str(name, "").strip()
    if not (secret.isascii() and secret.isprintable()):
        raise ImproperlyConfigured(
            f"{name} has a line end, or another character in it that no key has. Set it to the key "
            "alone."
        )
    for part in (secret, secret.rpartition(" ")[2]):  # "Bearer" may stand before it
        remember(part)
    return secret


def strip_secrets(secrets: Sequence[str]) -> list[str]:
    """Secrets of the site's own without the white space around them, and after them, as they are,
    those that had some: what was signed or stored with them stays readable."""
    stripped = [each.strip() for each in secrets]
    for each in stripped:
        remember(each)
    return [*stripped, *(each for each in secrets if each != each.strip())]
