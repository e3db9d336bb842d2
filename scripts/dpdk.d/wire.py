"""Frames as they are captured, and their checksums, as tshark judges them."""

import signal
import struct
import subprocess
import time

from network import run

# Values of tshark's fields `*.checksum.status`.
BAD, GOOD = "0", "1"
FIELDS = ["ip.checksum.status", "udp.checksum.status", "tcp.checksum.status", "icmp.checksum.status", "icmpv6.checksum.status", "vlan.id"]


class Capture:
    """A capture of the frames from a card, at an interface of a namespace, from its making to `stop`."""

    def __init__(self, namespace, interface, mac, file):
        self.file = file
        command = ["ip", "netns", "exec", namespace, "tcpdump", "-Z", "root", "--immediate-mode", "-U", "-B", "16384", "-s", "9100",
                   "-c", "20000", "-i", interface, "-w", file, "ether", "src", mac]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # Its first line says that it listens.
        if "listening" not in self.process.stderr.readline():
            self.process.stderr.readline()

    def stop(self):
        # Frames under way arrive.
        time.sleep(0.5)
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()


class Judgement:
    """The numbers of frames that a card sent, by protocol and by state of the checksum."""

    def __init__(self, capture):
        arguments = ["tshark", "-r", capture.file, "-T", "fields"]
        for protocol in ("ip", "udp", "tcp"):
            arguments += ["-o", f"{protocol}.check_checksum:TRUE"]
        for field in FIELDS:
            arguments += ["-e", field]
        output, _ = run([*arguments, "-E", "separator=;"], 120)
        rows = [line.split(";") for line in output.splitlines() if line.count(";") == len(FIELDS) - 1]
        self.frames = len(rows)
        self.tagged = sum(row[-1] != "" for row in rows)
        self.counts = {}
        for number, field in enumerate(FIELDS[:-1]):
            protocol = field.split(".")[0]
            for row in rows:
                # A frame within an error message comes second.
                state = row[number].split(",")[0]
                if state in (BAD, GOOD):
                    self.counts[protocol, state] = self.counts.get((protocol, state), 0) + 1

    def good(self, protocol):
        return self.counts.get((protocol, GOOD), 0)

    def bad(self):
        return sum(count for (_, state), count in self.counts.items() if state == BAD)

    def __str__(self):
        protocols = [f"{protocol} {count}" for (protocol, state), count in sorted(self.counts.items()) if state == GOOD]
        return f"{', '.join(protocols)} right, {self.bad()} wrong"


def sum_of(data):
    """Returns the sum of a checksum (RFC 1071), not inverted."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def partial_datagrams(capture):
    """Returns the number of UDP datagrams over IPv4 in a capture at the card's TAP, and how many of them have the sum of their addresses
    and length alone as their checksum: the rest is left to the host."""
    with open(capture.file, "rb") as file:
        data = file.read()
    # The file's header comes first.
    place, all_of_them, partial = 24, 0, 0
    while place + 16 <= len(data):
        length = struct.unpack_from("<I", data, place + 8)[0]
        frame = data[place + 16:place + 16 + length]
        place += 16 + length
        if frame[12:14] != b"\x08\x00" or frame[23] != 17:
            continue
        datagram = frame[34:]
        all_of_them += 1
        pseudo = sum_of(frame[26:34] + b"\0\x11" + datagram[4:6])
        partial += struct.unpack_from("!H", datagram, 6)[0] == pseudo
    return all_of_them, partial
