"""Programs with connections of their own to an echo, each of which looks at one thing.

calls.py NAME PORT
"""

import errno, select, socket, struct, sys, time

from common import fails, pattern, rings

# What Python has no names for.
SO_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000
ZEROCOPY, COPIED = 5, 1


def say(*words):
    print(*words, flush=True)


def told():
    """Waits for a line."""
    assert sys.stdin.readline()


def take(connection, count):
    data = connection.recv(count, socket.MSG_WAITALL)
    assert len(data) == count, len(data)
    return data


def connected():
    """Returns a connection that has a ring, unless there is no daemon."""
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    for number in range(400):
        connection.sendall(b"0123456789")
        assert take(connection, 10) == b"0123456789"
        if rings():
            break
        time.sleep(0.001)
    for number in range(20):
        time.sleep(0.001)
        connection.sendall(b"0123456789")
        take(connection, 10)
    return connection


def limit(connection, option, seconds):
    connection.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(seconds), int(seconds % 1 * 1e6)))


def stopped():
    """Its other end stands still: calls with a time end, waits cost next to nothing, and everything goes on afterwards."""
    connection = connected()
    say("begun")
    told()
    before = time.process_time()
    limit(connection, socket.SO_RCVTIMEO, 0.7)
    fails(errno.EAGAIN, connection.recv, 1)
    assert select.select([connection], [], [], 0.7)[0] == []
    poll, epoll = select.poll(), select.epoll()
    poll.register(connection, select.POLLIN)
    assert poll.poll(700) == []
    epoll.register(connection, select.EPOLLIN)
    assert epoll.poll(0.7) == []
    say("waited", int((time.process_time() - before) * 1000))
    limit(connection, socket.SO_SNDTIMEO, 0.7)
    sent = 0
    try:
        while True:
            sent += connection.send(pattern(sent, 50_000))
    except BlockingIOError:
        pass
    # There is no room until the other end takes something.
    poll.modify(connection, select.POLLOUT)
    before = time.process_time()
    assert poll.poll(700) == []
    fails(errno.EAGAIN, connection.send, b"x")
    say("filled", int((time.process_time() - before) * 1000))
    limit(connection, socket.SO_RCVTIMEO, 0)
    at = 0
    while at < sent:
        part = connection.recv(60_000)
        assert part and part == pattern(at, len(part)), at
        at += len(part)
    limit(connection, socket.SO_SNDTIMEO, 0)
    connection.sendall(b"goes on")
    assert take(connection, 7) == b"goes on"
    say("goes on")
    told()
    # Nothing that this end does at last waits for the other.
    connection.sendall(b"x" * 100)
    connection.close()
    say("closed")


def completion(connection):
    """Returns the origin and the code of what the kernel tells of a send."""
    poll = select.poll()
    poll.register(connection, 0)
    assert poll.poll(20_000), "nothing is told"
    [(_, _, data)] = connection.recvmsg(0, 200, socket.MSG_ERRQUEUE)[1]
    number, origin, kind, code = struct.unpack_from("IBBB", data)
    return number, origin, code


def without_copies():
    """Asks for sends without copies, of which the kernel tells that it has copied after all."""
    connection = connected()
    say("begun", rings())
    data = pattern(0, 30_000)
    # Without the option, the flag says nothing.
    assert connection.send(data, MSG_ZEROCOPY) == len(data)
    assert take(connection, len(data)) == data
    fails(errno.EAGAIN, connection.recvmsg, 0, 200, socket.MSG_ERRQUEUE)
    connection.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
    for number in range(3):
        data = pattern(number * 100, 30_000)
        assert connection.send(data, MSG_ZEROCOPY) == len(data)
        assert take(connection, len(data)) == data
        found = completion(connection)
        assert found == (0, ZEROCOPY, COPIED), found
    say("done")


globals()[sys.argv[1]]()
