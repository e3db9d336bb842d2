"""What steps are made of: programs on a card in the machine, and commands beside the kernel at the other end."""

import contextlib
import itertools
import os
import re
import shlex
import sys
import time

from machine import SLOTS
from network import CARD
from wire import Capture

HERE = os.path.dirname(os.path.abspath(__file__))


def expect(holds, otherwise):
    if not holds:
        raise AssertionError(otherwise)


class Bench:
    """A machine with its network, and the programs of the host."""

    mac = "52:54:00:99:00:01"
    root = os.path.dirname(os.path.dirname(HERE))

    def __init__(self, folder, programs, network, machine, queues):
        self.folder, self.network, self.machine, self.queues = folder, network, machine, queues
        self.bertha, self.ycsb, self.file_transfer = (os.path.join(programs, name) for name in ("bertha", "ycsb", "file-transfer"))
        self.numbers = itertools.count()

    def settings(self, **given):
        """Returns the environment of a program on the first card, with these settings."""
        log = given.pop("LOG", "warn")
        settings = {"DEVICE": SLOTS[0], "ADDRESS": f"{CARD[0]}/24,{CARD[1]}/64", **given}
        return {"RUST_LOG": log, **{f"BERTHA_DPDK_{name}": value for name, value in settings.items()}}

    @contextlib.contextmanager
    def program(self, command, says, end="TERM", user=None, **settings):
        """Runs a program in the machine during a block. Its log is in `ended` of the value afterwards."""
        program = self.machine.start(command, says, self.settings(**settings), user)
        try:
            yield program
        except AssertionError as error:
            raise AssertionError(f"{error}; the log of {program.name}: {program.stop(end)[-1500:]}") from error
        program.ended = program.stop(end)

    @contextlib.contextmanager
    def echo(self, **settings):
        """Runs an echo on the card during a block, which begins when the card answers: a card loses frames right after its start."""
        with self.program("/port_echo [::]:7000", "ready", **settings) as program:
            host = settings.get("ADDRESS", CARD[0]).split("/")[0]
            self.wait_until(lambda: self.answers(host), 30, f"the card does not answer at {host}")
            yield program

    def answers(self, host):
        """Returns true if a ping is answered within a second."""
        return " 1 received" in self.network.peer(f"ping -q -c 1 -W 1 {host}", 10)[0]

    def run(self, command, **settings):
        """Runs a command on the card, and returns its output."""
        words = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.settings(**settings).items())
        output, result = self.machine.do(f"{words} {command} 2>&1", 60)
        expect(result == 0, f"`{command}`: {output[-600:]}")
        return output

    def refused(self, user=None, **settings):
        """Opens the card, which has to fail, and returns the reason."""
        words = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.settings(**settings).items())
        command = f"env {words} timeout 20 /port_echo [::]:7000 2>&1"
        if user:
            command = f"su {user} -s /bin/sh -c {shlex.quote(command)}"
        output, result = self.machine.do(command, 60)
        found = re.search(r"^port_echo: (.*)$", output, re.MULTILINE)
        expect(found and result == 1, f"not refused: {output[-600:]}")
        return found.group(1).strip()

    def peer(self, command, seconds=60):
        """Runs a command beside the kernel at the other end, and returns its output."""
        output, result = self.network.peer(command, seconds)
        expect(result == 0, f"`{command}` ended with {result}: {output[-600:].strip()}")
        return output

    def ping(self, host, options=""):
        said = self.peer(f"ping -q -c 5 -i 0.2 -W 10 {options} {host}", 40)
        expect(" 5 received" in said, f"ping of {host}: {said}")

    def datagrams(self, arguments, seconds=200):
        return self.peer(f"{sys.executable} -B {HERE}/datagrams.py {arguments}", seconds)

    def ask(self, host, count, longest=None):
        """Expects `count` datagrams to come back from the echo."""
        longest = longest or (1452 if ":" in host else 1472)
        said = self.datagrams(f"ask {host} {count} {longest}").strip()
        expect(said == f"{count} of {count}", f"datagrams to {host}: {said}")

    @contextlib.contextmanager
    def captures(self, *interfaces):
        """Captures the card's frames at interfaces of the host during a block."""
        file = os.path.join(self.folder, str(next(self.numbers)))
        captures = [Capture(self.network.inner, interface, self.mac, f"{file}-{interface}.pcap") for interface in interfaces]
        try:
            yield captures
        finally:
            for capture in captures:
                capture.stop()

    @staticmethod
    def wait_until(holds, seconds, otherwise):
        until = time.monotonic() + seconds
        while not holds():
            expect(time.monotonic() < until, otherwise)
