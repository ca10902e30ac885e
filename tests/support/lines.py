"""One line a scenario, with what was seen: for tests that take minutes. A conftest imports the hook
and the fixture, and registers `Lines`."""

import re
from collections.abc import Callable

import pytest

Seen = Callable[[str], None]


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """No dots: the lines of `Lines` are in their place."""
    if report.when == "call":
        return report.outcome, "", ""
    return ("error", "", "") if report.failed else ("", "", "")


class Lines:
    """Prints the scenarios as they end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        name = re.sub(r"^.*::test_|\]$", "", report.nodeid).replace("_", " ").replace("[", ", ")
        seen = [str(value) for key, value in report.user_properties if key == "seen"]
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            seen.append(crash.message.splitlines()[0] if crash else "see above")
        verdict = "ok  " if report.passed else "FAIL"
        line = f"{verdict}  {name:<62}{report.duration:6.1f} s   {'; '.join(seen)}"
        self._config.get_terminal_writer().line(line)


@pytest.fixture
def seen(record_property: Callable[[str, object], None]) -> Seen:
    """`seen("the lock was free after 14.2 s")`: shown in the scenario's line."""
    return lambda words: record_property("seen", words)
