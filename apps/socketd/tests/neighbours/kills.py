"""Connections of which one end is killed at any moment, and what the other end sees then: the same on kernel sockets as on others.

kills.py COUNT SEED
"""

import errno, os, random, select, signal, socket, sys, threading, time

from common import Shared, fails, pattern, rings

# What the victim tells of itself: the bytes that its calls have sent, and that it is ready.
SENT, READY = range(2)

# The longest call of a victim, and of its other end.
LONGEST = 3000


def main():
    count, dice = int(sys.argv[1]), random.Random(int(sys.argv[2]))
    listener = socket.create_server(("127.0.0.1", 0))
    had_rings = 0
    for number in range(count):
        end = (writer, reader, both, silent, waiting)[number % 5]
        try:
            had_rings += one(listener, end, dice)
        except BaseException:
            print("number", number, "is a", end.__name__, "with the seed", sys.argv[2], file=sys.stderr)
            raise
    print("done", count, had_rings, flush=True)


def one(listener, end, dice):
    """Returns true if the connection had a ring."""
    told, before = Shared(2), rings()
    child = os.fork()
    if child == 0:
        try:
            be_victim(listener.getsockname(), end, told)
        finally:
            os._exit(1)
    connection = listener.accept()[0]
    has_ring = warm(connection, before)
    killer = threading.Thread(target=kill, args=(child, told, dice.random() * 0.004))
    killer.start()
    end(connection, told, dice, killer, has_ring)
    killer.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    connection.close()
    return has_ring


def warm(connection, before):
    """Passes messages until there is a ring, or none is to be had."""
    has_ring = False
    for turn in range(200 if "LD_PRELOAD" in os.environ else 5):
        connection.sendall(b"again")
        assert connection.recv(5, socket.MSG_WAITALL) == b"again"
        if rings() > before:
            # Messages of both directions go through it.
            has_ring = True
            break
        time.sleep(0.0005)
    for turn in range(10):
        time.sleep(0.0005)
        connection.sendall(b"again")
        assert connection.recv(5, socket.MSG_WAITALL) == b"again"
    connection.sendall(b"begin")
    return has_ring


def kill(child, told, seconds):
    while told[READY] == 0:
        time.sleep(0.0001)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)


def be_victim(address, end, told):
    connection = socket.create_connection(address)
    while (word := connection.recv(5, socket.MSG_WAITALL)) == b"again":
        connection.sendall(word)
    told[READY] = 1
    at = 0
    while end in (writer, both):
        at += connection.send(pattern(at, 1 + at * 31 % LONGEST))
        told[SENT] = at
    while end is reader:
        part = connection.recv(1 + at * 17 % LONGEST)
        assert part == pattern(at, len(part)), at
        at += len(part)
    if end is waiting:
        connection.recv(1)
    signal.pause()


def await_bytes(connection, way):
    """Waits in some way until a read does not."""
    if way == 1:
        select.select([connection], [], [])
    if way == 2:
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        poll.poll()
    if way == 3:
        with select.epoll() as epoll:
            epoll.register(connection, select.EPOLLIN)
            epoll.poll()


def read_to_the_end(connection, dice):
    """Returns how many bytes came, and the error that came behind them, or none."""
    at, way = 0, dice.randrange(4)
    while True:
        await_bytes(connection, way)
        try:
            part = connection.recv(1 + dice.randrange(2 * LONGEST))
        except OSError as error:
            return at, error.errno
        if not part:
            return at, None
        assert part == pattern(at, len(part)), at
        at += len(part)


def is_refused(connection):
    """The kernel refuses bytes once it has heard that nobody is there."""
    for _ in range(10_000):
        try:
            connection.send(b"x")
        except OSError as error:
            assert error.errno in (errno.EPIPE, errno.ECONNRESET), error
            return
        time.sleep(0.002)
    raise AssertionError("bytes to nobody are taken")


def is_shown(error, by_tcp, has_ring):
    """The death of an end that does not wait may be a reset or an end if there is a ring: a bell that it had not taken makes a reset, and
    bytes that it had not taken make none."""
    return error == by_tcp or has_ring and error in (None, errno.ECONNRESET)


def writer(connection, told, dice, killer, has_ring):
    """Everything that the calls of a killed end have sent comes, and at most one call more. Then comes the end."""
    got, error = read_to_the_end(connection, dice)
    killer.join()
    assert told[SENT] <= got <= told[SENT] + LONGEST, (told[SENT], got)
    assert is_shown(error, None, has_ring), error
    is_refused(connection)


def both(connection, told, dice, killer, has_ring):
    """An end that is killed with bytes unread has its connection reset, behind bytes that came."""
    connection.sendall(pattern(0, 1 + dice.randrange(5000)))
    got, error = read_to_the_end(connection, dice)
    killer.join()
    assert got <= told[SENT] + LONGEST, (told[SENT], got)
    assert is_shown(error, errno.ECONNRESET, has_ring), error
    assert connection.recv(1) == b""
    is_refused(connection)


def reader(connection, told, dice, killer, has_ring):
    """A writer hears that nobody reads: of a reset, or of nothing if all was read when the other end was killed."""
    at = 0
    try:
        while True:
            at += connection.send(pattern(at, 1 + dice.randrange(LONGEST)))
    except OSError as failure:
        error = failure.errno
    killer.join()
    assert error in (errno.ECONNRESET, errno.EPIPE), error
    fails(errno.EPIPE, connection.send, b"x")
    assert connection.recv(1) == b""


def silent(connection, told, dice, killer, has_ring):
    """One who waits for an end that does something else hears of its death."""
    got, error = read_to_the_end(connection, dice)
    assert got == 0 and is_shown(error, None, has_ring), (got, error)
    is_refused(connection)


def waiting(connection, told, dice, killer, has_ring):
    """An end that waits has taken all bells, so its death is an end."""
    assert read_to_the_end(connection, dice) == (0, None)
    is_refused(connection)


main()
