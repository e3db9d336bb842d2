"""The same connections and calls for threads: each call waits, with a timeout in seconds, or without.

Ctrl-C ends a wait. A call that is late raises `TimedOut`, and has taken nothing.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, List, Optional

from . import _bertha
from ._errors import Closed
from ._options import written
from ._service import service_in_threads as service
from ._threads import Client, Responses, call, serve

__all__ = ["Client", "Connection", "Listener", "Responses", "call", "connect", "listen", "serve", "service"]


class Connection:
    """A connection with one peer. `for` has its messages, and `with` closes it in the end."""

    __slots__ = ("_of", "__weakref__")

    def __init__(self, of: _bertha.Connection) -> None:
        self._of = of

    def send(self, message: Any, timeout: Optional[float] = None) -> None:
        """Sends a message. A message that is late was not taken, or is sent as soon as there is room."""
        self._of.send(message).wait(timeout)

    def send_burst(self, messages: Iterable[Any], timeout: Optional[float] = None) -> None:
        """Sends messages with as few calls of the system as there can be."""
        self._of.send_burst(messages).wait(timeout)

    def receive(self, timeout: Optional[float] = None) -> bytes:
        """Receives a message."""
        return self._of.receive().wait(timeout)

    def receive_buffer(self, timeout: Optional[float] = None) -> memoryview:
        """Receives a message as a view of the memory in which it has arrived."""
        return self._of.receive_buffer().wait(timeout)

    def acknowledge(self, view: memoryview) -> None:
        """Acknowledges the message of a topic, whose work is done, and releases its view. Other views are only released."""
        self._of.acknowledge(view)

    def receive_burst(self, most: int = 64, timeout: Optional[float] = None) -> List[bytes]:
        """Receives the messages that are there: at least one, at most `most`."""
        return self._of.receive_burst(most).wait(timeout)

    def buffer(self, length: int) -> memoryview:
        """Returns a writable view of the datapath's memory, which `send` takes without a copy."""
        return self._of.buffer(length)

    def drain(self, timeout: Optional[float] = None) -> None:
        """Sends what the stack holds back, and waits until none of it has to be sent again."""
        self._of.drain().wait(timeout)

    def close(self, timeout: Optional[float] = None) -> None:
        """Sends what the stack holds back, tells the peer, and closes."""
        self._of.close().wait(timeout)

    def upgrade(self, alternative: int, timeout: Optional[float] = None) -> None:
        """Changes the stack to another alternative of its first choice, counted from 0."""
        self._of.upgrade(alternative).wait(timeout)

    def explain(self):
        """Returns the stack in use, and the reasons for it."""
        return self._of.explain()

    def statistics(self):
        """Returns figures of the connection and of its layers."""
        return self._of.statistics()

    @property
    def longest_message(self) -> int:
        """The length of the longest message, in bytes."""
        return self._of.longest_message

    @property
    def peer_address(self) -> str:
        return self._of.peer_address

    @property
    def local_address(self) -> str:
        return self._of.local_address

    @property
    def peer_identity(self) -> Optional[str]:
        """The identity that the peer has proved."""
        return self._of.peer_identity

    def __iter__(self) -> Iterator[bytes]:
        while True:
            try:
                message = self.receive()
            except Closed:
                return
            yield message

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind, error, traceback) -> None:
        self._of.__aexit__(kind, error, traceback).wait()

    def __repr__(self) -> str:
        return repr(self._of)


class Listener:
    """A server. `for` has its clients, and `with` closes it in the end."""

    __slots__ = ("_of", "__weakref__")

    def __init__(self, of: _bertha.Listener) -> None:
        self._of = of

    @property
    def address(self) -> str:
        """The address at which the server listens."""
        return self._of.address

    def accept(self, timeout: Optional[float] = None) -> Connection:
        """Waits for the next client."""
        return Connection(self._of.accept().wait(timeout))

    def close(self) -> None:
        """Stops to listen, and ends the waits of other threads. Connections with clients go on."""
        self._of.close()

    def __iter__(self) -> Iterator[Connection]:
        while True:
            try:
                client = self.accept()
            except Closed:
                return
            yield client

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, kind, error, traceback) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<bertha.blocking.Listener at {self.address}>"


def connect(
    datapath: str, address: str, stack: str = "", *, timeout: Optional[float] = None, **options: Any
) -> Connection:
    """Connects as `bertha.connect` does."""
    return Connection(_bertha.connect(datapath, address, stack, written(options)).wait(timeout))


def listen(datapath: str, address: str, stack: str = "", **options: Any) -> Listener:
    """Listens as `bertha.listen` does."""
    return Listener(_bertha.listen(datapath, address, stack, written(options)))
