"""Three real summarisers, each weak in a way of its own: `make test-model`.

No test here says anything about how good a summary is. Each says what stays true however bad it is.
"""

from collections.abc import AsyncIterator, Iterator

import pytest

from agent.model.client import Client
from tests.model.llama import PATIENCE, LlamaServer
from tests.support.lines import Lines, pytest_report_teststatus, seen

__all__ = ["pytest_report_teststatus", "seen"]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Lines(config), "lines")


def serve(
    factory: pytest.TempPathFactory, weights: str, grammar: str = ""
) -> Iterator[LlamaServer]:
    server = LlamaServer(factory.mktemp(weights), weights, grammar).start()
    yield server
    server.kill()


@pytest.fixture(scope="session")
def garbled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """SmolLM2 135M Instruct: ends most of its replies, and knows no form."""
    yield from serve(tmp_path_factory, "smollm2")


@pytest.fixture(scope="session")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """Gemma 3 270M, a base model: writes on until it is stopped."""
    yield from serve(tmp_path_factory, "gemma3")


@pytest.fixture(scope="session")
def inventing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """SmolLM2 held to the form of a summary by a grammar: fills it with what comes to its mind."""
    yield from serve(tmp_path_factory, "smollm2", "form.lark")


@pytest.fixture
async def client(summariser: LlamaServer) -> AsyncIterator[Client]:
    made = Client(api_key="none", base_url=summariser.url, timeout=PATIENCE, retries=0)
    yield made
    await made.close()


@pytest.fixture
def summariser(request: pytest.FixtureRequest) -> LlamaServer:
    """The server that a test is parametrised with, by the name of its fixture."""
    server: LlamaServer = request.getfixturevalue(request.param)
    return server
