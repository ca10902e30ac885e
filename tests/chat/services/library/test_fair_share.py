"""Who may have a file read now."""

import threading
from collections.abc import Callable
from time import monotonic, sleep

import pytest

from chat.errors import Refused
from chat.services.library import fair_share
from chat.services.library.fair_share import FairShare
from tests.support.patience import PATIENCE


class Reader(threading.Thread):
    """Reads a file of a person's until it is told to end."""

    def __init__(self, share: FairShare, person: int, order: list[int]) -> None:
        super().__init__()
        self.share, self.person, self.order = share, person, order
        self.inside, self.ending = threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        with self.share.hold(self.person, "plan.docx"):
            self.order.append(self.person)
            self.inside.set()
            self.ending.wait(PATIENCE)

    def end(self) -> None:
        self.ending.set()
        self.join(PATIENCE)


def wait_for(condition: Callable[[], bool]) -> None:
    until = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < until
        sleep(0.001)


def waiting(share: FairShare) -> int:
    return sum(map(len, share._waiting.values()))


def test_one_persons_files_leave_a_place_for_others() -> None:
    share, order = FairShare(2), []
    first = [Reader(share, 1, order) for _ in range(3)]
    wait_for(lambda: waiting(share) == 2)
    other = Reader(share, 2, order)
    assert other.inside.wait(PATIENCE)
    assert order == [1, 2]
    for reader in (other, *first):
        reader.ending.set()
    for reader in first:
        reader.join(PATIENCE)
    assert order == [1, 2, 1, 1]


def test_persons_take_turns() -> None:
    share, order = FairShare(1), []
    readers = []
    for person in (1, 1, 1, 2, 2, 3):
        readers.append(Reader(share, person, order))
        wait_for(lambda: len(order) + waiting(share) == len(readers))
    for reader in readers:
        reader.ending.set()
    for reader in readers:
        reader.join(PATIENCE)
    assert order == [1, 1, 2, 3, 1, 2]


def test_what_would_wait_too_long_is_refused_with_words(monkeypatch: pytest.MonkeyPatch) -> None:
    share, order = FairShare(1), []
    reader = Reader(share, 1, order)
    assert reader.inside.wait(PATIENCE)
    for name, most in (("LONGEST_WAIT", 0.001), ("MOST_WAITING", 0)):
        with monkeypatch.context() as patched:
            patched.setattr(fair_share, name, most)
            words = r"plan\.docx was not read.*in a moment"
            with pytest.raises(Refused, match=words) as refused, share.hold(2, "plan.docx"):
                pass
            assert refused.value.code == "server_busy"
    reader.end()
    with share.hold(2, "plan.docx"):  # nobody is left behind
        pass


def test_a_file_that_fails_gives_its_place_back() -> None:
    share = FairShare(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="damaged"), share.hold(1, "plan.docx"):
            raise ValueError("damaged")
