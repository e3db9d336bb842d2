"""What an algorithm sees of a flow: its datapath, its announcement, and its reports."""

from .errors import Error, ProgramError
from .messages import change, update

# Maximum value of a register.
MAX_VALUE = 2**64 - 1


class DatapathInfo:
    """The announcement of a flow. Addresses are IPv4 addresses as numbers, or 0."""

    def __init__(self, create):
        self.sock_id = create.flow
        # The window at the beginning, and the size of the largest packet, in bytes.
        self.init_cwnd = create.init_cwnd
        self.mss = create.mss
        self.src_ip = create.src_ip
        self.src_port = create.src_port
        self.dst_ip = create.dst_ip
        self.dst_port = create.dst_port
        # The name of the algorithm that the flow requests, or an empty string.
        self.cong_alg = create.cong_alg

    def __repr__(self):
        return f"DatapathInfo({vars(self)})"


class Report:
    """A report of a flow. Each variable of `Report` is an attribute: `report.acked`."""

    def __init__(self, scope, fields):
        self._scope = scope
        self._fields = fields

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        index = self._scope.field(name)
        if index is None:
            raise AttributeError(f"the program reports no `{name}`")
        if index >= len(self._fields):
            raise AttributeError(f"the report has {len(self._fields)} fields, and no `{name}`")
        return self._fields[index]


class Datapath:
    """The datapath of one flow. A message that the datapath does not take is counted, and raises no error."""

    def __init__(self, flow, programs, send):
        self.sock_id = flow
        # Programs with their numbers, by name.
        self._programs = programs
        self._send = send
        # The number of the program of this flow, and its scope.
        self.program_uid = None
        self.scope = None

    def set_program(self, program_name, fields=None):
        """Chooses one of the programs of `datapath_programs`, with values for registers: `[("Cwnd", 20_000)]`."""
        if program_name not in self._programs:
            known = ", ".join(f"`{name}`" for name in self._programs)
            raise ProgramError(f"there is no program `{program_name}`: datapath_programs() returns {known}")
        uid, program = self._programs[program_name]
        self._send(change(self.sock_id, uid, _registers(program.scope, fields or ())))
        self.program_uid, self.scope = uid, program.scope

    def update_field(self, reg_name, val):
        """Sets a register: `Cwnd` in bytes, `Rate` in bytes per second, or a variable outside of `Report`."""
        self.update_fields([(reg_name, val)])

    def update_fields(self, fields):
        """Sets several registers at once: pairs of a name and a value."""
        if self.scope is None:
            raise Error("no program is set: set_program() comes first")
        self._send(update(self.sock_id, _registers(self.scope, fields)))


def _registers(scope, fields):
    return [(scope.updatable(name), _value(name, value)) for name, value in fields]


def _value(name, value):
    if not isinstance(value, int):
        raise TypeError(f"the value of `{name}` is an int, and not the {type(value).__name__} {value!r}")
    if not 0 <= value <= MAX_VALUE:
        raise ValueError(f"the value of `{name}` is between 0 and 2^64 - 1, and not {value}")
    return int(value)
