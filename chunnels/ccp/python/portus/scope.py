"""The variables of a program, and their registers."""

from bisect import bisect_left

from .errors import ProgramError
from .registers import (
    BOOLEAN,
    CONTROL,
    IMPLICIT,
    IMPLICITS,
    LOCAL,
    NUMBER,
    RATE,
    REPORT,
    SIGNAL,
    SIGNALS,
    TEMPORARY,
    UNKNOWN,
    VOLATILE_CONTROL,
    VOLATILE_REPORT,
    WINDOW,
    Register,
)

# Maximum number of variables of one kind, those without a register in any instruction included.
MAX_VARIABLES = 255

BOOLEANS = frozenset(("Flow.was_timeout", "__eventFlag", "__shouldContinue", "__shouldReport"))


class Scope:
    """The variables of one program, in the order of their names."""

    def __init__(self, declarations=()):
        self._names = []
        self._registers = []
        self._counts = {CONTROL: 0, LOCAL: 0, REPORT: 0}
        self._temporaries = 0
        for kind, names in ((SIGNAL, SIGNALS), (IMPLICIT, IMPLICITS)):
            for index, name in enumerate(names):
                self._insert(name, Register(kind, index, BOOLEAN if name in BOOLEANS else NUMBER))
        # Variables of `Report` have the order of the fields of a report.
        for declaration in declarations:
            self._declare(declaration)

    def _insert(self, name, register):
        # A name that is there already comes behind the new variable, which hides it.
        place = bisect_left(self._names, name)
        self._names.insert(place, str(name))
        self._registers.insert(place, register)

    def _place(self, name):
        place = bisect_left(self._names, name)
        return place if place < len(self._names) and self._names[place] == name else None

    def _next(self, kind):
        index = self._counts[kind]
        if index >= MAX_VARIABLES:
            raise ProgramError(f"more than {MAX_VARIABLES} variables of one kind")
        self._counts[kind] += 1
        return index

    def _declare(self, declaration):
        if declaration.name.startswith("Report."):
            index = self._next(REPORT)
            kind = VOLATILE_REPORT if declaration.is_volatile else REPORT
        else:
            index = self._next(CONTROL)
            kind = VOLATILE_CONTROL if declaration.is_volatile else CONTROL
        initial = declaration.initial
        type_ = UNKNOWN if initial is None else BOOLEAN if isinstance(initial, bool) else NUMBER
        self._insert(declaration.name, Register(kind, index, type_, initial))

    def get(self, name):
        """Returns the register of this name, or None."""
        place = self._place(name)
        return None if place is None else self._registers[place]

    def defined(self):
        """Returns the registers with initial values, in the order of their names."""
        return [register for register in self._registers if register.initial is not None]

    def local(self, name):
        """Makes a local variable, to which nothing is assigned yet."""
        register = Register(LOCAL, self._next(LOCAL), ("name", str(name)))
        self._insert(name, register)
        return register

    def retype(self, name, type_):
        """Gives a variable another type, and returns its register."""
        place = self._place(name)
        kinds = (CONTROL, VOLATILE_CONTROL, LOCAL, REPORT, VOLATILE_REPORT)
        if place is None or self._registers[place].kind not in kinds:
            raise ProgramError(f"`{name}` can not be assigned to")
        self._registers[place] = self._registers[place].typed(type_)
        return self._registers[place]

    def temporary(self, type_):
        """Makes a register for a part of an expression."""
        register = Register(TEMPORARY, self._temporaries, type_)
        self._temporaries += 1
        return register

    def clear_temporaries(self):
        self._temporaries = 0

    def field(self, name):
        """Returns the index of a field of reports, or None."""
        register = self.get("Report." + name)
        return register.index if register and register.kind in (REPORT, VOLATILE_REPORT) else None

    def updatable(self, name):
        """Returns the register of this name, which an agent may set. Raises ProgramError for others."""
        register = self.get(name)
        if register is None:
            raise ProgramError(f"the program has no register `{name}`")
        is_control = register.kind in (CONTROL, VOLATILE_CONTROL)
        if not is_control and not (register.kind == IMPLICIT and register.index in (WINDOW, RATE)):
            raise ProgramError(
                f"`{name}` can not be set: an agent sets `Cwnd`, `Rate`, and variables outside of `Report`"
            )
        return register
