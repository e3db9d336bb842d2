"""Programs that know nothing of Bertha. Each prints a line once it is ready, and another when it is done."""

import os, select, socket, struct, sys, threading, time

from common import pattern, rings


def say(*words):
    print(*words, flush=True)


def take(connection, count):
    parts = b""
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            raise SystemExit("the stream ended early")
        parts += part
    return parts


def listen():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    say(listener.getsockname()[1])
    return listener


def accepted():
    return listen().accept()[0]


def connected():
    return socket.create_connection(("127.0.0.1", int(sys.argv[2])))


def begun(number):
    """Waits after a few messages, until the daemon has paired the connection."""
    if number == 10:
        say("begun")
        sys.stdin.readline()


def talked():
    """Returns a connection to an echo that has carried enough to have a ring."""
    connection = connected()
    for number in range(50):
        begun(number)
        connection.sendall(b"0123456789")
        take(connection, 10)
    return connection


def early():
    """Copies a socket, puts it into a set, or forks, before it connects."""
    for kind in ("copy", "set", "child"):
        with socket.socket() as connection:
            other, waiter, child = connection.dup() if kind == "copy" else connection, select.epoll(), 0
            if kind == "set":
                waiter.register(connection, select.EPOLLIN)
            if kind == "child":
                (ours, its), child = socket.socketpair(), os.fork()
                if child == 0:
                    its.recv(1)
                    time.sleep(0.2)
                    its.sendall(take(connection, 10))
                    os._exit(0)
            connection.connect(("127.0.0.1", int(sys.argv[2])))
            for number in range(60):
                (connection, other)[number % 2].sendall(b"%010d" % number)
                if kind == "set":
                    assert waiter.poll(10), number
                if child and number == 59:
                    ours.sendall(b"!")
                    assert take(ours, 10) == b"%010d" % number
                else:
                    assert take((connection, other)[number // 2 % 2], 10) == b"%010d" % number
            if kind == "copy":
                other.close()
    say("done")


def unfit():
    """Does something to a connection, first of all, and then talks long enough to have a ring."""
    what, connection = sys.argv[3], socket.socket()
    fd = connection.fileno()
    if what == "passed_on_unconnected":
        here, there = socket.socketpair()
        socket.send_fds(here, [b"x"], [fd])
    if what == "inherited_unconnected":
        os.set_inheritable(fd, True)
        os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)
    connection.connect(("127.0.0.1", int(sys.argv[2])))
    use(what, connection, fd)
    for number in range(60):
        connection.sendall(b"%010d" % number)
        assert take(connection, 10) == b"%010d" % number
        # The daemon and the other end have time.
        time.sleep(0.001)
    say("done")
    sys.stdin.readline()
    connection.close()
    say("ended")


def unfit_late():
    """Does something to a connection that has a ring, and talks on."""
    connection = talked()
    use(sys.argv[3], connection, connection.fileno())
    for number in range(20):
        connection.sendall(b"%010d" % number)
        assert take(connection, 10) == b"%010d" % number
    say("done")
    sys.stdin.readline()
    connection.close()
    say("ended")


def use(what, connection, fd):
    import array, fcntl

    urgent = socket.MSG_OOB
    if what.startswith("recv"):
        receive = {
            "recv_urgent": lambda: connection.recv(1, urgent),
            "recvfrom_urgent": lambda: connection.recvfrom(1, urgent),
            "recvmsg_urgent": lambda: connection.recvmsg(1, 0, urgent),
        }
        try:
            receive[what]()
            assert False
        except OSError:
            # There are none.
            return
    elif what == "send_urgent":
        connection.send(b"!", urgent)
    elif what == "sendto_urgent":
        connection.sendto(b"!", urgent, ("127.0.0.1", 0))
    elif what == "sendmsg_urgent":
        connection.sendmsg([b"!"], [], urgent)
    elif what == "zerocopy":
        connection.setsockopt(socket.SOL_SOCKET, 60, 1)
    elif what == "low_mark":
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 2)
    elif what == "signals":
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_ASYNC)
    elif what == "signals_by_ioctl":
        fcntl.ioctl(fd, 0x5452, array.array("i", [1]))
    elif what == "owner":
        fcntl.fcntl(fd, fcntl.F_SETOWN, os.getpid())
    elif what == "owner_by_ioctl":
        fcntl.ioctl(fd, 0x8901, array.array("i", [os.getpid()]))
    elif what == "splice_in":
        reader, writer = os.pipe()
        os.write(writer, b"0123456789")
        splice(reader, fd)
        assert take(connection, 10) == b"0123456789"
    elif what == "splice_out":
        reader, writer = os.pipe()
        connection.sendall(b"0123456789")
        splice(fd, writer)
        assert os.read(reader, 10) == b"0123456789"
    elif what == "passed_on":
        here, there = socket.socketpair()
        socket.send_fds(here, [b"x"], [fd])


def splice(reader, writer):
    import ctypes

    done = ctypes.CDLL(None).splice(reader, None, writer, None, ctypes.c_size_t(10), 0)
    assert done == 10, done


def echo_all():
    """Serves one connection after another."""
    listener = listen()
    while True:
        with listener.accept()[0] as connection:
            while data := connection.recv(1 << 16):
                connection.sendall(data)


def echo():
    connection = accepted()
    while data := connection.recv(1 << 16):
        connection.sendall(data)
    say("ended")


def epoll_echo():
    """Serves many connections by epoll, as servers do."""
    listener = listen()
    listener.setblocking(False)
    waiter = select.epoll()
    waiter.register(listener, select.EPOLLIN)
    edge = select.EPOLLET if "edge" in sys.argv else 0
    connections = {}
    while True:
        for fd, events in waiter.poll():
            if fd == listener.fileno():
                connection = listener.accept()[0]
                connection.setblocking(False)
                connections[connection.fileno()] = connection
                waiter.register(connection, select.EPOLLIN | edge)
                continue
            connection = connections[fd]
            try:
                while data := connection.recv(4096):
                    connection.sendall(data)
                    if not edge:
                        break
            except BlockingIOError:
                continue
            if not data:
                waiter.unregister(fd)
                del connections[fd]
                connection.close()
                if not connections:
                    say("ended")
                    return


def rounds():
    """Sends bytes of a known pattern there and back, in messages of many sizes."""
    connection, at = connected(), 0
    for number in range(int(sys.argv[3])):
        begun(number)
        count = 1 + number * 37 % 600
        connection.sendall(pattern(at, count))
        if take(connection, count) != pattern(at, count):
            raise SystemExit(f"wrong bytes at {at}")
        at += count
    say("done")
    sys.stdin.readline()
    connection.shutdown(socket.SHUT_WR)
    assert connection.recv(1) == b""
    say("ended")


def crowd():
    """Keeps many connections busy at once by poll or select."""
    connections = [connected() for _ in range(20)]
    for number in range(int(sys.argv[3])):
        begun(number)
        for connection in connections:
            connection.sendall(pattern(number, 50))
        left = {connection.fileno(): (connection, b"") for connection in connections}
        poll = select.poll()
        for connection in connections:
            poll.register(connection, select.POLLIN)
        while left:
            if number % 2:
                ready = [fd for fd, _ in poll.poll(20_000)]
            else:
                ready = select.select(list(left), [], [], 20)[0]
            if not ready:
                raise SystemExit("nothing came")
            for fd in ready:
                if fd in left:
                    connection, got = left[fd]
                    got += connection.recv(50 - len(got))
                    left[fd] = connection, got
                    if len(got) == 50:
                        assert got == pattern(number, 50)
                        del left[fd]
    say("done")
    sys.stdin.readline()
    for connection in connections:
        connection.close()
    say("ended")


def source():
    """Sends bytes that nobody has read yet, and waits to be killed."""
    connection = accepted()
    for _ in range(50):
        connection.sendall(take(connection, 10))
    connection.sendall(pattern(0, 5000))
    say("sent")
    time.sleep(600)


def sink():
    """Reads what a killed peer has sent, then the end."""
    connection = talked()
    say("done")
    sys.stdin.readline()
    assert take(connection, 5000) == pattern(0, 5000)
    try:
        end = connection.recv(1)
    except ConnectionResetError:
        end = b""
    assert end == b"", end
    say("ended")


def scribbled():
    """Echoes to one who scribbles over the ring, and sends bytes to itself meanwhile."""
    listener = socket.create_server(("127.0.0.1", 0))
    own = socket.create_connection(listener.getsockname())
    its, is_over, is_well = listener.accept()[0], threading.Event(), []

    def talk(number):
        own.sendall(pattern(number, 100))
        assert take(its, 100) == pattern(number, 100)

    def go_on_talking():
        number = 1000
        while not is_over.wait(0.005):
            talk(number)
            number += 1
        is_well.append(rings() >= 2)

    for number in range(1000):
        talk(number)
        if rings() == 2:
            break
        time.sleep(0.001)
    thread = threading.Thread(target=go_on_talking)
    thread.start()
    connection = accepted()
    try:
        while data := connection.recv(1 << 16):
            connection.sendall(data)
        say("ended")
    except (ConnectionResetError, BrokenPipeError):
        say("reset")
    connection.close()
    is_over.set()
    thread.join()
    say("the other connection is " + ("well" if is_well == [True] else "not well"))


def echo_until_reset():
    connection = accepted()
    try:
        while data := connection.recv(1 << 16):
            connection.sendall(data)
        say("an end")
    except ConnectionResetError:
        say("reset")


def aborter():
    """Closes its connection so that the other end must not take it for whole."""
    connection = talked()
    say("done")
    sys.stdin.readline()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    say("ended")
    sys.stdin.readline()


def leaver():
    """Ends without closing its connection."""
    connection = talked()
    say("done")
    sys.stdin.readline()
    os._exit(0)


def processes():
    """Uses a connection in a child, by a copy of its descriptor, by a thread, and by another program."""
    connection = accepted()

    def answer(some):
        data = take(some, 10)
        some.sendall(data)

    for _ in range(50):
        answer(connection)
    child = os.fork()
    if child == 0:
        for _ in range(50):
            answer(connection)
        os._exit(0)
    os.waitpid(child, 0)
    copy = connection.dup()
    for _ in range(50):
        answer(copy)
    copy.close()
    thread = threading.Thread(target=lambda: [answer(connection) for _ in range(50)])
    thread.start()
    thread.join()
    fd = connection.fileno()
    os.set_inheritable(fd, True)
    # A program that reads and writes by other calls, which gets what is left of the stream.
    os.dup2(fd, 0)
    os.dup2(fd, 1)
    os.execv("/bin/cat", ["cat"])


def talk():
    connection = connected()
    for number in range(250):
        begun(number)
        connection.sendall(b"%010d" % number)
        answer = take(connection, 10)
        assert answer == b"%010d" % number, answer
        if number == 100:
            say("done")
            sys.stdin.readline()
    # The last of them goes to another program.
    connection.sendall(b"over")
    connection.shutdown(socket.SHUT_WR)
    assert take(connection, 4) == b"over"
    say("ended")


def idle():
    """Waits for a byte that comes late, and says what the wait has cost."""
    connection = talked()
    waiter = select.epoll()
    waiter.register(connection, select.EPOLLIN)
    before = time.process_time()
    assert waiter.poll(2) == []
    spent = time.process_time() - before
    say("done", int(spent * 1000))
    sys.stdin.readline()
    say("ended")


def busy():
    """Sends bytes, and does nothing with its connection for longer than anybody waits. Then it reads them back, and more."""
    connection = talked()
    connection.sendall(pattern(0, 5000))
    say("sent")
    time.sleep(4)
    assert take(connection, 5000) == pattern(0, 5000)
    connection.sendall(pattern(5000, 70_000))
    assert take(connection, 70_000) == pattern(5000, 70_000)
    say("done")
    sys.stdin.readline()
    connection.shutdown(socket.SHUT_WR)
    assert connection.recv(1) == b""
    say("ended")


def received():
    """Returns a connection whose other end has sent bytes that lie in the ring."""
    connection = accepted()
    for _ in range(50):
        connection.sendall(take(connection, 10))
    sys.stdin.readline()
    return connection


def other(what, fd):
    return [sys.executable, __file__, what, str(fd)]


def environment():
    return {} if "bare" in sys.argv else os.environ


def gives():
    """Reads a part, and then another program takes its place."""
    connection = received()
    connection.sendall(take(connection, 100))
    say("answered")
    os.set_inheritable(connection.fileno(), True)
    arguments = other("given", connection.fileno())
    os.execve(arguments[0], arguments, environment())


def given():
    answer_all(socket.socket(fileno=int(sys.argv[2])))


def yields():
    """Gives its connection to another program, or another descriptor, and closes its own."""
    connection = received()
    connection.sendall(take(connection, 100))
    threading.Thread(target=lambda: time.sleep(600), daemon=True).start()
    say("answered")
    fd = connection.fileno()
    if "actions" in sys.argv:
        arguments = other("given", fd + 10)
        copies = [(os.POSIX_SPAWN_DUP2, fd, fd + 10)]
        child = os.posix_spawn(arguments[0], arguments, os.environ, file_actions=copies)
        connection.close()
        assert os.waitpid(child, 0)[1] == 0
    else:
        here, there = socket.socketpair()
        socket.send_fds(here, [b"x"], [fd])
        connection.close()
        answer_all(socket.socket(fileno=socket.recv_fds(there, 1, 1)[1][0]))


def answer_all(connection):
    say("new")
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    got = b""
    try:
        while data := connection.recv(1 << 16):
            got += data
            connection.sendall(data)
    except ConnectionResetError:
        # An end that was killed cannot be answered.
        pass
    assert got == pattern(100, len(got))
    say({74_900: "ended", 4_900: "ended early", 0: "reset"}.get(len(got), len(got)))


def part():
    """Reads a part, and answers it."""
    try:
        connection = socket.socket(fileno=int(sys.argv[2]))
    except OSError:
        say("none")
        return
    data = take(connection, 1000)
    assert data == pattern(100, 1000)
    connection.sendall(data)
    say("part")
    connection.detach()


def shares():
    """Reads a part, starts a program that reads the next one, and reads the rest."""
    connection, how = received(), sys.argv[2]
    connection.sendall(take(connection, 100))
    waiter = select.epoll()
    waiter.register(connection, select.EPOLLIN)
    fd = connection.fileno()
    os.set_inheritable(fd, True)
    arguments = other("part", fd)
    if how == "spawn":
        child = os.posix_spawn(arguments[0], arguments, environment())
    elif how == "actions":
        os.set_inheritable(fd, False)
        other_number = fd + 10
        copies = [(os.POSIX_SPAWN_DUP2, fd, other_number)]
        arguments = other("part", other_number)
        child = os.posix_spawn(arguments[0], arguments, environment(), file_actions=copies)
    elif how == "subprocess":
        import subprocess

        assert subprocess.call(other("part", 0), stdin=connection) == 0
        child = None
    else:
        child = os.fork()
        if child == 0:
            os.execve(arguments[0], arguments, environment())
    if child:
        assert os.waitpid(child, 0)[1] == 0
    rest(connection, waiter, 100 if how == "bare" else 1100)


def rest(connection, waiter, at):
    while at < 75_000:
        assert waiter.poll(20)
        data = connection.recv(1 << 16)
        assert data and data == pattern(at, len(data)), at
        connection.sendall(data)
        if at < 5000 <= at + len(data):
            say("rest")
        at += len(data)
    assert waiter.poll(20)
    assert connection.recv(1) == b""
    say("ended")


def passes():
    """Passes its connection on to itself, and reads by both descriptors."""
    connection = received()
    connection.sendall(take(connection, 100))
    waiter = select.epoll()
    waiter.register(connection, select.EPOLLIN)
    if "threads" in sys.argv:
        for wait in (lambda: time.sleep(600), lambda: watch(connection)):
            threading.Thread(target=wait, daemon=True).start()
    here, there = socket.socketpair()
    socket.send_fds(here, [b"x"], [connection.fileno()])
    passed = socket.socket(fileno=socket.recv_fds(there, 1, 1)[1][0])
    data = take(passed, 1000)
    assert data == pattern(100, 1000)
    passed.sendall(data)
    say("part")
    passed.close()
    rest(connection, waiter, 1100)


def watch(connection):
    """Waits for bytes again and again, and takes none."""
    while True:
        select.select([connection], [], [], 0.01)
        try:
            connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass


globals()[sys.argv[1]]()
