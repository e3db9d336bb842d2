"""Congestion control algorithms in Python, for datapaths that speak CCP.

The names are those of pyportus 0.6, whose programs run unchanged. The README beside this package has an example.
"""

from . import util
from .compiler import compile_program
from .datapath import Datapath, DatapathInfo, Report
from .errors import Error, MessageError, ProgramError
from .run import DEFAULT_PATH, AlgBase, connect, start

__all__ = [
    "DEFAULT_PATH",
    "AlgBase",
    "Datapath",
    "DatapathInfo",
    "Error",
    "MessageError",
    "ProgramError",
    "Report",
    "connect",
    "start",
    "try_compile",
    "util",
]


def try_compile(prog):
    """Compiles a program. Returns an empty string, or the text of the error."""
    try:
        compile_program(prog)
    except ProgramError as error:
        return str(error) or "the program does not compile"
    return ""
