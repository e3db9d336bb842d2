"""Datagrams from the kernel at the other end to the echo on a card. Run there as a program:

    datagrams.py ask HOST COUNT LONGEST      prints how many of COUNT datagrams, of lengths up to LONGEST, came back unharmed
    datagrams.py flows HOST FLOWS ROUNDS     the same, from FLOWS sockets
    datagrams.py damage MAC                  prints how many of ten datagrams of each kind, right and damaged, were answered"""

import socket
import struct
import sys

from network import CARD, PEER
from wire import sum_of

PORT = 7000

# Seconds: an emulated machine beside other work may stand still.
PATIENCE = 10


def family(host):
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def exchange(asking, host, message):
    asking.sendto(message, (host, PORT))
    try:
        return asking.recv(65536) == message
    except OSError:
        return False


def ask(host, count, longest):
    with socket.socket(family(host), socket.SOCK_DGRAM) as asking:
        asking.settimeout(PATIENCE)
        lengths = [1, 2, 17, 18, 56, 57, 999, 1000, longest]
        lost = [number for number in range(count)
                if not exchange(asking, host, bytes(number + i & 255 for i in range(lengths[number % 9])))]
    print(f"{count - len(lost)} of {count}" + (f", all but the numbers {lost}" if lost else ""))


def flows(host, number, rounds):
    sockets = [socket.socket(family(host), socket.SOCK_DGRAM) for _ in range(number)]
    good = 0
    for turn in range(rounds):
        for asking in sockets:
            asking.settimeout(PATIENCE)
            good += exchange(asking, host, bytes([turn]) * 100)
    print(f"{good} of {number * rounds}")


def checksum(data):
    return ~sum_of(data) & 0xFFFF


def frame(kind, port, payload):
    """Returns an IP packet to the echo, from `port`."""
    addresses = socket.inet_aton(PEER[0]) + socket.inet_aton(CARD[0])
    udp = struct.pack("!HHHH", port, PORT, 8 + len(payload), 0) + payload
    covered = checksum(addresses + struct.pack("!BBH", 0, 17, len(udp)) + udp) or 0xFFFF
    covered = {"datagram": covered ^ 0x1234, "absent": 0}.get(kind, covered)
    udp = udp[:6] + struct.pack("!H", covered) + udp[8:]
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0) + addresses
    own = checksum(header) ^ (0x1111 if kind == "header" else 0)
    return header[:10] + struct.pack("!H", own) + header[12:] + udp


def damage(mac):
    with open("/sys/class/net/wire/address") as file:
        own = bytes.fromhex(file.read().strip().replace(":", ""))
    ethernet = bytes.fromhex(mac.replace(":", "")) + own + b"\x08\x00"
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind(("wire", 0))
        for port, kind in enumerate(("right", "absent", "datagram", "header"), 4001):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as hearing:
                hearing.bind((PEER[0], port))
                hearing.settimeout(PATIENCE if kind in ("right", "absent") else 0.3)
                answered = 0
                for number in range(10):
                    payload = bytes([number]) * (100 + number)
                    raw.send(ethernet + frame(kind, port, payload))
                    try:
                        answered += hearing.recv(4096) == payload
                    except OSError:
                        pass
                print(f"{kind} {answered}")


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    {"ask": ask, "flows": flows, "damage": damage}[what](*(int(word) if word.isdigit() else word for word in arguments))
