"""What is stored encrypted: keys that an administrator enters. From `ENCRYPTION_KEYS`, the first of
which encrypts and all of which decrypt, and from `SECRET_KEY`, which does both where there are none
and decrypts what was stored before there were."""

from base64 import urlsafe_b64encode
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

# Part of the format: whatever else is derived from SECRET_KEY has other words here.
INFO = b"everlong stored keys 1"


class Undecryptable(Exception):
    """None of the configured secrets decrypts it, or it was damaged."""


def encrypt(text: str) -> str:
    return _ciphers().encrypt(text.encode()).decode("ascii")


def decrypt(stored: str) -> str:
    """What `encrypt` was given. Raises Undecryptable."""
    try:
        return _ciphers().decrypt(stored.encode()).decode()
    except InvalidToken as error:
        raise Undecryptable from error


def encrypt_again(stored: str) -> str:
    """The same under the first secret. Raises Undecryptable."""
    try:
        return _ciphers().rotate(stored.encode()).decode("ascii")
    except InvalidToken as error:
        raise Undecryptable from error


def _ciphers() -> MultiFernet:
    secrets = (*settings.ENCRYPTION_KEYS, settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([_cipher(secret) for secret in secrets])


@lru_cache(maxsize=16)
def _cipher(secret: str) -> Fernet:
    key = HKDF(SHA256(), 32, salt=None, info=INFO).derive(secret.encode())
    return Fernet(urlsafe_b64encode(key))
