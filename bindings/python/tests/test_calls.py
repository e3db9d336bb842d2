"""Services and their clients."""

import asyncio
import logging
import unittest
from dataclasses import dataclass
from enum import Enum
from typing import AsyncIterator, Dict, List, Optional, Tuple, Union

import bertha
from bertha import _bertha
from bertha._service import Format
from bertha._shapes import plain, shaped
from hypothesis import given, settings, strategies
from support import Tested, uvloop

CODECS = [name for name in ("json", "cbor", "messagepack") if name in _bertha.codecs()]


@dataclass
class Count:
    letters: int
    words: Dict[str, int]
    note: Optional[str] = None


class Mute(bertha.CallError):
    def __str__(self):
        raise RuntimeError("no text")


class Colour(Enum):
    RED = "red"


@bertha.service
class Words:
    cancelled = 0

    async def count(self, text: str) -> Count:
        words = text.split()
        return Count(len(text), {word: words.count(word) for word in words})

    async def both(self, first: List[Count], second: Tuple[int, float], third: bytes = b"abc") -> Tuple[int, bytes]:
        return sum(count.letters for count in first) + second[0], third

    async def letters(self, text: str) -> AsyncIterator[str]:
        for letter in text:
            yield letter
            if letter == "!":
                raise bertha.CallDenied("no more")

    async def fails(self, how: str) -> None:
        if how == "denied":
            raise bertha.CallDenied("not you")
        if how == "surrogate":
            raise bertha.CallFailed("no file \udcff")
        if how == "mute":
            raise Mute()
        if how == "exit":
            raise GeneratorExit
        if how == "cancelled":
            other = asyncio.ensure_future(asyncio.sleep(30))
            other.cancel()
            await other
        raise KeyError("secret")

    async def wrong(self) -> int:
        return "no number"

    async def waits(self) -> float:
        left = bertha.current_call().left
        if left is None:
            return 0.0
        try:
            await asyncio.sleep(30)
        finally:
            type(self).cancelled += 1
        return left

    async def about(self) -> Dict[str, str]:
        call = bertha.current_call()
        call.add_trailer("seen", "yes")
        return {name: value.decode() for name, value in call.metadata.items()}


@bertha.service
class Bytes:
    async def reverse(self, data: bytes) -> bytes:
        return data[::-1]

    async def parts(self, data: bytes) -> AsyncIterator[bytes]:
        for start in range(len(data)):
            yield data[start:]


@bertha.service
class Streams:
    ended = 0

    async def join(self, between: str, parts: AsyncIterator[str]) -> str:
        return between.join([part async for part in parts])

    async def first(self, parts: AsyncIterator[Count]) -> Count:
        async for part in parts:
            return part
        raise bertha.CallFailed("no part")

    async def ignores(self, parts: AsyncIterator[str]) -> int:
        return 7

    async def louder(self, parts: AsyncIterator[str]) -> AsyncIterator[str]:
        part = ""
        try:
            async for part in parts:
                yield part.upper()
            bertha.current_call().add_trailer("last", part)
        finally:
            Streams.ended += 1


async def parts_of(*parts):
    for part in parts:
        await asyncio.sleep(0)
        yield part


class Calls(Tested):
    def served(self, run, service=None, codec=None, **options):
        async def all():
            made = Words() if service is None else service
            async with bertha.serve(made, "tcp", "127.0.0.1:0", "checksum", codec=codec, **options) as server:
                async with bertha.call(type(made), "tcp", server.address, "checksum", codec=codec) as client:
                    await run(client)

        if codec in _bertha.codecs():
            self.run_loop(all())

    def test_values_of_the_program_go_both_ways(self):
        async def run(client):
            self.assertEqual(await client.count("a b a"), Count(5, {"a": 2, "b": 1}))
            self.assertEqual(await client.count(text="é"), Count(1, {"é": 1}))
            counts = [Count(3, {}), Count(4, {})]
            self.assertEqual(await client.both(counts, (1, 2.5)), (8, b"abc"))
            self.assertEqual(await client.both(counts, (1, 2), third=b"\0\xff"), (8, b"\0\xff"))
            with self.assertRaises(TypeError):
                await client.count()
            with self.assertRaises(AttributeError):
                client.counted

        for codec in CODECS:
            with self.subTest(codec=codec):
                self.served(run, codec=codec)

    def test_bytes_go_as_they_are(self):
        async def run(client):
            self.assertEqual(await client.reverse(b"abc"), b"cba")
            self.assertEqual(await client.reverse(memoryview(b"")), b"")
            self.assertEqual([part async for part in client.parts(b"abc")], [b"abc", b"bc", b"c"])
            calls = [client.reverse(b"%d" % number) for number in range(200)]
            answers = await asyncio.gather(*calls)
            self.assertEqual(answers, [(b"%d" % number)[::-1] for number in range(200)])
            self.assertEqual(await client.ask("Bytes.reverse", b"ab"), (b"ba", {}))

        self.served(run, Bytes(), "bytes")

    def test_streams_end_with_their_error(self):
        async def run(client):
            received = []
            with self.assertRaises(PermissionError) as caught:
                async for letter in client.letters("ab!c"):
                    received.append(letter)
            self.assertEqual(received, ["a", "b", "!"])
            self.assertIsInstance(caught.exception, bertha.CallDenied)
            long = client.letters("x" * 10_000)
            self.assertEqual(await long.__anext__(), "x")
            await long.aclose()
            self.assertEqual(len([letter async for letter in client.letters("y" * 1000)]), 1000)

        for codec in CODECS:
            self.served(run, codec=codec)

    def test_a_handler_that_raises_fails_its_own_call_alone(self):
        async def run(client):
            other = asyncio.ensure_future(client.waits(deadline=20))
            await asyncio.sleep(0)
            with self.assertLogs("bertha", logging.ERROR):
                with self.assertRaises(bertha.CallFailed) as caught:
                    await client.fails("oddly")
            self.assertIn("KeyError", str(caught.exception))
            self.assertNotIn("secret", str(caught.exception))
            with self.assertRaises(bertha.CallDenied) as caught:
                await client.fails("denied")
            self.assertIn("not you", str(caught.exception))
            self.assertEqual((await client.count("a")).letters, 1)
            self.assertFalse(other.done())
            other.cancel()

        for codec in CODECS[:1]:
            self.served(run, codec=codec, grace=0.1)

    def test_a_handler_answers_whatever_it_raises_and_has_run(self):
        async def run(client):
            for how, text in [("surrogate", "no file"), ("mute", "Mute"), ("exit", "GeneratorExit"), ("cancelled", "cancelled")]:
                with self.subTest(how), self.assertRaises(bertha.CallFailed) as caught:
                    await client.fails(how, deadline=20)
                self.assertIn(text, str(caught.exception))
                self.assertTrue(caught.exception.may_have_run)
            with self.assertRaises(bertha.CallMalformed) as caught:
                await client.wrong(deadline=20)
            self.assertTrue(caught.exception.may_have_run)

        logging.disable(logging.ERROR)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.served(run, codec=CODECS[0])

    def test_arguments_that_can_not_be_sent_are_errors_before_the_call(self):
        async def run(client):
            with self.assertRaises(bertha.CallMalformed) as caught:
                await client.count("\udcff")
            self.assertFalse(caught.exception.may_have_run)
            for deadline in (float("nan"), -1.0):
                with self.assertRaisesRegex(ValueError, "no time"):
                    await client.count("a", deadline=deadline)
            with self.assertRaisesRegex(TypeError, "metadata"):
                await client.count("a", metadata=5)
            self.assertEqual((await client.count("a", deadline=float("inf"))).letters, 1)

        self.served(run, codec=CODECS[0])

    def test_a_deadline_ends_the_call_at_both_ends(self):
        async def run(client):
            self.assertEqual(await client.waits(), 0.0)
            before = Words.cancelled
            with self.assertRaises(TimeoutError) as caught:
                await client.waits(deadline=0.1)
            self.assertIsInstance(caught.exception, bertha.CallTimedOut)
            self.assertTrue(caught.exception.may_have_run)
            cancelled = asyncio.ensure_future(client.waits(deadline=20))
            await asyncio.sleep(0.1)
            cancelled.cancel()
            while Words.cancelled < before + 2:
                await asyncio.sleep(0.01)
            for deadline in (-1, float("nan")):
                with self.assertRaises(ValueError):
                    await client.waits(deadline=deadline)

        for codec in CODECS[:1]:
            self.served(run, codec=codec)

    def test_requests_are_streams_too(self):
        async def run(client):
            self.assertEqual(await client.join("-", parts_of("a", "b", "c")), "a-b-c")
            self.assertEqual(await client.join(parts=["a", "b"], between="+"), "a+b")
            self.assertEqual(await client.join("", []), "")
            many = [str(number) for number in range(1000)]
            self.assertEqual(await client.join(",", many, deadline=30), ",".join(many))
            self.assertEqual(await client.first([Count(1, {}), Count(2, {})]), Count(1, {}))
            # A service that takes none ends the iterator, which would go on for ever.
            closed = []

            async def endless():
                try:
                    while True:
                        yield "x"
                finally:
                    closed.append(True)

            given = endless()
            self.assertEqual(await client.ignores(given), 7)
            while not closed:
                await asyncio.sleep(0.01)
            louder = client.louder(parts_of("a", "b"))
            self.assertEqual([part async for part in louder], ["A", "B"])
            self.assertEqual(louder.metadata, {"last": b"b"})
            self.assertEqual(len([part async for part in client.louder(many)]), 1000)
            for wrong in ((), ("-",), ("-", 7), ("-", b"ab")):
                with self.assertRaises(TypeError):
                    await client.join(*wrong)

        for codec in CODECS:
            with self.subTest(codec=codec):
                self.served(run, Streams(), codec)

    def test_the_ends_of_both_streams_wait_for_each_other(self):
        async def run(client):
            heard = asyncio.Queue()

            async def talk():
                yield "0"
                for number in range(1, 50):
                    yield str(int(await heard.get()) + 1)

            async for part in client.louder(talk()):
                heard.put_nowait(part)
            self.assertEqual(part, "49")

        for codec in CODECS[:1]:
            self.served(run, Streams(), codec)

    def test_requests_that_fail_end_their_call_with_the_reason(self):
        async def run(client):
            async def broken():
                yield "a"
                raise LookupError("mine")

            for _ in range(3):
                with self.assertRaises(LookupError) as caught:
                    await client.join("-", broken())
                self.assertEqual(str(caught.exception), "mine")
                with self.assertRaises(LookupError):
                    async for _ in client.louder(broken()):
                        pass
            with self.assertRaises(TypeError):
                await client.join("-", ["a", object()])
            with self.assertRaises(bertha.CallMalformed) as caught:
                await client.first([Count(1, {}), "none"][1:])
            self.assertIn("Streams.first", str(caught.exception))
            before = Streams.ended
            # A deadline, a cancellation and a client that leaves the stream end the handler, and the iterator that waits.
            ended = []

            async def waits():
                try:
                    yield "a"
                    await asyncio.sleep(300)
                finally:
                    ended.append(True)

            with self.assertRaises(bertha.CallTimedOut):
                await client.join("-", waits(), deadline=0.1)
            joining = asyncio.ensure_future(client.join("-", waits()))
            await asyncio.sleep(0.1)
            joining.cancel()
            louder = client.louder(waits())
            self.assertEqual(await louder.__anext__(), "A")
            await louder.aclose()
            await client.louder(waits()).aclose()
            while len(ended) < 3 or Streams.ended == before:
                await asyncio.sleep(0.01)
            self.assertEqual(await client.join("-", ["a"]), "a")

        for codec in CODECS[:1]:
            self.served(run, Streams(), codec)

    def test_metadata_goes_with_a_call(self):
        async def run(client):
            self.assertEqual(await client.about(metadata={"a": "b", "c": b"d"}), {"a": "b", "c": "d"})
            _, trailers = await client.ask("Words.about", b"[]")
            self.assertEqual(trailers, {"seen": b"yes"})
            self.assertIn("Rpc", client.explain())
            with self.assertRaises(LookupError):
                bertha.current_call()

        if "json" in CODECS:
            self.served(run, codec="json")

    def test_requests_of_strangers_fail_with_the_reason(self):
        async def run(client):
            for request in (b"", b"{", b"{}", b"[]", b"[1]", b'["a","b"]', b"null"):
                with self.assertRaises(bertha.CallMalformed) as caught:
                    await client.ask("Words.count", request)
                self.assertIn("Words.count", str(caught.exception))
            with self.assertRaises(bertha.CallUnknownMethod):
                await client.ask("Words.none", b"[]")
            with self.assertRaises(bertha.Invalid):
                await client.ask("", b"[]")

        if "json" in CODECS:
            self.served(run, codec="json")

    def test_ends_of_different_codecs_do_not_agree(self):
        async def run():
            async with bertha.serve(Words(), "tcp", "127.0.0.1:0", codec="json") as server:
                with self.assertRaises(bertha.Refused) as caught:
                    await bertha.call(Words, "tcp", server.address, codec="cbor")
                self.assertIn("Rpc", str(caught.exception))

        if {"json", "cbor"} <= set(CODECS):
            self.run_loop(run())
        with self.assertRaises(ValueError):
            bertha.serve(Words(), "tcp", "127.0.0.1:0", codec="xml")

    def test_a_service_that_ends_lets_calls_end(self):
        async def run():
            server = bertha.serve(Bytes(), "tcp", "127.0.0.1:0", codec="bytes")
            running = asyncio.ensure_future(server.run())
            client = await bertha.call(Bytes, "tcp", server.address, codec="bytes")
            self.assertEqual(await client.reverse(b"ab"), b"ba")
            server.end()
            await running
            with self.assertRaises(bertha.CallUnavailable) as caught:
                await client.reverse(b"ab")
            self.assertFalse(caught.exception.may_have_run)
            await client.close()
            with self.assertRaises(bertha.CallError):
                await client.reverse(b"ab")

        self.run_loop(run())

    def test_classes_that_are_no_services_are_refused(self):
        with self.assertRaises(TypeError):
            bertha.service(type("Empty", (), {}))

        class Reserved:
            async def call(self, deadline: int) -> None:
                pass

        class Early:
            async def call(self, parts: AsyncIterator[int], last: int) -> None:
                pass

        for kind in (Reserved, Early):
            with self.assertRaises(TypeError):
                bertha.service(kind)
        with self.assertRaises(TypeError):
            bertha.serve(Reserved(), "tcp", "127.0.0.1:0")


class Shapes(unittest.TestCase):
    def test_values_of_each_type_come_back(self):
        for kind, value in (
            (Count, Count(1, {"a": 2}, "b")),
            (List[Count], [Count(1, {})]),
            (Tuple[int, ...], (1, 2)),
            (Optional[Colour], Colour.RED),
            (Union[int, str], "a"),
            (Dict[str, List[float]], {"a": [1.0]}),
            (type(None), None),
        ):
            with self.subTest(kind=kind):
                self.assertEqual(shaped(kind, plain(value)), value)
        for kind, value in ((int, True), (int, "1"), (Count, []), (Count, {}), (Tuple[int, int], [1]), (Colour, "blue"), (str, None)):
            with self.subTest(kind=kind), self.assertRaises((TypeError, ValueError)):
                shaped(kind, value)

    @settings(max_examples=100, deadline=None)
    @given(strategies.recursive(
        strategies.none() | strategies.booleans() | strategies.integers(-(2**63), 2**63 - 1) | strategies.text()
        | strategies.floats(allow_nan=False, allow_infinity=False),
        lambda inner: strategies.lists(inner) | strategies.dictionaries(strategies.text(), inner),
    ))
    def test_each_codec_gives_back_what_it_was_given(self, value):
        for name in ("json", "cbor", "messagepack"):
            format = Format(name)
            self.assertEqual(format._codec.decode(format.write(value)), value, name)


@unittest.skipUnless(uvloop, "uvloop is not there")
class UvloopCalls(Calls):
    if uvloop:
        new_loop = staticmethod(uvloop.new_event_loop)


if __name__ == "__main__":
    unittest.main()
