"""What left a summary comes back by its user's hand, as a new version that can be reverted."""

from django.utils.translation import gettext

from agent.compaction.chapters.chapter import Chapter
from agent.compaction.chapters.unsent import list_unsent, put_back_unsent
from chat.errors import RefusalCode, Refused
from chat.models import Compaction
from chat.services.summary.summaries import store_edit


def put_back_statement(compaction_id: int, key: str) -> Compaction:
    """A statement that the record of the current summary had left (`Left.key`), in its range again
    and the user's own from now on.

    Refused for a version that is not current, while something runs, and where it is not among what
    left any more.
    """

    def change(chapters: list[Chapter]) -> list[Chapter]:
        left = next((each for each in list_unsent(chapters) if each.key == key), None)
        if left is None:
            raise Refused(
                RefusalCode.NOT_CURRENT,
                gettext("This statement is not in the list any more. Here is what there is now."),
            )
        return put_back_unsent(chapters, left)

    return store_edit(compaction_id, change, audit={})
