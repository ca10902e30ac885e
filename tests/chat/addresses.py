"""Every address of the site, for tests that walk over all of them."""

from django.urls import URLResolver, get_resolver


def templates(
    resolver: URLResolver | None = None, before: str = "/", space: str = ""
) -> list[tuple[str, str]]:
    """Name and route of every address, as `("messages", "/c/<uuid:pk>/messages/")`."""
    found: list[tuple[str, str]] = []
    for entry in (resolver or get_resolver()).url_patterns:
        route = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            found += templates(entry, route, f"{entry.namespace}:" if entry.namespace else space)
        elif entry.name and "(?" not in route:
            found.append((space + entry.name, route))
    return found
