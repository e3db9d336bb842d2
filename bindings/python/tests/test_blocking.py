"""Connections for threads."""

import signal
import threading
import time
import unittest

import bertha
from bertha import blocking
from support import folder, program


def pair(datapath="tcp", stack=""):
    with blocking.listen(datapath, "127.0.0.1:0", stack) as listener:
        connection = blocking.connect(datapath, listener.address, stack, timeout=30)
        return connection, listener.accept(30)


class Blocking(unittest.TestCase):
    def test_ends_speak_and_close(self):
        connection, client = pair("udp", "ordered,reliable")
        with connection:
            connection.send(b"a", timeout=30)
            self.assertEqual(client.receive(30), b"a")
            connection.send_burst([b"b", b"c"])
            self.assertEqual(self.all(client, 2), [b"b", b"c"])
            view = connection.buffer(1)
            view[0] = 100
            connection.send(view)
            self.assertEqual(bytes(client.receive_buffer(30)), b"d")
            connection.drain(30)
        self.assertEqual(list(client), [])
        with self.assertRaises(bertha.Closed):
            client.receive(30)

    def all(self, client, number):
        there = []
        while len(there) < number:
            there += client.receive_burst(timeout=30)
        return there

    def test_a_late_call_has_taken_nothing(self):
        connection, client = pair()
        for timeout in (0, 0.01):
            with self.assertRaises(TimeoutError) as caught:
                client.receive(timeout)
            self.assertIsInstance(caught.exception, bertha.TimedOut)
            self.assertFalse(caught.exception.ends_connection)
        connection.send(b"a")
        self.assertEqual(client.receive(30), b"a")
        for timeout in (-1, float("nan")):
            with self.assertRaises(ValueError):
                client.receive(timeout)
        connection.send(b"b")
        self.assertEqual(client.receive(float("inf")), b"b")
        with blocking.listen("tcp", "127.0.0.1:0") as listener:
            with self.assertRaises(bertha.TimedOut):
                listener.accept(0.01)

    def test_late_messages_arrive_once_and_in_order(self):
        connection, client = pair()
        taken = []
        for number in range(20):
            try:
                connection.send(b"%d " % number + bytes(1_000_000), timeout=0)
                taken.append(number)
            except bertha.TimedOut:
                pass
        self.assertLess(len(taken), 20, "the peer receives nothing meanwhile")
        received = [int(client.receive(30).split(b" ")[0]) for _ in taken]
        self.assertEqual(received, taken)
        with self.assertRaises(bertha.TimedOut):
            client.receive(0.05)

    def test_the_interpreter_is_free_while_a_thread_waits(self):
        connection, client = pair()
        counted = []

        def wait():
            counted.append(client.receive(30))

        thread = threading.Thread(target=wait)
        thread.start()
        # This thread would not come here if the other had the interpreter.
        connection.send(b"a")
        thread.join(30)
        self.assertEqual(counted, [b"a"])

    def test_many_threads_share_a_connection(self):
        connection, client = pair()
        received, lock = [], threading.Lock()

        def receive():
            for _ in range(100):
                message = client.receive(30)
                with lock:
                    received.append(int(message))

        def send(first):
            for number in range(first, first + 100):
                connection.send(b"%d" % number, timeout=30)

        threads = [threading.Thread(target=receive) for _ in range(4)]
        threads += [threading.Thread(target=send, args=(first,)) for first in (0, 100, 200, 300)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        self.assertEqual(sorted(received), list(range(400)))

    def test_a_close_ends_the_waits_of_other_threads(self):
        connection, client = pair()
        outcome = []

        def wait():
            try:
                client.receive(30)
            except bertha.Error as error:
                outcome.append(type(error))

        thread = threading.Thread(target=wait)
        thread.start()
        connection.close(30)
        thread.join(30)
        self.assertEqual(outcome, [bertha.Closed])
        for _ in range(2):
            connection.close(30)
        for call in (lambda: connection.send(b"a"), lambda: connection.receive(30)):
            with self.assertRaises(bertha.Closed):
                call()
        connection.explain(), connection.statistics(), repr(connection)
        listener = blocking.listen("tcp", "127.0.0.1:0")
        thread = threading.Thread(target=lambda: outcome.append(list(listener)))
        thread.start()
        listener.close()
        thread.join(30)
        self.assertEqual(outcome[1:], [[]])

    def test_a_listener_that_is_closed_leaves_its_address(self):
        for datapath in ("tcp", "udp"):
            address = "127.0.0.1:0"
            for _ in range(20):
                listener = blocking.listen(datapath, address)
                address = listener.address
                listener.close()

    def test_connections_that_are_closed_leave_their_address(self):
        with folder() as place:
            for datapath, stack in (("udp", "ordered,reliable"), ("tcp", ""), ("unix", "ordered,reliable"), ("shm", "")):
                address = f"unix:{place}/{datapath}" if datapath in ("unix", "shm") else "127.0.0.1:0"
                listener = blocking.listen(datapath, address, stack)
                connection = blocking.connect(datapath, listener.address, stack, timeout=30)
                client = listener.accept(30)
                connection.send(b"a")
                self.assertEqual(client.receive(30), b"a")
                client.close(30)
                connection.close(30)
                listener.close()
                # A task tells the peer once more, for a part of a second.
                for attempt in range(300):
                    try:
                        blocking.listen(datapath, listener.address, stack).close()
                        break
                    except bertha.AddressInUse:
                        time.sleep(0.1)
                else:
                    self.fail(f"{datapath}: the address stays in use")
                for end in (connection, client):
                    self.assertIn("agreed as", end.explain().text)
                    self.assertIn(str(end.statistics().sent_messages), "01")
                    repr(end)

    def test_control_c_ends_a_wait(self):
        def interrupt():
            # Python itself raises `KeyboardInterrupt` for it, in the main thread.
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        # A shell starts what runs in the background with the signal ignored, and then Python raises nothing.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        _connection, client = pair()
        for call in (client.receive, blocking.listen("tcp", "127.0.0.1:0").accept):
            timer = threading.Timer(0.1, interrupt)
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                call()
            timer.join()
        _connection.send(b"a")
        self.assertEqual(client.receive(30), b"a")

    def test_a_handler_of_a_signal_runs_and_the_wait_goes_on(self):
        ran = []
        connection, client = pair()
        before = signal.signal(signal.SIGALRM, lambda *_: (ran.append(1), connection.send(b"a")))
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            self.assertEqual(client.receive(30), b"a")
            self.assertEqual(ran, [1])
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_a_program_without_handlers_ends_by_control_c(self):
        ran = program(
            "import bertha.blocking, os, signal, threading\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "listener = bertha.blocking.listen('tcp', '127.0.0.1:0')\n"
            "threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "listener.accept()",
            check=False,
        )
        self.assertIn("KeyboardInterrupt", ran.stderr)


if __name__ == "__main__":
    unittest.main()
