"""Streams of requests: those that a client sends, and those that have arrived at a service."""

from __future__ import annotations

import threading
from typing import Any, Iterator, Optional

from ._errors import CallMalformed, text_of
from ._service import Format, Method


async def send(requests: Any, given: Any, format: Format) -> Optional[Exception]:
    """Sends what an iterator gives, asynchronous or not, until the call is over. Returns the exception of the iterator, which ends the call."""
    try:
        await _send_all(requests, given, format)
        return None
    except Exception as error:
        # What waits for the answer finds the exception, since nothing is awaited behind this.
        requests.fail()
        return error


async def _send_all(requests: Any, given: Any, format: Format) -> None:
    try:
        if hasattr(given, "__aiter__"):
            async for request in given:
                if not await requests.send(format.write(request)):
                    return
        else:
            for request in given:
                if not await requests.send(format.write(request)):
                    return
        requests.end()
    finally:
        if hasattr(given, "aclose"):
            await given.aclose()


class Sending(threading.Thread):
    """The thread that sends what an iterator gives, until the call is over."""

    def __init__(self, requests: Any, given: Any, format: Format) -> None:
        super().__init__(name="bertha-requests", daemon=True)
        self._requests, self._given, self._format = requests, given, format
        self.error: Optional[BaseException] = None
        """The exception of the iterator, which has ended the call."""
        self.start()

    def run(self) -> None:
        try:
            for request in self._given:
                if not self._requests.send(self._format.write(request)).wait():
                    return
            self._requests.end()
        except BaseException as error:
            self.error = error
            self._requests.fail()
        finally:
            if hasattr(self._given, "close"):
                self._given.close()


class Arrived:
    """The further requests of a call, for a handler under asyncio."""

    def __init__(self, requests: Any, method: Method, format: Format) -> None:
        self._requests, self._method, self._format = requests, method, format

    def __aiter__(self) -> Arrived:
        return self

    async def __anext__(self) -> Any:
        return self._read(await self._requests.next())

    def _read(self, request: bytes) -> Any:
        try:
            return self._format.read_request(self._method, request)
        except Exception as error:
            raise CallMalformed(f"a request is none of `{self._method.name}`: {text_of(error)}") from None


class ArrivedInThread(Arrived):
    """The further requests of a call, for a handler in a thread."""

    __aiter__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            request = self._requests.next().wait()
        except StopAsyncIteration:
            raise StopIteration from None
        return self._read(request)
