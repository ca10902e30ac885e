"""A bug in Python before 3.11.8 and 3.12.2: an asyncio future does not take a StopIteration, so
code that waited for a thread that raised one waited for ever (python/cpython#112182)."""

import asyncio.futures
import sys

MENDED = sys.version_info >= (3, 12, 2) or (3, 11, 8) <= sys.version_info < (3, 12)


def patch_futures() -> None:
    """Let a StopIteration of a thread reach its waiter, as RuntimeError, as newer Pythons do."""
    if MENDED:
        return
    convert = asyncio.futures._convert_future_exc  # type: ignore[attr-defined]

    def carried(error: BaseException) -> BaseException:
        if isinstance(error, StopIteration):
            raised = RuntimeError("a thread raised StopIteration")
            raised.__cause__ = error
            return raised
        return convert(error)

    asyncio.futures._convert_future_exc = carried  # type: ignore[attr-defined]
