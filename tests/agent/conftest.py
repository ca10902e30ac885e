from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from hypothesis import settings

from agent.model.client import Client
from demo.api.server import DemoServer

# The same examples on every run and machine.
settings.register_profile("suite", derandomize=True, database=None)
settings.load_profile("suite")


@pytest.fixture(scope="session")
def running_server() -> Iterator[DemoServer]:
    with DemoServer() as running:
        yield running


@pytest.fixture
def server(running_server: DemoServer) -> Iterator[DemoServer]:
    """A scripted Messages API; the test fails if the script is not used up or a request is bad."""
    running_server.script.clear()
    yield running_server
    running_server.script.assert_done()


@pytest_asyncio.fixture
async def client(server: DemoServer) -> AsyncIterator[Client]:
    """A client of the server that reports every error at once."""
    connected = Client(api_key="test", base_url=server.base_url, retries=0)
    yield connected
    await connected.close()
