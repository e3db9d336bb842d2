"""The exceptions, one for each kind of error."""

from __future__ import annotations


class Error(Exception):
    """An error of a connection. Its kind is its class."""

    ends_connection: bool
    """True if the connection has ended with this error."""

    def __init__(self, text: str = "", ends_connection: bool = False) -> None:
        super().__init__(text)
        self.ends_connection = ends_connection

    def __reduce__(self):
        return type(self), (*self.args, self.ends_connection)


class Closed(Error, EOFError):
    """One of the ends closed the connection in order."""


class Reset(Error, ConnectionResetError):
    """The connection was cut: messages of either end may be missing."""


class TimedOut(Error, TimeoutError):
    """The peer did not answer in time, or the time of a call is up."""


class Unreachable(Error, ConnectionRefusedError):
    """The address does not answer."""


class NotSent(Error, OSError):
    """This machine did not send the message, or no route leads to the host."""


class Refused(Error, ConnectionAbortedError):
    """The two ends have no stack that both can run."""


class VersionMismatch(Error, ConnectionAbortedError):
    """The two ends speak different versions of the protocol."""


class Unauthenticated(Error, PermissionError):
    """The other end did not prove that it has the right key, or asks for a key that this end lacks."""


class Malformed(Error, ValueError):
    """Bytes that do not follow the agreed format."""


class TooLarge(Error, ValueError):
    """A message is longer than the connection carries."""


class Exhausted(Error, BlockingIOError):
    """A bounded resource is used up for the moment."""


class AddressInUse(Error, OSError):
    """The address to listen at belongs to another socket."""


class Unavailable(Error, NotImplementedError):
    """This build or this machine does not have the feature."""


class Invalid(Error, ValueError):
    """The call or the configuration makes no sense."""


class Io(Error, OSError):
    """An error of the operating system for which there is no other class."""


class Forked(Error, RuntimeError):
    """The process was forked after its first call of Bertha. The child has no threads of the library."""


KINDS = {
    kind.__name__: kind
    for kind in (
        Closed,
        Reset,
        TimedOut,
        Unreachable,
        NotSent,
        Refused,
        VersionMismatch,
        Unauthenticated,
        Malformed,
        TooLarge,
        Exhausted,
        AddressInUse,
        Unavailable,
        Invalid,
        Io,
        Forked,
    )
}
