"""A VLAN for kernels that are built without them: `tagger.py INTERFACE TAP VLAN` makes TAP, and joins it to INTERFACE until it is ended.

Frames from TAP leave at INTERFACE with the tag, and frames with the tag arrive at TAP without it."""

import fcntl
import os
import select
import socket
import struct
import sys

ETH_P_ALL, SOL_PACKET, PACKET_AUXDATA = 3, 263, 8
TUNSETIFF, IFF_TAP_NO_PI = 0x400454CA, 0x1002
TP_STATUS_VLAN_VALID = 0x10
LONGEST = 65536


def open_tap(name):
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH14x", name.encode(), IFF_TAP_NO_PI))
    return tap


def tag_of(ancillary):
    """Returns the tag that the kernel has taken from a frame, if there was one."""
    for level, kind, data in ancillary:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, *_, tag, _ = struct.unpack("IIIHHHH", data)
            return tag & 0xFFF if status & TP_STATUS_VLAN_VALID else None
    return None


def join(interface, name, vlan):
    tap = open_tap(name)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as raw:
        raw.bind((interface, 0))
        raw.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        print("joined", flush=True)
        while True:
            for ready in select.select([tap, raw], [], [])[0]:
                if ready is raw:
                    frame, ancillary, _, address = raw.recvmsg(LONGEST, 256)
                    if address[2] != socket.PACKET_OUTGOING and tag_of(ancillary) == vlan:
                        os.write(tap, frame)
                else:
                    frame = os.read(tap, LONGEST)
                    raw.send(frame[:12] + struct.pack("!HH", 0x8100, vlan) + frame[12:])


if __name__ == "__main__":
    join(sys.argv[1], sys.argv[2], int(sys.argv[3]))
