"""Echoes messages over TCP of one machine, or sends them one way: by Bertha, or by asyncio's streams.

    messages.py serve WAY                        prints an address, and serves until it is killed
    messages.py echo WAY ADDRESS SIZE SECONDS    prints the round trips per second
    messages.py send WAY ADDRESS SIZE SECONDS    prints the messages per second, which the server takes and drops

WAY is bertha or streams. A server echoes the messages of a client whose first message is `echo`; of other clients it answers each
hundredth message.
"""

import asyncio
import sys
import time

# Messages of which the server confirms the last.
WINDOW = 100


class Streams:
    """Messages by hand: a length of four bytes, and the bytes."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @staticmethod
    async def serve(once):
        async def accepted(reader, writer):
            try:
                await once(Streams(reader, writer))
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()

        server = await asyncio.start_server(accepted, "127.0.0.1", 0, limit=4 << 20)
        host, port = server.sockets[0].getsockname()
        return server, f"{host}:{port}"

    @staticmethod
    async def connect(address):
        return Streams(*await asyncio.open_connection(*address.rsplit(":", 1), limit=4 << 20))

    async def send(self, message):
        self.writer.write(len(message).to_bytes(4, "big") + message)
        await self.writer.drain()

    async def receive(self):
        return await self.reader.readexactly(int.from_bytes(await self.reader.readexactly(4), "big"))

    receive_buffer = receive


class Bertha:
    """Messages by Bertha."""

    @staticmethod
    async def serve(once):
        import bertha

        async def accepted(client):
            try:
                await once(client)
            except (bertha.Closed, bertha.Reset):
                await client.close()

        async def accept():
            async for client in listener:
                tasks.add(asyncio.ensure_future(accepted(client)))

        listener = bertha.listen("tcp", "127.0.0.1:0")
        tasks = {asyncio.ensure_future(accept())}
        return (listener, tasks), listener.address

    @staticmethod
    async def connect(address):
        import bertha

        return await bertha.connect("tcp", address)


WAYS = {"streams": Streams, "bertha": Bertha}


async def serve(way):
    async def once(client):
        if await client.receive() == b"echo":
            while True:
                await client.send(await client.receive())
        while True:
            for _ in range(WINDOW):
                await client.receive_buffer()
            await client.send(b"taken")

    _kept, address = await WAYS[way].serve(once)
    print(address, flush=True)
    await asyncio.Event().wait()


async def rate(seconds, some, number):
    """Repeats `some`, which does a number of things, and returns how many a second were done."""
    await some()
    began, done = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        await some()
        done += number
    return done / (time.perf_counter() - began)


async def echo(way, address, size, seconds):
    connection = await WAYS[way].connect(address)
    await connection.send(b"echo")
    message = bytes(size)

    async def some():
        for _ in range(WINDOW):
            await connection.send(message)
            await connection.receive()

    print(await rate(seconds, some, WINDOW))


async def send(way, address, size, seconds):
    connection = await WAYS[way].connect(address)
    await connection.send(b"send")
    message = bytes(size)

    async def some():
        for _ in range(WINDOW):
            await connection.send(message)
        await connection.receive()

    print(await rate(seconds, some, WINDOW))


def main():
    command, way, *rest = sys.argv[1:]
    if command == "serve":
        asyncio.run(serve(way))
    else:
        address, size, seconds = rest
        asyncio.run({"echo": echo, "send": send}[command](way, address, int(size), float(seconds)))


if __name__ == "__main__":
    main()
