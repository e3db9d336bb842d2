"""Topics of messaging services."""

import os
import unittest

import bertha
from bertha import blocking
from support import Tested, uvloop

# A further topic, of a service that the module was built with.
ADDRESSES = ["memory:python", *filter(None, [os.environ.get("BERTHA_PYTHON_TOPIC")])]


class Topics(Tested):
    def test_messages_are_acknowledged_after_the_work(self):
        async def run(address):
            receiver = await bertha.connect("topic", f"{address}?create=yes&subscription=billing", "checksum|nothing")
            async with bertha.connect("topic", address, "checksum") as publisher:
                await publisher.send(b"a book")
            # Work that fails: the view is released, and the message comes again, also to another receiver.
            for _ in range(2):
                with await receiver.receive_buffer() as view:
                    self.assertEqual(view, b"a book")
                    part = view[2:]
                with self.assertRaises(ValueError):
                    view[0]
                part.release()
                view = part = None
            held = await receiver.receive_buffer()
            await receiver.close()
            receiver = await bertha.connect("topic", f"{address}?subscription=billing", "checksum")
            view = await receiver.receive_buffer()
            self.assertEqual(bytes(held), b"a book")
            part = view[2:]
            with self.assertRaises(BufferError):
                receiver.acknowledge(view)
            receiver.acknowledge(part)
            for released in (view, part):
                with self.assertRaises(ValueError):
                    receiver.acknowledge(released)
            for none in (b"a book", memoryview(b"a book"), None):
                with self.assertRaises(TypeError):
                    receiver.acknowledge(none)
            await receiver.close()
            await self.assert_empty(address)

        for address in ADDRESSES:
            with self.subTest(address=address):
                self.run_loop(run(address))

    async def assert_empty(self, address):
        async with bertha.connect("topic", f"{address}?subscription=billing", "checksum") as receiver:
            operation = receiver.receive()
            with self.assertRaises(bertha.TimedOut):
                operation.wait(0.2)

    def test_messages_that_are_copied_come_once(self):
        async def run(address):
            async with bertha.connect("topic", address + "?create=yes", "checksum") as publisher:
                async with bertha.connect("topic", f"{address}?subscription=billing", "checksum") as receiver:
                    await publisher.send_burst([b"%d" % number for number in range(9)])
                    received = [await receiver.receive()]
                    received += await receiver.receive_burst(3)
                    async for message in receiver:
                        received.append(message)
                        if len(received) == 9:
                            break
                    self.assertEqual(sorted(received), [b"%d" % number for number in range(9)])
                    explanation, statistics = receiver.explain(), receiver.statistics()
                    self.assertEqual((explanation.chunnels, explanation.round), (("Checksum",), 0))
                    self.assertIn("topic", str(explanation))
                    self.assertEqual(statistics.received_messages, 9)
                    self.assertEqual(len(statistics.layers), 1)
                    with self.assertRaises(bertha.Invalid):
                        await receiver.send(b"back")
                    with self.assertRaises(bertha.Invalid):
                        receiver.upgrade(1)
            await self.assert_empty(address)

        for address in ADDRESSES:
            with self.subTest(address=address):
                self.run_loop(run(address))

    def test_what_is_no_topic_is_refused(self):
        for address in ("", "python", "smtp://a/b", "memory:", "memory:a?b", "memory:a?subscription=", "memory:a?create=maybe"):
            with self.subTest(address=address), self.assertRaises(bertha.Invalid):
                bertha.connect("topic", address)
        for listen in (bertha.listen, blocking.listen):
            with self.assertRaises(bertha.Invalid) as caught:
                listen("topic", "memory:python")
            self.assertIn("no listeners", str(caught.exception))
        for stack in ("reliable", "checksum|(tls,nothing)", "noise", "maybe-local"):
            with self.subTest(stack=stack), self.assertRaises(bertha.Invalid):
                blocking.connect("topic", "memory:python?create=yes", stack, timeout=30)
        with self.assertRaises(bertha.Error):
            blocking.connect("topic", "memory:none", timeout=30)

    def test_threads_acknowledge_as_well(self):
        with blocking.connect("topic", "memory:threads?create=yes&subscription=a", timeout=30) as receiver:
            with blocking.connect("topic", "memory:threads", timeout=30) as publisher:
                publisher.send(b"a book")
                receiver.receive_buffer(30).release()
                receiver.acknowledge(receiver.receive_buffer(30))
                with self.assertRaises(bertha.TimedOut):
                    receiver.receive(0.1)


@unittest.skipUnless(uvloop, "uvloop is not there")
class UvloopTopics(Topics):
    if uvloop:
        new_loop = staticmethod(uvloop.new_event_loop)


if __name__ == "__main__":
    unittest.main()
