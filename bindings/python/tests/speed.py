"""Measures the bindings against what Python has: run by hand, with a wheel that was built for a release.

    maturin build --release && pip install .. && python speed.py
"""

import asyncio
import sys
import time

import bertha

SECONDS = 2.0


async def per_second(once):
    began, number = time.perf_counter(), 0
    while time.perf_counter() - began < SECONDS:
        for _ in range(50):
            await once()
        number += 50
    return number / (time.perf_counter() - began)


async def by_streams(size, run):
    async def serve(reader, writer):
        try:
            while True:
                length = int.from_bytes(await reader.readexactly(4), "big")
                message = await reader.readexactly(length)
                writer.write(length.to_bytes(4, "big") + message)
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=4 << 20)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), limit=4 << 20)
    message = bytes(size)

    async def once():
        writer.write(size.to_bytes(4, "big") + message)
        await writer.drain()
        await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))

    result = await run(once)
    writer.close()
    server.close()
    return result


async def by_bertha(size, run):
    async def serve(listener):
        async for client in listener:
            async for message in client:
                await client.send(message)

    async with bertha.listen("tcp", "127.0.0.1:0") as listener:
        server = asyncio.ensure_future(serve(listener))
        async with bertha.connect("tcp", listener.address) as connection:
            message = bytes(size)

            async def once():
                await connection.send(message)
                await connection.receive()

            result = await run(once)
        server.cancel()
        return result


async def calls(run):
    @bertha.service
    class Echo:
        async def echo(self, data: bytes) -> bytes:
            return data

    async with bertha.serve(Echo(), "tcp", "127.0.0.1:0", codec="bytes") as server:
        async with bertha.call(Echo, "tcp", server.address, codec="bytes") as client:
            one = await run(lambda: client.echo(bytes(64)))
            several = await run(lambda: asyncio.gather(*(client.echo(bytes(64)) for _ in range(64))))
            return one, several * 64


def main():
    if "uvloop" in sys.argv:
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    for size in (64, 1 << 20):
        streams = asyncio.run(by_streams(size, per_second))
        ours = asyncio.run(by_bertha(size, per_second))
        print(f"echo of {size} bytes: {ours:.0f} a second; asyncio's streams {streams:.0f}; ratio {ours / streams:.2f}")
    one, several = asyncio.run(calls(per_second))
    print(f"calls: {one:.0f} a second, 64 at once {several:.0f}")


if __name__ == "__main__":
    main()
