"""What a person has chosen for all of their pages, in every browser: language, appearance, and the
model of new conversations."""

from contextlib import AbstractContextManager, nullcontext

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils import translation

from accounts.models import User


def change_preferences(user: User, chosen: dict[str, str]) -> None:
    """Store what was chosen of `default_model`, `language` and `appearance`; "" stands for no
    choice. The caller has checked the values."""
    for name, value in chosen.items():
        setattr(user, name, value)
    user.save(update_fields=[*chosen])


def are_languages_offered() -> bool:
    """Whether there is a language to choose."""
    return len(settings.LANGUAGES) > 1


def find_language(user: User | AnonymousUser | None) -> str:
    """The language that a person has chosen; "" where it is none, or no longer offered."""
    language = getattr(user, "language", "")
    return language if language in dict(settings.LANGUAGES) else ""


def speak_chosen_language(request: HttpRequest) -> None:
    """Answer a request in its person's language, which comes before that of the browser. The person
    is read here, and so need not be read by the view, whichever way it asks who it is."""
    if not are_languages_offered():
        return
    keep_user(request, request.user)
    if language := find_language(request.user):
        translation.activate(language)
        request.LANGUAGE_CODE = language


def speaking_to(user_id: int) -> AbstractContextManager[None]:
    """Speak a person's language while a worker does something for them: `with speaking_to(7):`."""
    if not are_languages_offered():
        return nullcontext()
    return speaking_with(User.objects.only("language").filter(pk=user_id).first())


def speaking_with(user: User | None) -> AbstractContextManager[None]:
    """`speaking_to` for a person who is loaded."""
    return translation.override(find_language(user) or settings.LANGUAGE_CODE)


def keep_user(request: HttpRequest, user: User | AnonymousUser) -> None:
    """Let a request be of this person, for sync and async views."""

    async def get_user() -> User | AnonymousUser:
        return user

    request.user = user
    request.auser = get_user
