"""A machine that QEMU emulates, with two cards, which obeys its serial line."""

import os
import re
import select
import shlex
import socket
import subprocess
import time

# The cards: the first is under test, the second is its neighbour where both ends are in the machine.
SLOTS = ("0000:00:10.0", "0000:00:11.0")
# Models that take frames from several queues of their TAP; a TAP with several queues would lose frames of another model.
SEVERAL = ("e1000e", "virtio-net-pci")
MEMORY = 2048
HUGEPAGES = 320


class Stuck(Exception):
    """The machine does not answer, or has ended."""


class Machine:
    """A machine that has started. `close` ends it."""

    def __init__(self, folder, network, model, how, taps):
        self.model, self.how = model, how
        self.monitor = os.path.join(folder, "monitor")
        self.unread = b""
        # It ends with this process, however that ends.
        command = ["setpriv", "--pdeathsig", "KILL", "nice", "-n", "10", "ip", "netns", "exec", network.inner, *self._emulator(folder, taps)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            self.booted = re.search(r"after (\S+) s", self._read_to(rb"machine: ready [^\n]*\n", 180)).group(1)
        except BaseException:
            self.close()
            raise

    def _emulator(self, folder, taps):
        with_iommu = self.how == "vfio"
        kernel = f"console=ttyS0 quiet panic=-1 hugepages={HUGEPAGES} mitigations=off nowatchdog" + (" intel_iommu=on" if with_iommu else "")
        yield from ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-machine", "q35", "-cpu", "max", "-smp", "2", "-m", str(MEMORY),
                    "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio",
                    "-monitor", f"unix:{self.monitor},server=on,wait=off",
                    "-kernel", f"{folder}/kernel", "-initrd", f"{folder}/initrd", "-append", kernel]
        properties = ""
        if with_iommu:
            # It comes before the cards that it translates for.
            yield from ["-device", "intel-iommu,intremap=on,caching-mode=on,device-iotlb=on"]
            if self.model.startswith("virtio"):
                properties += ",disable-legacy=on,iommu_platform=on,ats=on"
        for number, slot in enumerate(SLOTS):
            several = taps > 1 and number == 0
            netdev = f"tap,id=net{number},ifname=card{number},script=no,downscript=no" + (f",queues={taps}" if several else "")
            if several and self.model.startswith("virtio"):
                spread = f",mq=on,rss=on,vectors={2 * taps + 2}"
            else:
                spread = ""
            card = f"{self.model},netdev=net{number},mac=52:54:00:99:00:0{number + 1},addr={slot.split(':')[-1]}"
            yield from ["-netdev", netdev, "-device", card + properties + spread]

    def _read_to(self, pattern, seconds):
        """Returns what the machine says up to a pattern."""
        until = time.monotonic() + seconds
        while not (found := re.search(pattern, self.unread)):
            left = until - time.monotonic()
            if left <= 0:
                raise Stuck(f"no answer within {seconds} s; the last words: {self._last_words()}")
            if select.select([self.process.stdout], [], [], min(left, 1))[0]:
                said = os.read(self.process.stdout.fileno(), 65536)
                if not said:
                    raise Stuck(f"the machine has ended; the last words: {self._last_words()}")
                self.unread += said
        text = self.unread[:found.end()]
        self.unread = self.unread[found.end():]
        return text.decode(errors="replace").replace("\r", "")

    def _last_words(self):
        return self.unread.decode(errors="replace")[-500:].strip()

    def do(self, command, seconds=60):
        """Runs a shell command in the machine, and returns its output and its result."""
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        said = self._read_to(rb"machine: result \d+\r?\n", seconds)
        output, _, result = said.rpartition("machine: result ")
        return output.strip(), int(result)

    def take_cards(self):
        """Takes the cards from the kernel, for programs."""
        if self.how == "vfio":
            driver, modules = "vfio-pci", "irqbypass vfio vfio_virqfd vfio_iommu_type1 vfio-pci-core vfio-pci"
        else:
            driver, modules = "uio_pci_generic", "uio uio_pci_generic"
        commands = " && ".join([f"load {modules}", *(f"bind {driver} {slot}" for slot in SLOTS)])
        output, result = self.do(commands)
        if result:
            raise Stuck(f"the cards do not take the driver {driver}: {output}")

    def start(self, command, says, settings=(), user=None, seconds=60):
        """Starts a program, and waits until it says a text; the name of its log is the name of the program."""
        program = Program(self, os.path.basename(command.split()[0]))
        program.start(command, dict(settings), user)
        program.wait_for(says, seconds)
        return program

    def ask_monitor(self, command):
        """Has QEMU do something to the machine."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.connect(self.monitor)
            monitor.settimeout(10)
            said = b""
            # It answers with a prompt: one as it begins, one behind the command.
            while said.count(b"(qemu) ") < 1:
                said += self.heard(monitor)
            monitor.sendall(command.encode() + b"\n")
            while said.count(b"(qemu) ") < 2:
                said += self.heard(monitor)

    @staticmethod
    def heard(monitor):
        part = monitor.recv(4096)
        if not part:
            raise Stuck("the machine has ended")
        return part

    def close(self):
        self.process.kill()
        self.process.wait()
        if os.path.exists(self.monitor):
            os.remove(self.monitor)


class Program:
    """A program in the machine, which runs beside the shell."""

    def __init__(self, machine, name):
        self.machine, self.name = machine, name

    def start(self, command, settings, user):
        words = " ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items())
        if user:
            command = f"su {user} -s /bin/sh -c {shlex.quote(f'exec env {words} {command}')}"
        self.machine.do(f"({words} exec {command}) >/log-{self.name} 2>&1 & echo $! >/pid-{self.name}")

    def log(self):
        return self.machine.do(f"cat /log-{self.name}")[0]

    def runs(self):
        return self.machine.do(f"kill -0 $(cat /pid-{self.name}) 2>/dev/null")[1] == 0

    def wait_for(self, text, seconds):
        until = time.monotonic() + seconds
        while not re.search(text, log := self.log()):
            if not self.runs() or time.monotonic() > until:
                raise AssertionError(f"{self.name} does not say `{text}`: {log[-600:]}")
            time.sleep(0.3)

    def stop(self, signal="TERM"):
        """Ends the program, and returns its log."""
        wait = "i=0; while kill -0 $p 2>/dev/null && [ $i -lt 40 ]; do sleep 0.5; i=$((i+1)); done; ! kill -9 $p 2>/dev/null"
        _, result = self.machine.do(f"p=$(cat /pid-{self.name}); kill -{signal} $p; {wait}")
        log = self.log()
        if result:
            raise AssertionError(f"{self.name} does not end by {signal}: {log[-600:]}")
        return log
