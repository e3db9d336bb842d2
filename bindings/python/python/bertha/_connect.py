"""Connecting and listening under asyncio."""

from __future__ import annotations

from typing import Any

from . import _bertha
from ._options import written


class connect:
    """A connection that is being made: `async with` has it, and closes it in the end; `await` returns it.

    The datapath is udp, tcp, unix, unix-stream or shm. The address is IP:PORT, HOST:PORT, or unix:PATH for the last three. The stack has the
    Chunnels, top first, with alternatives: "ordered,reliable,tls|checksum".

    With the datapath topic, the connection publishes to a topic of a messaging service, "memory:TOPIC" or "nats://HOST:PORT/TOPIC", or receives from it with
    "?subscription=NAME" behind the address; "?create=yes" makes the topic unless it exists.
    """

    def __init__(self, datapath: str, address: str, stack: str = "", **options: Any) -> None:
        self._operation = _bertha.connect(datapath, address, stack, written(options))
        self._connection: Any = None

    def __await__(self):
        return self._operation.__await__()

    async def __aenter__(self):
        self._connection = await self._operation
        return self._connection

    async def __aexit__(self, kind, error, traceback):
        return await self._connection.__aexit__(kind, error, traceback)


class listen:
    """A server, which listens from now on: `async for` has its clients, and `async with` closes it in the end.

    The arguments are those of `connect`. Port 0 leaves the port to the system, and `address` has it.
    """

    def __init__(self, datapath: str, address: str, stack: str = "", **options: Any) -> None:
        self._listener = _bertha.listen(datapath, address, stack, written(options))

    @property
    def address(self) -> str:
        """The address at which the server listens."""
        return self._listener.address

    def accept(self):
        """Waits for the next client."""
        return self._listener.accept()

    def close(self) -> None:
        """Stops to listen. Connections with clients go on."""
        self._listener.close()

    def __aiter__(self):
        return self._listener

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, error, traceback):
        self.close()

    def __repr__(self) -> str:
        return f"<bertha.listen at {self.address}>"
