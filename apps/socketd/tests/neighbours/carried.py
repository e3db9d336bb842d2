"""Programs that know nothing of Bertha, whose TCP a stack carries."""

import errno
import hashlib
import os
import resource
import select
import signal
import socket
import sys
import threading

from common import fails

# The address of servers, that to which they bind, and that from which clients come.
HOST = os.environ.get("CARRIED_HOST", "127.0.0.1")
BIND = os.environ.get("CARRIED_BIND", HOST)
PEER = os.environ.get("CARRIED_PEER", HOST)


def serve():
    listener = socket.create_server((BIND, 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, address = listener.accept()
        threading.Thread(target=answer, args=(connection, address), daemon=True).start()


def answer(connection, address):
    assert connection.getpeername() == address and address[0] == PEER and address[1] > 0, address
    # Without a buffer, so that bytes stay unread.
    file = connection.makefile("rb", 0)
    wish = file.readline().strip().decode()
    if wish == "address":
        connection.sendall(("%s:%d" % address).encode())
    elif wish == "sum":
        total = hashlib.sha256()
        while part := file.read(10000):
            total.update(part)
        connection.sendall(total.digest() + bytes(1_000_000))
    elif wish in ("die", "abort"):
        connection.sendall(b"hello")
        assert file.readline() == b"go on\n"
        # Bytes that nobody has read make a reset of the end.
        select.select([connection], [], [])
        if wish == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        file.close()
        connection.close()
        return
    connection.shutdown(socket.SHUT_WR)
    file.read()
    connection.close()


def connect(port):
    return socket.create_connection((HOST, port))


def whole(connection):
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def addresses(port):
    with connect(port) as client:
        assert client.getpeername() == (HOST, port), client.getpeername()
        assert client.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL) == socket.IPPROTO_TCP
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert client.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        client.sendall(b"address\n")
        assert whole(client).decode() == "%s:%d" % client.getsockname()


def half(port):
    """The program ends its direction first, and gets a whole answer."""
    data = os.urandom(3_000_000)
    with connect(port) as client:
        client.sendall(b"sum\n" + data)
        client.shutdown(socket.SHUT_WR)
        fails(errno.EPIPE, client.send, b"more")
        found = whole(client)
        assert found == hashlib.sha256(data).digest() + bytes(1_000_000), len(found)
        assert client.recv(1) == b""


def waiting(port):
    """Epoll knows the socket before it is connected."""
    client = socket.socket()
    client.setblocking(False)
    poll = select.epoll()
    poll.register(client, select.EPOLLOUT)
    assert client.connect_ex((HOST, port)) == errno.EINPROGRESS
    fails(errno.EAGAIN, client.recv, 1)
    assert poll.poll(10) == [(client.fileno(), select.EPOLLOUT)]
    assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
    assert client.connect_ex((HOST, port)) == 0
    fails(errno.EISCONN, client.connect, (HOST, port))
    client.close()


def refused():
    """Nobody listens there, which the program hears as it does from TCP."""
    place = (HOST, 1)
    client = socket.socket()
    fails(errno.ECONNREFUSED, client.connect, place)
    client = socket.socket()
    client.setblocking(False)
    assert client.connect_ex(place) == errno.EINPROGRESS
    poll = select.poll()
    poll.register(client, select.POLLOUT)
    [(_, events)] = poll.poll(20000)
    assert events & select.POLLERR, events
    assert client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED
    fails(errno.ENOTCONN, client.getpeername)


def unbound():
    """A program listens without an address, and nobody listens in the kernel."""
    for family, host, file in [(socket.AF_INET, "127.0.0.1", "tcp"), (socket.AF_INET6, "::1", "tcp6")]:
        with socket.socket(family) as listener:
            listener.listen(5)
            port = listener.getsockname()[1]
            assert port > 0
            with open("/proc/net/" + file) as sockets:
                listens = [line for line in sockets if ":%04X " % port in line and " 0A " in line]
            assert not listens, listens
            with socket.create_connection((host, port)) as client:
                client.sendall(b"hello")
                with listener.accept()[0] as accepted:
                    assert accepted.recv(5, socket.MSG_WAITALL) == b"hello"


def full():
    """A program without room for another descriptor hears why, and loses no connection that waits for it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = listener.getsockname()
        clients = [socket.create_connection(place) for _ in range(5)]
        for number, client in enumerate(clients):
            client.sendall(b"%d" % number)
        spare = socket.socket()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        first = os.dup(0)
        os.close(first)
        resource.setrlimit(resource.RLIMIT_NOFILE, (first, hard))
        for _ in range(3):
            fails(errno.EMFILE, listener.accept)
        fails(errno.EMFILE, spare.connect, place)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        listener.settimeout(20)
        accepted = [listener.accept()[0] for _ in clients]
        assert {connection.recv(1) for connection in accepted} == {b"0", b"1", b"2", b"3", b"4"}


def cut(wish, port, ends):
    """The other end dies or aborts, which must not look like an end, also to one who has ended his own direction."""
    client = connect(port)
    client.sendall(wish + b"\n")
    assert client.recv(5, socket.MSG_WAITALL) == b"hello"
    # A child knows of the end, too.
    if ends and os.fork() == 0:
        client.sendall(b"go on\nunread")
        client.shutdown(socket.SHUT_WR)
        os._exit(0)
    if not ends:
        client.sendall(b"go on\nunread")
    fails(errno.ECONNRESET, client.recv, 1)


def main():
    work, *arguments = sys.argv[1:]
    if work == "serve":
        serve()
    if work == "take-none":
        listener = socket.create_server((BIND, 0), backlog=1)
        print(listener.getsockname()[1], flush=True)
        sys.stdin.read()
    port = int(arguments[0]) if arguments else 0
    if work in ("talk", "talk-plainly"):
        addresses(port)
        half(port)
        waiting(port)
        refused()
        if work == "talk":
            unbound()
            full()
        cut(b"abort", port, False)
    elif work == "unreachable":
        fails(errno.ENETUNREACH, socket.socket().connect, ("255.255.255.255", 1))
    elif work == "cut":
        cut(b"die", port, False)
    elif work == "cut-half":
        cut(b"die", port, True)
    elif work == "wait":
        client = connect(port)
        client.sendall(b"die\n")
        assert client.recv(5, socket.MSG_WAITALL) == b"hello"
        print("waits", flush=True)
        fails(errno.ECONNRESET, client.recv, 1)
    print("done", flush=True)


main()
