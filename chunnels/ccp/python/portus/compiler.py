"""The compiler of datapath programs, to the bytes that portus 0.9 makes."""

import struct

from .errors import ProgramError
from .language import Command, Comment, Name, Operation, parse
from .registers import (
    BOOLEAN,
    CONTROL,
    IMMEDIATE,
    IMPLICIT,
    LOCAL,
    NUMBER,
    PLACEHOLDER,
    REPORT,
    TEMPORARY,
    UNKNOWN,
    VOLATILE_CONTROL,
    VOLATILE_REPORT,
    Register,
)
from .scope import Scope

# Maximum number of clauses, and of instructions, that a datapath takes.
MAX_CLAUSES = 256
MAX_INSTRUCTIONS = 256

# The codes of operations.
BIND = 1
DEFINE = 2
ARITHMETIC = {
    "add": 0,
    "div": 3,
    "max": 9,
    "wrapped_max": 10,
    "min": 11,
    "multiply": 12,
    "subtract": 14,
}
COMPARISONS = {"equal": 4, "greater": 6, "less": 8}
# Booleans are 0 and 1: their product is the conjunction.
LOGIC = {"and": 12, "or": 0}
# Operations that read the old value of the variable that they are assigned to.
STATEFUL = {"ewma": 5, "if": 7, "if_not": 13}

REPORTED = (REPORT, VOLATILE_REPORT)
CONTROLS = (CONTROL, VOLATILE_CONTROL)


class Program:
    """A compiled program."""

    def __init__(self, clauses, instructions, scope):
        # Four numbers for each clause: start and count of its condition, and of its body.
        self.clauses = clauses
        # The bytes of each instruction.
        self.instructions = instructions
        self.scope = scope


def compile_program(source):
    """Compiles a program. Raises ProgramError with the reason if portus or a datapath would refuse it."""
    declarations, clauses = parse(source)
    scope = Scope(declarations)
    compiler = _Compiler(scope)
    instructions = [
        (DEFINE, register, register, _constant(register.initial)) for register in scope.defined()
    ]
    spans = []
    for number, clause in enumerate(clauses, 1):
        try:
            condition, body = compiler.clause(clause)
        except ProgramError as error:
            raise ProgramError(f"clause {number}: {error}") from None
        start = len(instructions)
        spans.append((start, len(condition), start + len(condition), len(body)))
        instructions += condition + body
        if len(instructions) > MAX_INSTRUCTIONS:
            raise ProgramError(f"the program has more than {MAX_INSTRUCTIONS} instructions")
    if len(spans) > MAX_CLAUSES:
        raise ProgramError(f"the program has more than {MAX_CLAUSES} clauses")
    return Program(spans, [_encode(instruction) for instruction in instructions], scope)


def _constant(value):
    return Register(IMMEDIATE, int(value), BOOLEAN if isinstance(value, bool) else NUMBER)


def _encode(instruction):
    operation, result, left, right = instruction
    return struct.pack("<B", operation) + result.encode() + left.encode() + right.encode()


class _Compiler:
    def __init__(self, scope):
        self.scope = scope

    def clause(self, clause):
        """Returns the instructions of the condition, and of the body."""
        condition = self.condition(clause.condition)
        return condition, [each for expression in clause.body for each in self.statement(expression)]

    def condition(self, expression):
        """Returns the instructions of a condition, the last of which sets the flag of the clause."""
        self.scope.clear_temporaries()
        if isinstance(expression, Command):
            raise ProgramError("a command is no condition")
        instructions, result = self.expression(expression)
        flag = self.scope.get("__eventFlag")
        if result.kind == IMMEDIATE and result.type == BOOLEAN:
            instructions.append((BIND, flag, flag, result))
        elif result.kind == TEMPORARY and result.type == BOOLEAN:
            operation, _, left, right = instructions[-1]
            instructions[-1] = (operation, flag, left, right)
        else:
            raise ProgramError("a condition is `true`, `false`, a comparison, or `&&` and `||` of comparisons")
        return instructions

    def statement(self, expression):
        """Returns the instructions of a part of a clause's body."""
        self.scope.clear_temporaries()
        return self.expression(expression)[0]

    def expression(self, expression):
        """Returns the instructions of an expression, left before right, and the register of its result."""
        if isinstance(expression, (bool, int)):
            return [], _constant(expression)
        if isinstance(expression, Name):
            return [], self.scope.get(expression) or self.scope.local(expression)
        if isinstance(expression, Command):
            expression = Operation("bind", expression.register, True)
        if isinstance(expression, Comment):
            raise ProgramError("a comment may stand between clauses, and nowhere else")
        instructions, left = self.expression(expression.left)
        more, right = self.expression(expression.right)
        return self.operation(expression.operation, instructions + more, left, right)

    def operation(self, operation, instructions, left, right):
        if operation == "bind":
            return self.bind(instructions, left, right)
        if operation in STATEFUL:
            result = Register(PLACEHOLDER, 0, UNKNOWN)
            return [*instructions, (STATEFUL[operation], result, left, right)], result
        codes, operands, type_ = next(kind for kind in _KINDS if operation in kind[0])
        for operand in (left, right):
            if operand.type != operands:
                raise ProgramError(f"an operand of `{operation}` is {operands}, and not {_text(operand.type)}")
        result = self.scope.temporary(type_)
        return [*instructions, (codes[operation], result, left, right)], result

    def bind(self, instructions, left, right):
        """Assigns to a variable. A local variable gets the type of its first value."""
        if isinstance(left.type, tuple):
            left = self.scope.retype(left.type[1], right.type)
        if right.kind == PLACEHOLDER and left.kind in REPORTED + CONTROLS:
            operation, _, first, second = instructions[-1]
            return [*instructions[:-1], (operation, left, first, second)], left
        if right.kind == PLACEHOLDER:
            raise ProgramError("`if`, `!if` and `ewma` are assigned to variables of `def`, and to no others")
        if left.kind not in (IMPLICIT, LOCAL, TEMPORARY, *REPORTED, *CONTROLS):
            raise ProgramError("the left of `:=` is no variable that a program may set")
        return [*instructions, (BIND, left, left, right)], left


# The operations on two values, with the types of operands and result.
_KINDS = ((ARITHMETIC, NUMBER, NUMBER), (COMPARISONS, NUMBER, BOOLEAN), (LOGIC, BOOLEAN, BOOLEAN))


def _text(type_):
    return f"`{type_[1]}`, to which nothing is assigned yet" if isinstance(type_, tuple) else str(type_)
