"""Compiles the programs of standard input, a JSON list, with the package `portus`, for tests/python.rs.

Each program is an object with `source`, `uid` and `fields`, a list of pairs. The answers on standard output have the
messages in hexadecimal, or `error`.
"""

import json
import sys

from portus import Datapath, Error, try_compile
from portus.compiler import compile_program
from portus.messages import install


def answer(source, uid, fields):
    try:
        program = compile_program(source)
        sent = []
        datapath = Datapath(7, {"program": (uid, program)}, sent.append)
        datapath.set_program("program", fields)
        datapath.update_fields(fields)
    except Error as error:
        assert try_compile(source) or fields, "try_compile() takes what compile_program() refuses"
        return {"error": str(error)}
    assert not try_compile(source), "try_compile() refuses what compile_program() takes"
    messages = {"install": install(uid, program), "change": sent[0], "update": sent[1]}
    return {name: message.hex() for name, message in messages.items()}


json.dump([answer(**program) for program in json.load(sys.stdin)], sys.stdout)
