from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from anthropic import AsyncAnthropic

from demo.api.server import DemoServer


@pytest.fixture
def server() -> Iterator[DemoServer]:
    with DemoServer() as running:
        yield running


@pytest_asyncio.fixture
async def client(server: DemoServer) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(max_retries=0, base_url=server.base_url, api_key="test") as connected:
        yield connected
