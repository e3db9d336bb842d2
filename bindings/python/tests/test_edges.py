"""The edges of the boundary: hostile arguments, forks, exits, handles of other threads, leaks."""

import asyncio
import gc
import os
import pickle
import threading
import tracemalloc
import unittest
import warnings
import weakref

import bertha
from bertha import _bertha, blocking
from hypothesis import HealthCheck, given, settings, strategies
from support import Tested, pair, program

# A small run: more by hand, with EDGES=10000.
EXAMPLES = int(os.environ.get("EDGES", "100"))
few = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))

anything = strategies.one_of(
    strategies.none(),
    strategies.booleans(),
    strategies.integers(),
    strategies.floats(),
    strategies.text(),
    strategies.binary(),
    strategies.lists(strategies.integers()),
    strategies.builds(object),
    strategies.builds(lambda data: memoryview(data)[::2], strategies.binary(min_size=4)),
)
EXPECTED = (bertha.Error, TypeError, ValueError, OverflowError, BufferError)


def ends(listener):
    connection = blocking.connect("tcp", listener.address, timeout=30)
    return connection, listener.accept(30)


class Edges(Tested):
    @classmethod
    def setUpClass(cls):
        with blocking.listen("tcp", "127.0.0.1:0") as listener:
            cls.connection, cls.client = ends(listener)
            cls.sender, cls.receiver = ends(listener)

    @few
    @given(anything, anything, anything, strategies.dictionaries(strategies.text(), anything, max_size=3))
    def test_arguments_that_are_none_are_exceptions(self, datapath, address, stack, options):
        for call in (bertha.connect, bertha.listen):
            with self.assertRaises(EXPECTED):
                call(datapath, address, stack, **options)

    @few
    @given(strategies.text(alphabet="tcpls,|()=- \0é", max_size=40), strategies.text(max_size=20))
    def test_texts_are_stacks_or_errors(self, stack, value):
        for options in ({}, {"tls_ca": value}, {"connections": value}, {value.replace("\0", "") or "a": value}):
            try:
                _bertha.connect("unix", "unix:/none", stack, list(options.items())).close()
            except EXPECTED:
                pass

    @few
    @given(anything, strategies.floats() | strategies.none())
    def test_calls_with_anything_are_exceptions_or_work(self, argument, timeout):
        connection = self.connection._of
        for call in (connection.send, connection.send_burst, connection.receive_burst, connection.buffer, connection.upgrade):
            try:
                operation = call(argument)
                if hasattr(operation, "close"):
                    operation.close()
            except EXPECTED:
                pass
        if timeout is not None and timeout > 0:
            timeout = 1e-9
        try:
            blocking.Connection(connection).receive(timeout) if timeout is not None else None
        except (bertha.TimedOut, ValueError):
            pass

    @few
    @given(strategies.integers(0, 3000), strategies.data())
    def test_views_hold_what_was_written(self, length, data):
        view = self.sender.buffer(length)
        written = data.draw(strategies.binary(min_size=length, max_size=length))
        view[:] = written
        start = data.draw(strategies.integers(0, length))
        view = view[start:]
        self.sender.send(view)
        self.assertEqual(self.receiver.receive(30), written[start:])

    def test_views_outlive_everything(self):
        async def run():
            connection, client = await pair()
            await connection.send(b"hello")
            return await client.receive_buffer()

        view = self.run_loop(run())
        gc.collect()
        parts = [view[start:] for start in range(5)]
        del view
        self.assertEqual([bytes(part) for part in parts], [b"hello", b"ello", b"llo", b"lo", b"o"])
        with self.assertRaises(BufferError):
            memory = parts[0].obj
            memoryview(parts[0]).release()
            self.connection.send(parts[0])
            del parts[1:]
            first = memoryview(memory)
            self.connection.send(first)
            memoryview(memory)
        self.client.receive(30)

    def test_handles_of_a_loop_are_used_by_threads(self):
        async def run():
            connection, client = await pair()
            receiving = asyncio.ensure_future(client.receive())
            await asyncio.sleep(0)
            threads = [threading.Thread(target=lambda: connection.send(b"a").wait(30)) for _ in range(8)]
            for thread in threads:
                thread.start()
            got = [await receiving] + [await client.receive() for _ in range(7)]
            for thread in threads:
                thread.join(30)
            self.assertEqual(got, [b"a"] * 8)
            operation = client.receive()
            thread = threading.Thread(target=lambda: operation.wait(0.5))
            errors = []
            threading.excepthook, before = lambda args: errors.append(args.exc_type), threading.excepthook
            thread.start()
            try:
                while True:
                    try:
                        await asyncio.wait_for(operation, 0.01)
                    except RuntimeError:
                        break
                    except asyncio.TimeoutError:
                        break
            finally:
                thread.join(30)
                threading.excepthook = before

        self.run_loop(run())

    def test_an_operation_outside_of_a_loop_is_an_error(self):
        operation = self.client._of.receive()
        with self.assertRaises(RuntimeError):
            operation.send(None)
        operation.close()

    def test_a_task_that_raises_leaves_the_rest_of_the_loop_alone(self):
        async def run():
            connection, client = await pair()
            other, peer = await pair()

            async def fails():
                await client.receive()
                raise KeyError("of the program")

            failing, waiting = asyncio.ensure_future(fails()), asyncio.ensure_future(peer.receive())
            await asyncio.sleep(0)
            await connection.send(b"a")
            await other.send(b"b")
            self.assertEqual(await waiting, b"b")
            with self.assertRaises(KeyError):
                await failing

        self.run_loop(run())

    def test_an_exit_within_a_task_ends_the_loop_and_no_other_task(self):
        loop = self.new_loop()

        async def begin():
            ends = [await pair() for _ in range(3)]

            async def exits(client):
                await client.receive()
                raise SystemExit(7)

            tasks = [asyncio.ensure_future(exits(ends[0][1]))]
            tasks += [asyncio.ensure_future(client.receive()) for _, client in ends[1:]]
            await asyncio.sleep(0)
            return ends, tasks

        async def send(ends):
            for connection, _ in ends:
                await connection.send(b"a")
            await asyncio.sleep(30)

        async def rest(tasks):
            return await asyncio.wait_for(asyncio.gather(*tasks), 30)

        ends, tasks = loop.run_until_complete(begin())
        with self.assertRaises(SystemExit):
            loop.run_until_complete(send(ends))
        self.assertEqual(loop.run_until_complete(rest(tasks[1:])), [b"a", b"a"])
        with self.assertRaises(SystemExit):
            tasks[0].result()
        loop.close()

    def test_a_child_of_fork_is_refused_and_leaves_its_parent_alone(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            code = 1
            try:
                refusals = 0
                for call in (
                    lambda: self.connection.send(b"a"),
                    lambda: self.client.receive(1),
                    lambda: bertha.listen("tcp", "127.0.0.1:0"),
                    lambda: bertha.connect("tcp", "127.0.0.1:1"),
                    lambda: self.connection.close(),
                    lambda: self.connection.explain(),
                ):
                    try:
                        call()
                    except bertha.Forked as error:
                        refusals += "spawn" in str(error)
                # The end of the child's objects is not the end of the parent's.
                type(self).connection = type(self).client = None
                gc.collect()
                code = 0 if refusals == 6 else 2
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.connection.send(b"still here")
        self.assertEqual(self.client.receive(30), b"still here")

    def test_a_fork_before_the_first_call_may_use_it(self):
        program(
            "import bertha.blocking as b, os\n"
            "child = os.fork()\n"
            "with b.listen('tcp', '127.0.0.1:0') as l: b.connect('tcp', l.address, timeout=30).close()\n"
            "if child: assert os.waitpid(child, 0)[1] == 0\n"
        )

    def test_an_exit_with_open_connections_neither_hangs_nor_crashes(self):
        begin = (
            "import asyncio, bertha, bertha.blocking as b, sys, threading, time\n"
            "l = b.listen('udp', '127.0.0.1:0', 'ordered,reliable')\n"
            "c = b.connect('udp', l.address, 'ordered,reliable', timeout=30)\n"
            "s = l.accept(30)\n"
        )
        for end in (
            "c.send(b'a'); view = s.receive_buffer()",
            "keep = [c, s, l]; keep.append(keep)",
            # Threads that wait when the interpreter ends.
            "for call in (s.receive, c.receive, l.accept): threading.Thread(target=call, daemon=True).start()\ntime.sleep(0.2)",
            "sys.exit(0)",
            # What runs behind the end of the library.
            "import atexit; atexit._clear(); atexit.register(lambda: (c.send(b'a'), s.receive(30), c.close(30)))\n"
            "atexit.register(bertha._bertha.exiting)",
            "async def main():\n"
            "  task = asyncio.ensure_future(s._of.receive()); await asyncio.sleep(0.1)\n"
            "  sys.exit(0)\n"
            "asyncio.run(main())",
            "loop = asyncio.new_event_loop(); task = loop.create_task(s._of.receive())\n"
            "loop.run_until_complete(asyncio.sleep(0.1))",
        ):
            with self.subTest(end=end):
                ran = program(begin + end)
                self.assertNotIn("panicked", ran.stderr)
                self.assertNotIn("Fatal", ran.stderr)

    def test_what_is_dropped_is_gone(self):
        async def run():
            connection, client = await pair()
            seen = [weakref.ref(connection), weakref.ref(client)]
            task = asyncio.ensure_future(client.receive())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            del connection, client, task
            gc.collect()
            self.assertEqual([reference() for reference in seen], [None, None])

        self.run_loop(run())

    def test_tasks_of_a_loop_that_was_left_are_collected(self):
        loop = self.new_loop()
        connection, client = loop.run_until_complete(pair())
        seen = weakref.ref(client)
        task = loop.create_task(client.receive())
        loop.run_until_complete(asyncio.sleep(0))
        loop.call_exception_handler = lambda context: None
        loop.close()
        del task, client, loop
        gc.collect()
        self.assertIsNone(seen())

    def test_connections_that_are_closed_leave_nothing(self):
        number = int(os.environ.get("CONNECTIONS", "300"))

        async def some(number):
            async with bertha.listen("tcp", "127.0.0.1:0") as listener:
                for _ in range(number):
                    connection = await bertha.connect("tcp", listener.address)
                    client = await listener.accept()
                    await connection.send(b"a")
                    await client.receive()
                    await asyncio.gather(connection.close(), client.close())

        descriptors = lambda: len(os.listdir("/proc/self/fd"))
        self.run_loop(some(50))
        gc.collect()
        tracemalloc.start()
        try:
            memory, open_before = tracemalloc.get_traced_memory()[0], descriptors()
            self.run_loop(some(number))
            gc.collect()
            self.assertLess(tracemalloc.get_traced_memory()[0] - memory, 200_000)
            self.assertLessEqual(descriptors() - open_before, 8)
        finally:
            tracemalloc.stop()

    def test_exceptions_travel_between_processes(self):
        error = pickle.loads(pickle.dumps(bertha.Reset("cut", True)))
        self.assertEqual((type(error), str(error), error.ends_connection), (bertha.Reset, "cut", True))


if __name__ == "__main__":
    unittest.main()
