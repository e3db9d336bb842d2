"""Many connections, one after another or at once.

crowds.py short COUNT         makes, uses and closes connections, one after another
crowds.py serve COUNT         has one busy connection beside so many idle ones
crowds.py idle PORT COUNT     makes them
"""

import gc, select, socket, sys, time

from common import descriptors, rings, resident

# One of so many short connections says enough to have a ring.
LONG = 100

# The messages whose cost is taken, and how often.
MESSAGES, TIMES = 500, 9

# The messages of an idle connection before it is idle.
ROUNDS = 4


def say(*words):
    print(*words, flush=True)


def short():
    """Tells of its descriptors, its memory and its rings when a tenth of the connections is over, and in the end."""
    count, had_rings = int(sys.argv[2]), 0
    listener = socket.create_server(("127.0.0.1", 0), backlog=16)
    for number in range(count + count // 10):
        with socket.create_connection(listener.getsockname()) as client, listener.accept()[0] as server:
            echo(client, server)
            if number % LONG == 0:
                had_rings += talk(client, server)
            # Either end closes first.
            if number % 2:
                client.close()
        if number + 1 == count // 10:
            tell(0)
            had_rings = 0
    tell(had_rings)


def tell(had_rings):
    gc.collect()
    say("has", descriptors(), resident(), rings(), had_rings)
    sys.stdin.readline()


def echo(client, server):
    client.sendall(b"question")
    assert server.recv(8, socket.MSG_WAITALL) == b"question"
    server.sendall(b"answer")
    assert client.recv(6, socket.MSG_WAITALL) == b"answer"


def talk(client, server):
    """Passes messages until there is a ring. Returns false if none came."""
    for turn in range(500):
        echo(client, server)
        if turn > 32 and rings():
            echo(client, server)
            return True
        if turn > 40:
            time.sleep(0.0005)
    return False


def serve():
    """Tells what a ready socket costs in processor time, alone and beside the idle ones, in nanoseconds."""
    count = int(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    waiter = select.epoll()
    # Both ends are here, so that whoever waits finds the bytes, and never sleeps.
    client = socket.create_connection(listener.getsockname())
    server = accept(listener, waiter)
    for _ in range(100):
        echo(client, server)
        time.sleep(0.0005)
    alone = cost(client, server, waiter)
    say(listener.getsockname()[1])
    idle = [accept(listener, waiter) for _ in range(count)]
    for _ in range(ROUNDS):
        for connection in idle:
            connection.sendall(connection.recv(4, socket.MSG_WAITALL))
    say("cost", alone, cost(client, server, waiter), rings())
    sys.stdin.readline()


def accept(listener, waiter):
    connection = listener.accept()[0]
    waiter.register(connection, select.EPOLLIN)
    return connection


def cost(client, server, waiter):
    """Returns the least of several costs: whatever else the machine does makes them larger."""
    costs = []
    for _ in range(TIMES):
        before = time.process_time_ns()
        for _ in range(MESSAGES):
            client.sendall(b"text")
            [(fd, events)] = waiter.poll(60)
            assert (fd, events) == (server.fileno(), select.EPOLLIN)
            assert server.recv(4) == b"text"
        costs.append((time.process_time_ns() - before) // MESSAGES)
    return min(costs)


def idle():
    crowd = [socket.create_connection(("127.0.0.1", int(sys.argv[2]))) for _ in range(int(sys.argv[3]))]
    # In turns, so that there is an answer of the daemon when a connection is used again.
    for _ in range(ROUNDS):
        for connection in crowd:
            connection.sendall(b"text")
            assert connection.recv(4, socket.MSG_WAITALL) == b"text"
    say("done", len(crowd))
    sys.stdin.readline()


globals()[sys.argv[1]]()
