"""The registers of datapath programs, and their form in messages."""

import struct

from .errors import ProgramError

# The kinds of registers. Their numbers stand in messages.
CONTROL = 0
IMMEDIATE = 1
IMPLICIT = 2
LOCAL = 3
SIGNAL = 4
VOLATILE_REPORT = 5
REPORT = 6
TEMPORARY = 7
VOLATILE_CONTROL = 8

# The result of `if`, `!if` and `ewma`, until the assignment around it gives it a register. It has no number.
PLACEHOLDER = -1

# The kinds of values. Names are the kind of a local variable that nothing has been assigned to.
NUMBER = "a number"
BOOLEAN = "a boolean"
UNKNOWN = "unknown"

# Maximum index of a register, by kind.
MAX_INDEX = {
    CONTROL: 15,
    VOLATILE_CONTROL: 15,
    IMPLICIT: 5,
    LOCAL: 5,
    SIGNAL: 15,
    REPORT: 15,
    VOLATILE_REPORT: 15,
    TEMPORARY: 15,
}

NAMES = {
    CONTROL: "variables outside of `Report`",
    VOLATILE_CONTROL: "variables outside of `Report`",
    LOCAL: "local variables",
    REPORT: "variables of `Report`",
    VOLATILE_REPORT: "variables of `Report`",
    TEMPORARY: "parts of one expression",
}

# The value of `+infinity`.
INFINITY = 2**64 - 1

# The largest other constant.
MAX_CONSTANT = 2**31 - 1

WINDOW = 4
RATE = 5

SIGNALS = (
    "Ack.bytes_acked",
    "Ack.bytes_misordered",
    "Ack.ecn_bytes",
    "Ack.ecn_packets",
    "Ack.lost_pkts_sample",
    "Ack.now",
    "Ack.packets_acked",
    "Ack.packets_misordered",
    "Flow.bytes_in_flight",
    "Flow.bytes_pending",
    "Flow.packets_in_flight",
    "Flow.rate_incoming",
    "Flow.rate_outgoing",
    "Flow.rtt_sample_us",
    "Flow.was_timeout",
)

# The registers that mean something to the datapath, by index.
IMPLICITS = ("__eventFlag", "__shouldContinue", "__shouldReport", "Micros", "Cwnd", "Rate")


class Register:
    """A register, or a constant in its place."""

    __slots__ = ("index", "initial", "kind", "type")

    def __init__(self, kind, index, type_, initial=None):
        self.kind = kind
        # The index, or the value of a constant.
        self.index = index
        # NUMBER, BOOLEAN, UNKNOWN, or ("name", NAME) for a local variable without a value.
        self.type = type_
        # The value in the definition, or None.
        self.initial = initial

    def typed(self, type_):
        """Returns this register with another type."""
        return Register(self.kind, self.index, type_, self.initial)

    def encode(self):
        """Returns the five bytes of a message. Raises ProgramError if the program has too many registers."""
        if self.kind == PLACEHOLDER:
            raise ProgramError("`if`, `!if` and `ewma` stand on the right of `:=` to a variable that is declared")
        if self.kind == IMMEDIATE:
            if self.index != INFINITY and self.index > MAX_CONSTANT:
                raise ProgramError(f"the constant {self.index} is too large: the maximum is {MAX_CONSTANT}")
            return struct.pack("<BI", IMMEDIATE, self.index & 0xFFFF_FFFF)
        limit = MAX_INDEX[self.kind]
        if self.index > limit:
            raise ProgramError(f"too many {NAMES[self.kind]}: the maximum is {limit + 1}")
        return struct.pack("<BI", self.kind, self.index)
