"""The network of a machine: its cards are on TAPs of a bridge, and a kernel with addresses is at the other end.

Namespace NAME-a has the bridge with the TAPs `card0` and `card1` and one end of a pair of interfaces; namespace NAME-b has the other end
of the pair, `wire`, where frames are seen as on a cable, with the addresses of `PEER`."""

import contextlib
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

# The addresses of the card, and of the kernel at the other end. The third is in the VLAN.
CARD = ("10.99.0.1", "fd99::1", "10.98.0.1")
PEER = ("10.99.0.2", "fd99::2", "10.98.0.2")
VLAN = 7

# The names of namespaces begin with it, and go on with the number of the process.
PREFIX = "bertha-vm"


def run(command, seconds=60, check=False):
    """Runs a command, and returns its output and its result; 124 for a command that takes too long."""
    process = subprocess.Popen(command, shell=isinstance(command, str), text=True, errors="replace", stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
        result = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        output, _ = process.communicate()
        result = 124
    if check and result:
        raise OSError(f"`{command}` failed: {output.strip()}")
    return output, result


def remove(name):
    """Removes a namespace with its processes."""
    output, _ = run(f"ip netns pids {name}")
    for process in output.split():
        if process.isdigit():
            run(["kill", "-9", process])
    run(f"ip netns del {name}")


def remove_leftovers():
    """Removes the namespaces of processes that were killed."""
    output, _ = run("ip netns list")
    for name, process in re.findall(rf"^({PREFIX}(\d+)-[ab])\b", output, re.MULTILINE):
        if not os.path.exists(f"/proc/{process}"):
            remove(name)


class Network:
    """Two namespaces, which `close` removes."""

    def __init__(self, taps):
        remove_leftovers()
        self.inner = f"{PREFIX}{os.getpid()}-a"
        self.outer = f"{PREFIX}{os.getpid()}-b"
        try:
            self._make(taps)
        except BaseException:
            self.close()
            raise

    def _make(self, taps):
        inner, outer = self.inner, self.outer
        for name in (inner, outer):
            run(f"ip netns add {name}", check=True)
        run(f"ip netns exec {inner} sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1", check=True)
        run(f"ip -n {inner} link add bridge type bridge mcast_snooping 0", check=True)
        run(f"ip -n {inner} link add port type veth peer name wire netns {outer}", check=True)
        for number in range(2):
            # With a header in front of each frame, which tells the host what a card has left to be computed.
            many = "multi_queue" if taps > 1 and number == 0 else ""
            run(f"ip -n {inner} tuntap add card{number} mode tap vnet_hdr {many}", check=True)
            run(f"ip -n {inner} link set card{number} txqueuelen 10000", check=True)
        for name in ("card0", "card1", "port"):
            run(f"ip -n {inner} link set {name} master bridge up", check=True)
        run(f"ip -n {inner} link set bridge up", check=True)
        # Frames on the wire are whole, with all checksums.
        run(f"ip netns exec {inner} ethtool -K port tx off tso off gso off gro off", check=True)
        run(f"ip netns exec {outer} ethtool -K wire tx off tso off gso off gro off", check=True)
        for name in ("lo", "wire"):
            run(f"ip -n {outer} link set {name} up", check=True)
        run(f"ip -n {outer} addr add {PEER[0]}/24 dev wire", check=True)
        run(f"ip -n {outer} addr add {PEER[1]}/64 dev wire nodad", check=True)

    @contextlib.contextmanager
    def vlan(self):
        """Gives the kernel at the other end an address in the VLAN during a block."""
        command = ["ip", "netns", "exec", self.outer, sys.executable, "-B", f"{HERE}/tagger.py", "wire", "tagged", str(VLAN)]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as tagger:
            try:
                tagger.stdout.readline()
                # The card knows the neighbour by one address.
                address, _ = self.peer("cat /sys/class/net/wire/address")
                run(f"ip -n {self.outer} link set tagged address {address.strip()} up", check=True)
                run(f"ip -n {self.outer} addr add {PEER[2]}/24 dev tagged", check=True)
                yield
            finally:
                tagger.kill()

    def set_mtu(self, mtu):
        for name in ("card0", "card1", "port", "bridge"):
            run(f"ip -n {self.inner} link set {name} mtu {mtu}", check=True)
        run(f"ip -n {self.outer} link set wire mtu {mtu}", check=True)

    def forget_neighbours(self):
        for family in ("-4", "-6"):
            run(f"ip -n {self.outer} {family} neigh flush dev wire")

    def peer(self, command, seconds=60):
        """Runs a command beside the kernel at the other end."""
        return run(f"exec ip netns exec {self.outer} {command}", seconds)

    def start(self, command):
        """Starts a command beside the kernel at the other end."""
        return subprocess.Popen(["ip", "netns", "exec", self.outer, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def close(self):
        for name in (self.inner, self.outer):
            remove(name)
