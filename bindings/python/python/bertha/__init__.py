"""Bertha: the two ends of a connection agree on what it needs, over any datapath.

    async with bertha.connect("tcp", "127.0.0.1:4242", "ordered,reliable") as connection:
        await connection.send(b"hello")
        async for message in connection:
            ...

`bertha.blocking` has the same for threads.
"""

from __future__ import annotations

import atexit as _atexit
import os as _os

from . import _bertha, blocking
from ._bertha import Connection, __version__, chunnels, datapaths
from ._calls import Call, Client, call, current_call, serve
from ._connect import connect, listen
from ._errors import (
    AddressInUse,
    CallDenied,
    CallDisconnected,
    CallError,
    CallFailed,
    CallMalformed,
    CallOverloaded,
    CallTimedOut,
    CallTooLarge,
    CallUnavailable,
    CallUnknownMethod,
    Closed,
    Error,
    Exhausted,
    Forked,
    Invalid,
    Io,
    Malformed,
    NotSent,
    Refused,
    Reset,
    TimedOut,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unreachable,
    VersionMismatch,
)
from ._service import service
from ._told import Explanation, Layer, Statistics

__all__ = [
    "AddressInUse",
    "Call",
    "CallDenied",
    "CallDisconnected",
    "CallError",
    "CallFailed",
    "CallMalformed",
    "CallOverloaded",
    "CallTimedOut",
    "CallTooLarge",
    "CallUnavailable",
    "CallUnknownMethod",
    "Client",
    "Closed",
    "Connection",
    "Error",
    "Exhausted",
    "Explanation",
    "Forked",
    "Invalid",
    "Io",
    "Layer",
    "Malformed",
    "NotSent",
    "Refused",
    "Reset",
    "Statistics",
    "TimedOut",
    "TooLarge",
    "Unauthenticated",
    "Unavailable",
    "Unreachable",
    "VersionMismatch",
    "blocking",
    "call",
    "chunnels",
    "connect",
    "current_call",
    "datapaths",
    "listen",
    "serve",
    "service",
]

# A child has none of the threads, and threads that wait must not come back while the interpreter ends.
_os.register_at_fork(after_in_child=_bertha.after_fork)
_atexit.register(_bertha.exiting)
