"""Every address of the site, as its resolver has it: no list that somebody has to keep."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

# `<uuid:pk>` of a path, and `(?P<key>[-:\w]+)` of an expression, which has no brackets in brackets.
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>[^)]*\)")


@dataclass(frozen=True, slots=True)
class Address:
    """`name`: with its namespace, as `admin:index`; "" for none. `route`: without the path below
    which the site is served, as `c/<uuid:pk>/print/`."""

    name: str
    route: str

    @property
    def parameters(self) -> list[str]:
        return [found[1] or found[2] for found in PARAMETER.finditer(self.route)]

    def fill(self, values: Mapping[str, object]) -> str:
        """The path with these values. KeyError for a parameter that they do not have."""
        path = PARAMETER.sub(lambda found: str(values[found[1] or found[2]]), self.route)
        return settings.BASE_PATH + path


def list_addresses() -> list[Address]:
    return list(_walk(get_resolver().url_patterns, "", ""))


def _walk(
    patterns: list[URLPattern | URLResolver], before: str, namespace: str
) -> Iterator[Address]:
    for pattern in patterns:
        route = before + re.sub(r"^\^|\$$", "", str(pattern.pattern))
        if isinstance(pattern, URLPattern):
            yield Address(f"{namespace}{pattern.name}" if pattern.name else "", route)
        else:
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            yield from _walk(pattern.url_patterns, route, inner)
