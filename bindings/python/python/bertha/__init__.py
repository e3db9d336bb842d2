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
from ._connect import connect, listen
from ._errors import (
    AddressInUse,
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
from ._told import Explanation, Layer, Statistics

__all__ = [
    "AddressInUse",
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
    "chunnels",
    "connect",
    "datapaths",
    "listen",
]

# A child has none of the threads, and threads that wait must not come back while the interpreter ends.
_os.register_at_fork(after_in_child=_bertha.after_fork)
_atexit.register(_bertha.exiting)
