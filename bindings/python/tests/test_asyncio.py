"""Connections under asyncio, and the same under uvloop."""

import asyncio
import unittest

import bertha
from support import Tested, certificate, echo, folder, pair, socket_in, uvloop


class Asyncio(Tested):
    def test_each_datapath_echoes(self):
        async def run(datapath, address, stack):
            async with bertha.listen(datapath, address, stack) as listener:
                server = asyncio.ensure_future(echo(listener))
                async with bertha.connect(datapath, listener.address, stack) as connection:
                    for message in (b"", b"a", bytearray(b"bc"), memoryview(b"def"), b"x" * 1000):
                        await connection.send(message)
                        self.assertEqual(await connection.receive(), bytes(message))
            await server

        for datapath, stack in [
            ("udp", "ordered,reliable"),
            ("udp", ""),
            ("tcp", "checksum|nothing"),
            ("unix", ""),
            ("unix-stream", "checksum"),
            ("shm", ""),
        ]:
            with self.subTest(datapath=datapath, stack=stack), folder() as place:
                address = "127.0.0.1:0" if datapath in ("udp", "tcp") else socket_in(place)
                self.run_loop(run(datapath, address, stack))

    def test_an_iteration_ends_when_the_peer_closes(self):
        async def run():
            connection, client = await pair()
            for number in range(100):
                await client.send(b"%d" % number)
            await client.close()
            self.assertEqual([int(message) async for message in connection], list(range(100)))
            with self.assertRaises(bertha.Closed) as caught:
                await connection.receive()
            self.assertTrue(caught.exception.ends_connection)
            self.assertIsInstance(caught.exception, EOFError)

        self.run_loop(run())

    def test_an_end_that_is_dropped_is_a_reset(self):
        async def run():
            connection, client = await pair()
            del client
            with self.assertRaises(bertha.Reset) as caught:
                async for _ in connection:
                    pass
            self.assertIsInstance(caught.exception, ConnectionResetError)

        self.run_loop(run())

    def test_what_is_cancelled_loses_nothing(self):
        async def run():
            connection, client = await pair()
            received = []

            async def send():
                for number in range(2000):
                    await client.send(b"%d" % number)
                    if number % 7 == 0:
                        await asyncio.sleep(0)

            sending = asyncio.ensure_future(send())
            cancelled = 0
            while len(received) < 2000:
                receiving = asyncio.ensure_future(connection.receive())
                # Some rounds of the loop: none, before it has begun; one; two, when it may have been woken.
                for _ in range(len(received) % 3):
                    await asyncio.sleep(0)
                if receiving.done():
                    received.append(int(receiving.result()))
                    continue
                receiving.cancel()
                try:
                    received.append(int(await receiving))
                except asyncio.CancelledError:
                    cancelled += 1
                    if cancelled % 5 == 0:
                        received.append(int(await connection.receive()))
            await sending
            self.assertEqual(received, list(range(2000)))
            self.assertGreater(cancelled, 0)

        self.run_loop(run())

    def test_a_timeout_leaves_the_message_to_the_next(self):
        async def run():
            connection, client = await pair()
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(connection.receive(), 0.01)
            await client.send(b"a")
            self.assertEqual(await connection.receive(), b"a")

        self.run_loop(run())

    def test_a_send_that_is_cancelled_arrives_whole_or_not_at_all(self):
        async def run():
            connection, client = await pair()
            large = b"x" * 4_000_000
            sent = 0
            for number in range(6):
                sending = asyncio.ensure_future(connection.send(b"%d" % number + large))
                await asyncio.sleep(0)
                sending.cancel()
                try:
                    await sending
                except asyncio.CancelledError:
                    pass
                sent += 1
            closing = asyncio.ensure_future(connection.close())
            numbers = []
            async for message in client:
                self.assertEqual(message[1:], large)
                numbers.append(int(message[:1]))
            await closing
            self.assertEqual(numbers, sorted(set(numbers)), "in order, and once each")
            self.assertEqual(numbers[0], 0)

        self.run_loop(run())

    def test_a_close_that_is_cancelled_is_waited_for_by_the_next(self):
        async def run():
            connection, client = await pair()
            taken = 0
            for _ in range(20):
                sending = asyncio.ensure_future(connection.send(bytes(1_000_000)))
                await asyncio.sleep(0)
                if sending.cancel():
                    break
                taken += 1
            # The last message is on its way, and the peer receives nothing yet.
            for _ in range(2):
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(connection.close(), 0.1)
            closing = [asyncio.ensure_future(connection.close()) for _ in range(3)]
            self.assertGreaterEqual(len([message async for message in client]), taken)
            await asyncio.gather(*closing)
            await connection.close()

        self.run_loop(run())

    def test_several_tasks_receive(self):
        async def run():
            connection, client = await pair()
            tasks = [asyncio.ensure_future(connection.receive()) for _ in range(50)]
            await asyncio.sleep(0)
            tasks[3].cancel()
            for number in range(49):
                await client.send(b"%d" % number)
            received = await asyncio.gather(*tasks, return_exceptions=True)
            self.assertIsInstance(received.pop(3), asyncio.CancelledError)
            self.assertEqual(sorted(map(int, received)), list(range(49)))

        self.run_loop(run())

    def test_operations_are_coroutines(self):
        async def run():
            connection, client = await pair()
            first, second = await asyncio.gather(connection.send(b"a"), client.receive())
            self.assertEqual((first, second), (None, b"a"))
            task = asyncio.get_running_loop().create_task(client.receive())
            await asyncio.get_running_loop().create_task(connection.send(b"b"))
            self.assertEqual(await task, b"b")
            operation = client.receive()
            await connection.send(b"c")
            await operation
            with self.assertRaises(RuntimeError):
                await operation
            client.receive().close()
            with self.assertRaises(KeyError):
                client.receive().throw(KeyError("a"))

        self.run_loop(run())

    def test_bursts_arrive_in_order(self):
        async def run():
            connection, client = await pair()
            await connection.send_burst([b"%d" % number for number in range(500)])
            received = []
            while len(received) < 500:
                burst = await client.receive_burst(7)
                self.assertLessEqual(len(burst), 7)
                received += map(int, burst)
            self.assertEqual(received, list(range(500)))
            with self.assertRaises(bertha.Invalid):
                client.receive_burst(0)
            with self.assertRaises(bertha.Invalid):
                connection.send_burst(b"x" for _ in range(5000))

        self.run_loop(run())

    def test_views_go_without_copies(self):
        async def run():
            connection, client = await pair()
            view = connection.buffer(5)
            self.assertEqual((view.nbytes, view.readonly, bytes(view)), (5, False, b"\0" * 5))
            view[:] = b"hello"
            await connection.send(view)
            with self.assertRaises(ValueError):
                view[0]
            received = await client.receive_buffer()
            self.assertEqual(received, b"hello")
            # The same memory goes back, and a part of it.
            received[0] = ord("j")
            received = received[:4]
            await client.send(received)
            self.assertEqual(await connection.receive(), b"jell")
            # Another view stays as it was: then the message is copied.
            view = connection.buffer(3)
            other = view[1:]
            view[:] = b"abc"
            await connection.send(view)
            other[0] = ord("x")
            self.assertEqual(await client.receive(), b"abc")
            self.assertEqual(bytes(other), b"xc")
            # The memory lives as long as its views.
            views = [(await sent_and_received(connection, client, b"%d" % number)) for number in range(100)]
            del connection, client
            self.assertEqual([int(bytes(view)) for view in views], list(range(100)))

        async def sent_and_received(connection, client, message):
            await connection.send(message)
            return await client.receive_buffer()

        self.run_loop(run())

    def test_a_stack_changes_while_messages_flow(self):
        async def run():
            stack = "checksum|nothing"
            connection, client = await pair(stack=stack, upgradable=True)
            self.assertEqual(connection.explain().chunnels, ("Checksum",))

            async def receive():
                return [int(await client.receive()) for _ in range(200)]

            receiving = asyncio.ensure_future(receive())
            for number in range(100):
                await connection.send(b"%d" % number)
            changing = asyncio.ensure_future(connection.upgrade(1))
            answering = asyncio.ensure_future(connection.receive())
            await changing
            self.assertEqual(connection.explain().chunnels, ("Nothing",))
            self.assertEqual(connection.explain().round, 1)
            for number in range(100, 200):
                await connection.send(b"%d" % number)
            self.assertEqual(await receiving, list(range(200)))
            answering.cancel()
            fixed, _other = await pair()
            with self.assertRaises(bertha.Invalid):
                fixed.upgrade(1)

        self.run_loop(run())

    def test_ends_with_certificates_know_each_other(self):
        async def run(place):
            server, client = certificate(place, "server.test"), certificate(place, "client.test")
            stranger = certificate(place, "stranger.test")
            ends = {"tls_cert": server[0], "tls_key": server[1], "tls_ca": client[0]}
            async with bertha.listen("tcp", "127.0.0.1:0", "tls", **ends) as listener:
                known = {"tls_ca": server[0], "tls_name": "server.test"}
                mine = {"tls_cert": client[0], "tls_key": client[1]}
                async with bertha.connect("tcp", listener.address, "tls", **known, **mine) as connection:
                    accepted = await listener.accept()
                    await connection.send(b"secret")
                    self.assertEqual(await accepted.receive(), b"secret")
                    self.assertTrue(accepted.peer_identity)
                    self.assertTrue(connection.explain().is_authenticated)
                theirs = {"tls_cert": stranger[0], "tls_key": stranger[1]}
                with self.assertRaises(bertha.Error):
                    refused = await bertha.connect("tcp", listener.address, "tls", **known, **theirs)
                    await refused.receive()
                with self.assertRaises(bertha.Unauthenticated):
                    await bertha.connect("tcp", listener.address, "tls", tls_ca=stranger[0], tls_name="a", **mine)

        with folder() as place:
            self.run_loop(run(place))

    def test_errors_are_of_the_class_of_their_kind(self):
        async def run():
            with self.assertRaises(bertha.Invalid) as caught:
                bertha.connect("tcp", "127.0.0.1:1", "ordred")
            self.assertIn("at-most-once", str(caught.exception))
            self.assertIsInstance(caught.exception, ValueError)
            with self.assertRaises(ConnectionRefusedError) as caught:
                await bertha.connect("tcp", "127.0.0.1:1")
            self.assertIsInstance(caught.exception, bertha.Unreachable)
            async with bertha.listen("tcp", "127.0.0.1:0", "checksum") as listener:
                with self.assertRaises(bertha.AddressInUse):
                    bertha.listen("tcp", listener.address)
                with self.assertRaises(bertha.Refused) as caught:
                    await bertha.connect("tcp", listener.address, "nothing")
            connection, _client = await pair()
            with self.assertRaises(bertha.TooLarge) as caught:
                connection.send(bytes(connection.longest_message + 1))
            self.assertFalse(caught.exception.ends_connection)

        self.run_loop(run())

    def test_statistics_and_explanations_are_objects(self):
        async def run():
            connection, client = await pair("udp", "ordered,reliable")
            await connection.send(b"hello")
            await client.receive()
            await connection.drain()
            sent, received = connection.statistics(), client.statistics()
            self.assertEqual((sent.sent_messages, sent.sent_bytes), (1, 5))
            self.assertEqual((received.received_messages, received.received_bytes), (1, 5))
            self.assertIn("Reliable", str(sent))
            self.assertEqual(connection.explain().chunnels, ("Ordered", "Reliable"))
            self.assertIn("client", str(connection.explain()))
            self.assertEqual(connection.peer_address, client.local_address)
            self.assertIsNone(connection.peer_identity)
            with self.assertRaises(KeyError):
                sent.layer("none")

        self.run_loop(run())

    def test_a_connection_is_used_by_one_loop_after_another(self):
        async def first():
            connection, client = await pair()
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(connection.receive(), 0.01)
            return connection, client

        async def second(connection, client):
            receiving = asyncio.ensure_future(connection.receive())
            await asyncio.sleep(0.01)
            await client.send(b"a")
            self.assertEqual(await receiving, b"a")

        ends = self.run_loop(first())
        self.run_loop(second(*ends))

    def test_a_listener_that_is_closed_ends_its_iteration(self):
        async def run():
            listener = bertha.listen("tcp", "127.0.0.1:0")
            accepting = asyncio.ensure_future(echo(listener))
            await asyncio.sleep(0)
            listener.close()
            await accepting
            with self.assertRaises(bertha.Closed):
                await listener.accept()
            with self.assertRaises(bertha.Error):
                await bertha.connect("tcp", listener.address, handshake_timeout=0.2)

        self.run_loop(run())


@unittest.skipUnless(uvloop, "uvloop is not there")
class Uvloop(Asyncio):
    if uvloop:
        new_loop = staticmethod(uvloop.new_event_loop)


if __name__ == "__main__":
    unittest.main()
