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


# By the names that kinds have in Rust.
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
KINDS["Version"], KINDS["AddrInUse"] = VersionMismatch, AddressInUse


def text_of(error: BaseException) -> str:
    """Returns the text of an exception, in characters that every peer reads; its class if it has no text."""
    try:
        return str(error).encode("utf-8", "backslashreplace").decode()
    except Exception:
        return type(error).__name__


class CallError(Error):
    """A call has failed. A handler that raises this, or a class below, fails its call with this text."""

    kind = "Failed"
    may_have_run: bool
    """True if the service may have done the work of the call: then to repeat it may do it twice."""

    def __init__(self, text: str = "", may_have_run: bool = True) -> None:
        super().__init__(text)
        self.may_have_run = may_have_run

    def __reduce__(self):
        return type(self), (*self.args, self.may_have_run)


class CallFailed(CallError):
    """The handler has failed the call."""


class CallOverloaded(CallError, BlockingIOError):
    """The service has too much to do."""

    kind = "Overloaded"


class CallTimedOut(CallError, TimeoutError):
    """The deadline has passed."""

    kind = "TimedOut"


class CallUnknownMethod(CallError, LookupError):
    """The service has no such method."""

    kind = "UnknownMethod"


class CallMalformed(CallError, ValueError):
    """The request or the response does not follow the format."""

    kind = "Malformed"


class CallTooLarge(CallError, ValueError):
    """The request or the response is too long."""

    kind = "TooLarge"


class CallDisconnected(CallError, ConnectionError):
    """The connection has ended."""

    kind = "Disconnected"


class CallDenied(CallError, PermissionError):
    """The client may not make this call."""

    kind = "Denied"


class CallUnavailable(CallError, ConnectionError):
    """The service can't do it now."""

    kind = "Unavailable"


CALLS = (
    CallFailed,
    CallOverloaded,
    CallTimedOut,
    CallUnknownMethod,
    CallMalformed,
    CallTooLarge,
    CallDisconnected,
    CallDenied,
    CallUnavailable,
)
KINDS.update((kind.__name__, kind) for kind in CALLS)
