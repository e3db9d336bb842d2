"""The parser of datapath programs (thesis 4.4).

The grammar is that of portus 0.9, with its peculiarities: an operation ends where its name ends, so `(ltx y)` is
`(lt x y)`, and a number that does not fit into 64 bits is a name. A program means the same to both compilers, or is
refused by both.
"""

from .errors import ProgramError
from .registers import INFINITY

# Maximum length of a program, in characters.
MAX_LENGTH = 65_536

# Maximum number of parentheses within each other.
MAX_DEPTH = 128

SPACE = " \t\r\n"

# The names of operations, in the order in which they are tried.
OPERATIONS = (
    ("+", "add"),
    ("add", "add"),
    ("&&", "and"),
    ("and", "and"),
    (":=", "bind"),
    ("bind", "bind"),
    ("if", "if"),
    ("/", "div"),
    ("div", "div"),
    ("==", "equal"),
    ("eq", "equal"),
    ("ewma", "ewma"),
    (">", "greater"),
    ("gt", "greater"),
    ("<", "less"),
    ("lt", "less"),
    ("wrapped_max", "wrapped_max"),
    ("max", "max"),
    ("min", "min"),
    ("*", "multiply"),
    ("mul", "multiply"),
    ("||", "or"),
    ("or", "or"),
    ("!if", "if_not"),
    ("-", "subtract"),
    ("sub", "subtract"),
)


class Name(str):
    """The name of a variable."""

    __slots__ = ()


class Comment:
    """A comment, which may stand only between clauses."""


class Command:
    """`(report)` or `(fallthrough)`."""

    # The register that a command sets.
    REGISTERS = {"fallthrough": "__shouldContinue", "report": "__shouldReport"}

    def __init__(self, name):
        self.register = Name(self.REGISTERS[name])


class Operation:
    """An operation with its two operands."""

    __slots__ = ("left", "operation", "right")

    def __init__(self, operation, left, right):
        self.operation = operation
        self.left = left
        self.right = right


class Declaration:
    """A variable of a program. The initial value is a number, a boolean, or None."""

    __slots__ = ("initial", "is_volatile", "name")

    def __init__(self, name, is_volatile, initial):
        self.name = name
        self.is_volatile = is_volatile
        self.initial = initial


class Clause:
    """A `when` clause."""

    __slots__ = ("body", "condition")

    def __init__(self, condition, body):
        self.condition = condition
        self.body = body


class _Mismatch(Exception):
    """The text at this place is something else. The parser may go on with another rule."""


def parse(source):
    """Returns the declarations of a program, and its clauses. Raises ProgramError with the line of an error."""
    if not isinstance(source, str):
        raise ProgramError(f"a program is a string, and not a {type(source).__name__}")
    if len(source) > MAX_LENGTH:
        raise ProgramError(f"a program of {len(source)} characters is too long: the maximum is {MAX_LENGTH}")
    parser = _Parser(source)
    try:
        return parser.program()
    except _Mismatch:
        raise parser.error() from None


class _Parser:
    def __init__(self, source):
        self.source = source
        self.at = 0
        # The farthest place where a rule did not match, and its expectation: the likeliest place of the error.
        self.farthest = 0
        self.expected = "a program"
        self.depth = 0

    def error(self):
        line = self.source.count("\n", 0, self.farthest) + 1
        column = self.farthest - (self.source.rfind("\n", 0, self.farthest) + 1) + 1
        rest = self.source[self.farthest : self.farthest + 20].split("\n")[0]
        found = f"`{rest}`" if rest.strip() else "nothing more on this line"
        return ProgramError(f"line {line}, column {column}: {self.expected} is expected, and there is {found}")

    def mismatch(self, expected):
        if self.at >= self.farthest:
            self.farthest = self.at
            self.expected = expected
        return _Mismatch()

    def attempt(self, rule):
        """Returns the result of a rule, or None, and the place is then unchanged."""
        start = self.at
        try:
            return rule()
        except _Mismatch:
            self.at = start
            return None

    def many(self, rule):
        results = []
        while (result := self.attempt(rule)) is not None:
            results.append(result)
        return results

    def some(self, rule):
        return [rule(), *self.many(rule)]

    # The smallest parts.

    def space(self):
        while self.at < len(self.source) and self.source[self.at] in SPACE:
            self.at += 1

    def takes(self, text):
        """Returns true if the text stands here, and passes it."""
        if not self.source.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def text(self, text):
        if not self.takes(text):
            raise self.mismatch(f"`{text}`")

    def run(self, is_part):
        start = self.at
        while self.at < len(self.source) and is_part(self.source[self.at]):
            self.at += 1
        return self.source[start : self.at]

    def name(self):
        start = self.at
        name = self.run(_is_in_name)
        if not name or name.startswith("__"):
            self.at = start
            raise self.mismatch("a name (those that begin with `__` are reserved)")
        return Name(name)

    def atom(self):
        for text, value in (("true", True), ("false", False), ("+infinity", INFINITY)):
            if self.takes(text):
                return value
        start = self.at
        digits = self.run(_is_digit)
        if digits and len(digits.lstrip("0")) <= 20 and int(digits) <= INFINITY:
            return int(digits)
        self.at = start
        return self.name()

    def comment(self):
        self.text("#")
        end = self.source.find("\n", self.at)
        if end < 0:
            raise self.mismatch("the end of the line of a comment")
        self.at = end
        return Comment()

    # Expressions.

    def operation(self):
        for text, operation in OPERATIONS:
            if self.takes(text):
                return operation
        raise self.mismatch("an operation")

    def operands(self):
        self.text("(")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ProgramError(f"more than {MAX_DEPTH} parentheses stand within each other")
        try:
            self.space()
            operation = self.operation()
            left = self.expression()
            right = self.expression()
        finally:
            self.depth -= 1
        is_conditional = isinstance(left, Operation) and left.operation in ("if", "if_not")
        if is_conditional and operation != "bind":
            raise self.mismatch("an operand that is no `if` and no `!if`")
        self.text(")")
        return Operation(operation, left, right)

    def command(self):
        self.text("(")
        self.space()
        for name in Command.REGISTERS:
            if self.takes(name):
                self.space()
                self.text(")")
                return Command(name)
        raise self.mismatch("`fallthrough` or `report`")

    def expression(self):
        self.space()
        for rule in (self.comment, self.operands, self.command):
            if (result := self.attempt(rule)) is not None:
                break
        else:
            result = self.atom()
        self.space()
        return result

    # The definitions.

    def declaration(self):
        self.space()
        self.text("(")
        self.space()
        is_volatile = self.takes("volatile")
        self.space()
        name = self.name()
        self.space()
        initial = self.atom()
        self.space()
        self.text(")")
        self.space()
        return Declaration(name, is_volatile, None if isinstance(initial, Name) else initial)

    def report(self):
        self.space()
        self.text("(")
        self.space()
        self.text("Report")
        declarations = self.some(self.declaration)
        self.text(")")
        self.space()
        for declaration in declarations:
            declaration.name = Name("Report." + declaration.name)
        return declarations

    def definitions(self):
        self.space()
        self.text("(")
        self.text("def")
        before = self.many(self.declaration)
        reported = self.attempt(self.report) or []
        after = self.many(self.declaration)
        self.text(")")
        self.space()
        return reported + before + after

    # The clauses.

    def clause(self):
        self.space()
        self.attempt(self.comment)
        self.space()
        self.text("(")
        self.space()
        self.text("when")
        condition = self.expression()
        body = self.some(self.expression)
        self.text(")")
        self.space()
        return Clause(condition, body)

    def program(self):
        declarations = self.definitions()
        clauses = self.some(self.clause)
        if self.at < len(self.source):
            raise self.mismatch("a clause")
        return declarations, clauses


def _is_digit(character):
    return "0" <= character <= "9"


def _is_in_name(character):
    # portus looks at the lowest byte of a character alone.
    return character in "._" or chr(ord(character) & 0xFF) in _ALPHANUMERIC


_ALPHANUMERIC = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
