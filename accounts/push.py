"""Browsers that are told by push (W3C Push API): who asked for it, and how a push is sent.

A browser names the address of its own maker's push service. It is asked of the browser, so only the
services that `PUSH_SERVICES` names are ever asked, by HTTPS. What is sent is encrypted for the
browser: the service cannot read it.

A browser is told as long as the session lasts in which it asked, and for its person alone.
"""

import hashlib
import json
import os
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from email.utils import parseaddr
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import requests
import structlog
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.db.models.signals import post_delete, post_save
from django.dispatch import receiver

from accounts.kept import Kept
from accounts.models import PushSubscription, User
from accounts.oidc.http import ProxiedSession
from accounts.sessions import find_user_id

if TYPE_CHECKING:
    from py_vapid import Vapid02

log = structlog.get_logger(__name__)

MOST_BROWSERS = 20  # of one person
TIME_TO_LIVE = 4 * 60 * 60  # s that a service waits for a browser that is off
MOST_ENDPOINT = 1000  # characters
POINT_BYTES, SECRET_BYTES = 65, 16  # of a browser's key and secret (RFC 8291)
KEY_BYTES = 32
# What an address is written with (RFC 3986): other characters are not read alike by all readers.
_ADDRESS = re.compile(r"[\w.~:/?#\[\]@!$&'()*+,;=%-]+", re.ASCII)
GONE = (404, 410)
OF_ANOTHER_KEY = (401, 403)  # the browser subscribed to another key than ours is now

_tellable: Kept[str, frozenset[int]] = Kept()


class Unusable(ValueError):
    """What a browser gave is no subscription that can be used here."""


class TooManyBrowsers(Exception):
    """The person has `MOST_BROWSERS` already."""


class Outcome(Enum):
    SENT = "sent"
    GONE = "gone"  # the subscription is deleted
    FAILED = "failed"


# --- Who is told ----------------------------------------------------------------------------------


def subscribe(
    user: User,
    session_key: str,
    given: Mapping[str, str],
    *,
    browser: str = "",
    language: str = "",
) -> PushSubscription:
    """Tell a browser from now on, as its `endpoint`, `p256dh` and `auth` say. It is its person's
    alone: who was told there before is not any more. Raises Unusable or TooManyBrowsers."""
    endpoint = given.get("endpoint", "")
    if len(endpoint) > MOST_ENDPOINT or not is_push_service(endpoint):
        raise Unusable("endpoint")
    point, secret = _decode(given.get("p256dh", "")), _decode(given.get("auth", ""))
    if len(point) != POINT_BYTES or not _is_on_curve(point) or len(secret) != SECRET_BYTES:
        raise Unusable("keys")
    hashed = hash_endpoint(endpoint)
    others = PushSubscription.objects.filter(user=user).exclude(endpoint_hash=hashed)
    if others.count() >= MOST_BROWSERS:
        raise TooManyBrowsers
    values = {
        "user": user,
        "session_key": session_key,
        "endpoint": endpoint,
        "p256dh": _encode(point),
        "auth": _encode(secret),
        "browser": browser[:200],
        "language": language[:20],
    }
    stored, _ = PushSubscription.objects.update_or_create(endpoint_hash=hashed, defaults=values)
    return stored


def unsubscribe(user_id: int, pk: int) -> bool:
    """Tell one of a person's browsers no more; whether it was told."""
    deleted, _ = PushSubscription.objects.filter(user=user_id, pk=pk).delete()
    return bool(deleted)


def list_subscriptions(user_id: int) -> QuerySet[PushSubscription]:
    """A person's, the newest first."""
    return PushSubscription.objects.filter(user=user_id).order_by("-created_at", "-pk")


def is_told(user_id: int) -> bool:
    """Whether a person may have a browser that is told. One read in two seconds for all people, so
    that a turn of somebody without any costs nothing."""
    return user_id in _tellable.load("all", _read_tellable)


def load_told(user_id: int) -> list[PushSubscription]:
    """The browsers to tell. Those whose session has ended, or signs its person in no more, are
    deleted."""
    told = []
    for each in list_subscriptions(user_id):
        if find_user_id(each.session_key) == user_id:
            told.append(each)
        else:
            each.delete()
    return told


def hash_endpoint(endpoint: str) -> str:
    return hashlib.sha256(endpoint.encode()).hexdigest()


def is_push_service(endpoint: str) -> bool:
    """Whether an address is of a service that `PUSH_SERVICES` names: by its host, which is asked by
    HTTPS, or by a whole origin."""
    if not _ADDRESS.fullmatch(endpoint):
        return False
    try:
        parts = urlsplit(endpoint)
        port = parts.port
    except ValueError:
        return False
    if f"{parts.scheme}://{parts.netloc}" in settings.PUSH_SERVICES:
        return True
    host = parts.hostname or ""
    return (
        parts.scheme == "https"
        and port in (None, 443)
        and parts.username is None
        and any(_covers(each, host) for each in settings.PUSH_SERVICES)
    )


def _covers(entry: str, host: str) -> bool:
    return host == entry or (entry.startswith("*.") and host.endswith(entry[1:]))


def _decode(value: str) -> bytes:
    try:
        return urlsafe_b64decode(value + "=" * (-len(value) % 4))
    except ValueError:
        return b""


def _encode(value: bytes) -> str:
    """As it is stored: without what decoding leaves out, which may be as long as it likes."""
    return urlsafe_b64encode(value).decode().rstrip("=")


def _is_on_curve(point: bytes) -> bool:
    """Whether it is a key to which anything can be encrypted."""
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey

    try:
        EllipticCurvePublicKey.from_encoded_point(SECP256R1(), point)
    except ValueError:
        return False
    return True


def _read_tellable() -> frozenset[int]:
    return frozenset(PushSubscription.objects.values_list("user", flat=True).distinct())


@receiver((post_save, post_delete), sender=PushSubscription)
def forget_tellable(**_: Any) -> None:
    _tellable.forget()


@receiver(post_delete, sender=Session)
def on_session_deleted(instance: Session, **_: Any) -> None:
    """Whoever signs out is told no more in that browser."""
    PushSubscription.objects.filter(session_key=instance.session_key).delete()


@receiver(post_save, sender=User)
def on_user_saved(instance: User, created: bool, **_: Any) -> None:
    """Nobody tells a disabled person."""
    if not created and not instance.is_active:
        PushSubscription.objects.filter(user=instance).delete()


# --- Sending --------------------------------------------------------------------------------------


def send(subscription: PushSubscription, payload: Mapping[str, str], topic: str) -> Outcome:
    """Send to one browser, which is asked once; of several pushes with one `topic` (of at most 32
    letters and digits) that wait for it, it gets the last. A subscription that its service does not
    know any more is deleted."""
    # Here, as web processes load this module too: these load aiohttp, which takes half a second.
    from pywebpush import WebPushException, webpush

    if not is_push_service(subscription.endpoint):  # the setting has changed since
        subscription.delete()
        return Outcome.GONE
    keys = {"p256dh": subscription.p256dh, "auth": subscription.auth}
    try:
        with ProxiedSession() as session:
            session.max_redirects = 0
            webpush(
                {"endpoint": subscription.endpoint, "keys": keys},
                data=json.dumps(payload),
                vapid_private_key=load_key(),
                vapid_claims={"sub": _contact()},
                ttl=TIME_TO_LIVE,
                headers={"Topic": topic, "Urgency": "normal"},
                requests_session=session,
            )
    except WebPushException as error:
        return _explain(subscription, error.response)
    except (requests.RequestException, ValueError) as error:
        # Its words may name the address, by which anybody could write to the browser.
        log.warning("push failed", subscription=subscription.pk, reason=type(error).__name__)
        return Outcome.FAILED
    return Outcome.SENT


def _explain(subscription: PushSubscription, answer: requests.Response | None) -> Outcome:
    status = answer.status_code if answer is not None else 0
    if status in (*GONE, *OF_ANOTHER_KEY):
        log.info("push subscription ended", subscription=subscription.pk, status=status)
        subscription.delete()
        return Outcome.GONE
    log.warning("push failed", subscription=subscription.pk, status=status)
    return Outcome.FAILED


def _contact() -> str:
    """Whom a service can ask about what is sent."""
    return f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}"


# --- The key of this site -------------------------------------------------------------------------


def is_offered() -> bool:
    """Whether this site can send: several processes need a key that they share."""
    return bool(settings.VAPID_PRIVATE_KEY) or not settings.SCALED


@cache
def load_key() -> "Vapid02":
    """By what services know this site (VAPID, RFC 8292): `VAPID_PRIVATE_KEY`, or in the embedded
    profile a random one kept in the data directory."""
    from py_vapid import Vapid02

    return Vapid02.from_string(settings.VAPID_PRIVATE_KEY or _load_or_create_key())


@cache
def public_key() -> str:
    """What browsers subscribe to: the key's point, in base64url."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    from py_vapid.utils import b64urlencode

    point = load_key().public_key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return str(b64urlencode(point))


def _load_or_create_key() -> str:
    path = settings.DATA_DIR / "vapid_key"
    if not path.exists():
        from py_vapid import Vapid02
        from py_vapid.utils import b64urlencode

        made = Vapid02()
        made.generate_keys()
        number = made.private_key.private_numbers().private_value.to_bytes(KEY_BYTES, "big")
        fresh = path.with_name(f"vapid_key.{os.getpid()}")
        fresh.touch(mode=0o600)
        fresh.write_text(b64urlencode(number))
        try:
            os.link(fresh, path)  # whole, and only if nobody else was faster
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return str(path.read_text())
