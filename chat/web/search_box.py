"""What somebody types into a search box: words, and filters that say where to look for them."""

import re
from dataclasses import dataclass
from uuid import UUID

from accounts.models import User
from chat.engine.projects import find_named
from chat.models import Project
from chat.web import transcript

LONGEST_SEARCH = 500
# In quotes, which may not be closed yet, a filter is the name of a project; else it may be one.
FILTER = re.compile(r'(?:^|\s)in:(?:"([^"]*)"?|([^\s"]\S*))(?!\S)')


@dataclass(frozen=True, slots=True)
class Search:
    """The `words` to look for. `titles`: not in messages. `here`: only in messages of the
    conversation that is shown. `projects`: only in conversations of these; None for all."""

    words: str = ""
    titles: bool = False
    here: bool = False
    projects: list[Project] | None = None

    @property
    def misses_project(self) -> bool:
        """Whether no project has the name that is given."""
        return self.projects == []


def read_search(user: User, text: str) -> Search:
    """The search that is typed, `in:title`, `in:here` and `in:` the name of a project among its
    words. Of several projects the last one counts."""
    titles = here = False
    projects = None
    for quoted, plain in FILTER.findall(text):
        titles = titles or plain == "title"
        here = here or plain == "here"
        if quoted or plain not in ("", "title", "here"):
            projects = find_named(user, quoted or plain)
    return Search(FILTER.sub(" ", text).strip(), titles, here, projects)


def find_hits(user: User, search: Search, shown: UUID | None) -> tuple[list[transcript.Item], bool]:
    """The messages that fit, and whether there are more; `shown` is where `here` is."""
    if not search.words or search.titles:
        return [], False
    if search.here:
        return transcript.find_hits_in(user, search.words, shown) if shown else [], False
    return transcript.find_text_hits(user, search.words, search.projects)
