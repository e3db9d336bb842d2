"""Services and their clients for threads."""

import signal
import threading
import time
import unittest
from typing import AsyncIterator, Iterator

import bertha
from bertha import blocking
from support import Tested, program


@blocking.service
class Words:
    entered = threading.Event()
    left = threading.Event()

    def count(self, text: str) -> int:
        return len(text.split())

    def split(self, text: str) -> Iterator[str]:
        yield from text.split()

    def join(self, between: str, parts: Iterator[str]) -> str:
        return between.join(parts)

    def louder(self, parts: Iterator[str]) -> Iterator[str]:
        part = ""
        for part in parts:
            yield part.upper()
        bertha.current_call().add_trailer("last", part)

    def fails(self, how: str) -> None:
        if how == "denied":
            raise bertha.CallDenied("not you")
        raise KeyError("secret")

    def waits(self) -> None:
        call = bertha.current_call()
        self.entered.set()
        while not call.is_cancelled:
            time.sleep(0.01)
        self.left.set()

    def _private(self) -> None:
        pass


@bertha.service(name="Words")
class AsyncWords:
    async def count(self, text: str) -> int:
        return len(text.split())

    async def split(self, text: str) -> AsyncIterator[str]:
        for word in text.split():
            yield word

    async def join(self, between: str, parts: AsyncIterator[str]) -> str:
        return between.join([part async for part in parts])


def served(**options):
    return blocking.serve(Words(), "tcp", "127.0.0.1:0", "checksum", **options)


def client(server, kind=Words):
    return blocking.call(kind, "tcp", server.address, "checksum", timeout=30)


class BlockingCalls(Tested):
    def test_calls_and_streams_go_both_ways(self):
        with served() as server, client(server) as words:
            self.assertEqual(words.count("to be or not", deadline=30), 4)
            self.assertEqual(words.count(text=""), 0)
            self.assertEqual(list(words.split("to be")), ["to", "be"])
            self.assertEqual(words.join("-", iter("abc")), "a-b-c")
            many = [str(number) for number in range(1000)]
            self.assertEqual(words.join(between=",", parts=many), ",".join(many))
            louder = words.louder(part for part in "ab")
            self.assertEqual((list(louder), louder.metadata), (["A", "B"], {"last": b"b"}))
            with words.louder(many) as louder:
                self.assertEqual(next(louder), "0")
            self.assertEqual(list(louder), [])
            self.assertEqual(words.ask("Words.count", b'["a"]'), (b"1", {}))
            self.assertIn("Rpc", words.explain())
            with self.assertRaises(TypeError):
                words.join("-", 7)
            with self.assertRaises(AttributeError):
                words._private

    def test_failures_are_of_their_call_alone(self):
        def broken():
            yield "a"
            raise LookupError("mine")

        with served() as server, client(server) as words:
            with self.assertRaises(bertha.CallDenied):
                words.fails("denied")
            with self.assertLogs("bertha"), self.assertRaises(bertha.CallFailed) as caught:
                words.fails("oddly")
            self.assertNotIn("secret", str(caught.exception))
            for call in (lambda: words.join("-", broken()), lambda: list(words.louder(broken()))):
                with self.assertRaises(LookupError):
                    call()
            with self.assertRaises(bertha.CallMalformed):
                words.ask("Words.count", b"{}")
            self.assertEqual(words.count("a"), 1)

    def test_a_deadline_ends_the_call_at_both_ends(self):
        Words.left.clear()
        with served(threads=1) as server, client(server) as words:
            with self.assertRaises(TimeoutError) as caught:
                words.waits(deadline=0.1)
            self.assertTrue(caught.exception.may_have_run)
            self.assertTrue(Words.left.wait(30))

            def waits():
                yield "a"
                threading.Event().wait(30)

            with self.assertRaises(bertha.CallTimedOut):
                words.join("-", waits(), deadline=0.1)
            self.assertEqual(words.count("a"), 1)

    def test_calls_of_many_threads_are_answered(self):
        with served(threads=3) as server, client(server) as words:
            counted = []
            threads = [threading.Thread(target=lambda: counted.append(words.count("a b"))) for _ in range(50)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
            self.assertEqual(counted, [2] * 50)

    def test_flavours_speak_with_each_other(self):
        async def run():
            async with bertha.call(AsyncWords, "tcp", server.address, "checksum") as words:
                self.assertEqual(await words.count("a b"), 2)
                self.assertEqual(await words.join("-", "ab"), "a-b")
                self.assertEqual([word async for word in words.split("a b")], ["a", "b"])

        with served() as server:
            self.run_loop(run())
            with self.assertRaises(bertha.CallError):
                client(server, AsyncWords).ask("Words.none", b"[]")
        with self.assertRaises(TypeError):
            bertha.serve(Words(), "tcp", "127.0.0.1:0")
        with self.assertRaises(TypeError):
            blocking.serve(AsyncWords(), "tcp", "127.0.0.1:0")
        with self.assertRaises(TypeError):
            blocking.service(AsyncWords)
        with self.assertRaises(ValueError):
            served(threads=0)

    def test_a_service_that_ends_lets_calls_end(self):
        Words.entered.clear()
        with served(grace=30) as server:
            words = client(server)
            counting = []
            thread = threading.Thread(target=lambda: counting.append(words.count("a")))
            thread.start()
            thread.join(30)
        self.assertEqual(counting, [1])
        with self.assertRaises(bertha.CallUnavailable):
            words.count("a")
        words.close()
        # A handler that goes on holds up no exit.
        with served(grace=0.1) as server:
            words = client(server)
            failed = []

            def wait():
                try:
                    words.waits()
                except bertha.CallError as failure:
                    failed.append(type(failure))

            thread = threading.Thread(target=wait)
            thread.start()
            self.assertTrue(Words.entered.wait(30))
        thread.join(30)
        self.assertEqual(len(failed), 1)

    def test_an_exit_with_calls_under_way_neither_hangs_nor_crashes(self):
        ran = program(
            "import threading, time\n"
            "from typing import Iterator\n"
            "from bertha import blocking\n"
            "@blocking.service\n"
            "class Slow:\n"
            "    def wait(self) -> None:\n"
            "        time.sleep(600)\n"
            "    def louder(self, parts: Iterator[str]) -> Iterator[str]:\n"
            "        yield from parts\n"
            "def parts():\n"
            "    yield 'a'\n"
            "    time.sleep(600)\n"
            "server = blocking.serve(Slow(), 'tcp', '127.0.0.1:0').__enter__()\n"
            "client = blocking.call(Slow, 'tcp', server.address, timeout=30)\n"
            "threading.Thread(target=client.wait, daemon=True).start()\n"
            "louder = client.louder(parts())\n"
            "print(next(louder))\n"
        )
        self.assertEqual((ran.stdout, ran.stderr), ("a\n", ""))

    def test_control_c_ends_calls_and_a_service(self):
        def interrupted(call):
            timer = threading.Timer(0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                call()
            timer.join()

        def waits():
            yield "a"
            threading.Event().wait(30)

        # A shell starts what runs in the background with the signal ignored, and then Python raises nothing.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        Words.left.clear()
        with served(grace=0.1) as server, client(server) as words:
            interrupted(words.waits)
            self.assertTrue(Words.left.wait(30), "the handler sees that the call is cancelled")
            interrupted(lambda: words.join("-", waits()))
            interrupted(lambda: list(words.louder(waits())))
            self.assertEqual(words.count("a"), 1)
        server = served(grace=0.1)
        interrupted(server.run)
        with self.assertRaises(bertha.Error) as caught:
            client(server).count("a", deadline=10)
        self.assertNotIsInstance(caught.exception, bertha.CallTimedOut)


if __name__ == "__main__":
    unittest.main()
