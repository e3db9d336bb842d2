"""The addresses of `DatapathInfo`. The names are those of pyportus, which has them the wrong way round."""

import socket
import struct


def ip_to_str(ip):
    """Returns the number of an address in text: `ip_to_str("10.0.0.1")`."""
    return struct.unpack("!I", socket.inet_aton(ip))[0]


def str_to_ip(s):
    """Returns the text of an address that is a number: `str_to_ip(datapath_info.src_ip)`."""
    return socket.inet_ntoa(struct.pack("!I", s))
