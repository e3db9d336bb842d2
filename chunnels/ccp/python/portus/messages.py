"""The messages between datapaths and agents, byte for byte as in libccp 1.2 and portus 0.9."""

import struct
from collections import namedtuple

from .errors import MessageError

# The types of messages.
CREATE = 0
MEASURE = 1
INSTALL = 2
UPDATE = 3
CHANGE = 4
READY = 5

HEADER = struct.Struct("<HHI")

# Maximum sizes: of a message in bytes, of a report and of an update in fields.
MAX_MESSAGE = 32_678
MAX_FIELDS = 110
MAX_UPDATES = 222

# The size of the name of an algorithm, padded with zeros.
NAME = 64

Create = namedtuple("Create", "flow init_cwnd mss src_ip src_port dst_ip dst_port cong_alg")
Measure = namedtuple("Measure", "flow program fields")
Ready = namedtuple("Ready", "id")


def decode_all(data):
    """Returns the messages of a datapath in a datagram. Raises MessageError unless all are whole."""
    if not data:
        raise MessageError("an empty message")
    messages = []
    while data:
        message, data = _decode(data)
        messages.append(message)
    return messages


def _decode(data):
    if len(data) < HEADER.size:
        raise MessageError("a message without a whole header")
    kind, length, flow = HEADER.unpack_from(data)
    if not HEADER.size <= length <= MAX_MESSAGE:
        raise MessageError(f"a message that claims {length} bytes")
    if length > len(data):
        raise MessageError("a message that is shorter than it claims")
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise MessageError(f"a message of type {kind}, which no datapath sends")
    return decoder(flow, data[HEADER.size : length]), data[length:]


def _create(flow, body):
    if len(body) != 24 + NAME:
        raise MessageError("an announcement of a flow with another length")
    try:
        name = body[24:].split(b"\0")[0].decode()
    except UnicodeDecodeError:
        raise MessageError("an announcement of a flow whose algorithm's name is no UTF-8") from None
    return Create(flow, *struct.unpack_from("<6I", body), name)


def _measure(flow, body):
    if len(body) < 8:
        raise MessageError("a report without a number of fields")
    program, count = struct.unpack_from("<2I", body)
    if count > MAX_FIELDS or len(body) != 8 + 8 * count:
        raise MessageError(f"a report that claims {count} fields and has {len(body) - 8} bytes")
    return Measure(flow, program, struct.unpack_from(f"<{count}Q", body, 8))


def _ready(_, body):
    if len(body) != 4:
        raise MessageError("a beginning of a datapath with another length")
    return Ready(*struct.unpack("<I", body))


_DECODERS = {CREATE: _create, MEASURE: _measure, READY: _ready}


def _message(kind, flow, body):
    return HEADER.pack(kind, HEADER.size + len(body), flow) + body


def install(program_uid, program):
    """Returns the message that installs a program for all flows."""
    counts = struct.pack("<3I", program_uid, len(program.clauses), len(program.instructions))
    clauses = b"".join(struct.pack("<4I", *clause) for clause in program.clauses)
    return _message(INSTALL, 0, counts + clauses + b"".join(program.instructions))


def update(flow, fields):
    """Returns the message that sets registers of a flow: pairs of a register and its value."""
    return _message(UPDATE, flow, _fields(fields))


def change(flow, program_uid, fields):
    """Returns the message that chooses a program for a flow, and sets registers."""
    return _message(CHANGE, flow, struct.pack("<I", program_uid) + _fields(fields))


def _fields(fields):
    if len(fields) > MAX_UPDATES:
        raise MessageError(f"{len(fields)} registers at once are too many: the maximum is {MAX_UPDATES}")
    packed = b"".join(register.encode() + struct.pack("<Q", value) for register, value in fields)
    return struct.pack("<I", len(fields)) + packed
