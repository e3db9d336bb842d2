"""Programs that know nothing of Bertha, whose datagrams a device carries. Each does the same with the kernel's."""

import array
import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import termios

from common import fails

# The address of servers, that to which they bind, and that from which clients come.
HOST = os.environ.get("CARRIED_HOST", "127.0.0.1")
BIND = os.environ.get("CARRIED_BIND", HOST)
PEER = os.environ.get("CARRIED_PEER", HOST)
# The longest datagram of the path.
LONGEST = int(os.environ.get("CARRIED_LONGEST", "65507"))
# Set where a device tells that a port is closed, and that a datagram is too long for a frame.
REFUSES = os.environ.get("CARRIED_REFUSES")

LIBC = ctypes.CDLL(None, use_errno=True)


def serve():
    """Answers each datagram by it, but for the words that ask for something else."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((BIND, 0))
    assert server.getsockname()[1] > 0
    print(server.getsockname()[1], flush=True)
    while True:
        data, address = server.recvfrom(70000)
        assert address[0] == PEER and address[1] > 0, address
        if data == b"address":
            data = ("%s:%d" % address).encode()
        if data == b"another":
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                other.sendto(b"from another", address)
        if data == b"three":
            for part in (b"one", b"", b"three"):
                server.sendto(part, address)
            continue
        server.sendto(data, address)


def udp():
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.settimeout(10)
    return made


def waiting(client):
    found = array.array("i", [0])
    fcntl.ioctl(client, termios.FIONREAD, found)
    return found[0]


def unconnected(server):
    client = udp()
    fails(errno.EDESTADDRREQ, client.send, b"nowhere")
    for size in (0, 1, 1000, LONGEST):
        sent = bytes(at % 251 for at in range(size))
        assert client.sendto(sent, server) == size
        assert client.recvfrom(70000) == (sent, server)
    fails(errno.EMSGSIZE, client.sendto, bytes(65508), server)
    assert client.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_DGRAM
    assert client.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL) == socket.IPPROTO_UDP
    assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    fails(errno.ENOTCONN, client.getpeername)
    fails(errno.EOPNOTSUPP, client.listen)
    fails(errno.ENOTCONN, udp().shutdown, socket.SHUT_RDWR)
    fails(errno.EINVAL, client.bind, ("0.0.0.0", 7999))
    port = client.getsockname()[1]
    client.sendto(b"address", server)
    said = client.recv(100).decode()
    assert said.endswith(":%d" % port) and port > 0, (said, port)


def parts_and_flags(server):
    client = udp()
    client.connect(server)
    assert client.getpeername() == server
    assert client.sendmsg([b"a", b"", b"bcd"]) == 4
    into = [bytearray(1), bytearray(2), bytearray(9)]
    assert client.recvmsg_into(into) == (4, [], 0, server)
    assert [bytes(part) for part in into] == [b"a", b"bc", b"d" + bytes(8)]
    many = [b"x"] * 300
    assert client.sendmsg(many) == 300
    assert client.recv(1000, socket.MSG_PEEK) == b"x" * 300
    assert client.recv(3, socket.MSG_PEEK | socket.MSG_TRUNC)[:3] == b"xxx"
    assert waiting(client) == 300
    data, _, flags, sender = client.recvmsg(10)
    assert (data, flags & socket.MSG_TRUNC, sender) == (b"x" * 10, socket.MSG_TRUNC, server)
    assert waiting(client) == 0
    client.settimeout(None)
    fails(errno.EAGAIN, client.recv, 1, socket.MSG_DONTWAIT)
    os.write(client.fileno(), b"written")
    select.select([client], [], [], 10)
    assert os.read(client.fileno(), 100) == b"written"
    os.writev(client.fileno(), [b"in ", b"parts"])
    select.select([client], [], [], 10)
    assert os.readv(client.fileno(), [into[0], into[2]]) == 8
    assert client.send(b"three") == 5
    assert [client.recv(10) for _ in range(3)] == [b"one", b"", b"three"]
    client.settimeout(0.05)
    try:
        raise AssertionError(client.recv(10))
    except TimeoutError:
        pass
    client.setblocking(False)
    fails(errno.EAGAIN, client.recv, 1)


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]


class Header(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_void_p), ("namelen", ctypes.c_uint), ("iov", ctypes.POINTER(Vector)),
        ("iovlen", ctypes.c_size_t), ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    ]


class Message(ctypes.Structure):
    _fields_ = [("header", Header), ("len", ctypes.c_uint)]


def many_at_once(server):
    client = udp()
    address = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(server[1]), socket.inet_aton(server[0]))
    buffers = [ctypes.create_string_buffer(b"message %d" % at, 16) for at in range(4)]
    names = [ctypes.create_string_buffer(address, 16) for _ in buffers]
    vectors = [Vector(ctypes.addressof(buffer), 9) for buffer in buffers]
    messages = (Message * 4)()
    for at, vector in enumerate(vectors):
        messages[at].header = Header(ctypes.addressof(names[at]), 16, ctypes.pointer(vector), 1, None, 0, 0)
    # A socket that is taken by its first call must be one of datagrams here already.
    assert LIBC.sendmmsg(client.fileno(), messages, 4, 0) == 4
    assert [message.len for message in messages] == [9] * 4
    for buffer, name in zip(buffers, names):
        buffer.raw, name.raw = bytes(16), bytes(16)
    got = 0
    while got < 4:
        select.select([client], [], [], 10)
        rest = ctypes.cast(ctypes.byref(messages, got * ctypes.sizeof(Message)), ctypes.POINTER(Message))
        got += LIBC.recvmmsg(client.fileno(), rest, 4 - got, socket.MSG_DONTWAIT, None)
    assert sorted(buffer.raw[:9] for buffer in buffers) == [b"message %d" % at for at in range(4)]
    assert all(name.raw[:8] == address[:8] for name in names)


def peers(server):
    client = udp()
    client.connect(server)
    # What comes from others is not for a socket with a peer.
    client.send(b"another")
    assert client.recvfrom(100) == (b"another", server)
    client.settimeout(0.1)
    try:
        raise AssertionError(client.recv(100))
    except TimeoutError:
        pass
    nobody = ctypes.create_string_buffer(16)
    assert LIBC.connect(client.fileno(), nobody, 16) == 0
    fails(errno.ENOTCONN, client.getpeername)
    fails(errno.EDESTADDRREQ, client.send, b"nowhere")
    client.settimeout(10)
    client.sendto(b"another", server)
    got = {client.recv(100), client.recv(100)}
    assert got == {b"another", b"from another"}, got


def readiness(server):
    client = udp()
    client.setblocking(False)
    epoll = select.epoll()
    # The registration goes on when the device takes the socket.
    epoll.register(client, select.EPOLLIN)
    client.connect(server)
    assert epoll.poll(0) == []
    client.send(b"ready")
    assert epoll.poll(10) == [(client.fileno(), select.EPOLLIN)]
    assert select.select([client], [client], [], 10)[:2] == ([client], [client])
    assert client.recv(100) == b"ready"
    assert epoll.poll(0) == []


def shared(server):
    client = udp()
    client.connect(server)
    copy = client.dup()
    copy.settimeout(10)
    copy.send(b"by a copy")
    assert client.recv(100) == b"by a copy"
    child = os.fork()
    if child == 0:
        client.send(b"by a child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert copy.recv(100) == b"by a child"
    # Copies share whether they wait.
    client.settimeout(None)
    code = "import socket, sys; s = socket.socket(fileno=%d); print(s.type == socket.SOCK_DGRAM, s.proto, " \
        "s.sendto(b'by another', %r), s.recv(100))" % (client.fileno(), server)
    said = subprocess.check_output(["/usr/bin/python3", "-c", code], pass_fds=[client.fileno()])
    assert said == b"True 17 10 b'by another'\n", said


def any_port(server):
    # Another thread or program hears of the port before anything is sent.
    client = udp()
    client.bind((os.environ.get("CARRIED_CLIENT", "0.0.0.0"), 0))
    port = client.getsockname()[1]
    assert port > 0
    client.sendto(b"address", server)
    assert client.recv(100).decode().endswith(":%d" % port)
    assert client.getsockname()[1] == port
    client.sendto(b"three", server)
    select.select([client], [], [], 10)
    assert os.read(client.fileno(), 0) == b""
    assert [client.recv(10) for _ in range(3)] == [b"one", b"", b"three"]


def wrong_pointers(server):
    client = udp()
    client.connect(server)
    fd, address, size = client.fileno(), ctypes.create_string_buffer(16), ctypes.byref(ctypes.c_uint(16))
    near = ctypes.c_void_p(8)
    for number, call, *arguments in (
        (errno.EFAULT, LIBC.sendto, fd, b"x", 1, 0, near, 16),
        (errno.EFAULT, LIBC.sendmsg, fd, near, 0),
        (errno.EFAULT, LIBC.recvmsg, fd, near, socket.MSG_DONTWAIT),
        (errno.EFAULT, LIBC.connect, fd, None, 16),
        (errno.EFAULT, LIBC.connect, fd, near, 16),
        (errno.EINVAL, LIBC.connect, fd, address, 200),
        (errno.EFAULT, LIBC.getpeername, fd, near, size),
        (errno.EFAULT, LIBC.getsockname, fd, None, size),
        (errno.EFAULT, LIBC.getsockname, fd, address, None),
    ):
        assert (call(*arguments), ctypes.get_errno()) == (-1, number), (call, arguments, ctypes.get_errno())
    assert client.getpeername() == server


def same_address(server):
    first, second = udp(), udp()
    for each in (first, second):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    at = ("0.0.0.0", 7850 + os.getpid() % 100)
    first.bind(at)
    first.connect(server)
    # A server that has given its socket to a client listens at the same address again.
    second.bind(at)
    first.send(b"for the first")
    assert first.recvfrom(100) == (b"for the first", server)
    assert waiting(second) == 0
    fails(errno.EADDRINUSE, udp().bind, at)
    first.close()
    second.sendto(b"for the second", server)
    assert second.recv(100) == b"for the second"
    second.close()
    udp().bind(at)


def refused(server):
    if not REFUSES:
        return
    client = udp()
    client.connect((server[0], 1))
    client.send(b"nobody")
    fails(errno.ECONNREFUSED, client.recv, 100)
    client.connect(server)
    client.send(b"somebody")
    assert client.recv(100) == b"somebody"
    client = udp()
    client.sendto(bytes(LONGEST + 1), server)
    fails(errno.EMSGSIZE, client.recv, 100)


def talk(port):
    server = (HOST, int(port))
    for work in (unconnected, parts_and_flags, many_at_once, peers, readiness, shared, any_port, wrong_pointers, same_address, refused):
        work(server)
    print("done", flush=True)


def orphan(port):
    """Goes on until the daemon has gone."""
    client = udp()
    client.connect((HOST, int(port)))
    client.send(b"hello")
    assert client.recv(100) == b"hello"
    print("begun", flush=True)
    sys.stdin.readline()
    fails(errno.ECONNRESET, client.recv, 100)
    fails(errno.ECONNRESET, client.send, b"more")
    print("done", flush=True)


def main():
    work, *arguments = sys.argv[1:]
    globals()[work](*arguments)


main()
