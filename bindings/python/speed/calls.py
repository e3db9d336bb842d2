"""Calls of 64 bytes over TCP of one machine: by Bertha, or by grpcio.

    calls.py serve WAY                            prints an address, and serves until it is killed
    calls.py call WAY ADDRESS NUMBER SECONDS      prints the calls per second, of which this number is in flight

WAY is bertha or grpc. Requests and responses are bytes in both.
"""

import asyncio
import sys

from messages import rate

REQUEST = bytes(64)


# Calls that each caller makes one after another, between two looks at the clock.
EACH = 8


def echo_service():
    import bertha

    @bertha.service
    class Echo:
        async def echo(self, data: bytes) -> bytes:
            return data

    return Echo


async def serve_bertha():
    import bertha

    async with bertha.serve(echo_service()(), "tcp", "127.0.0.1:0", codec="bytes") as server:
        print(server.address, flush=True)
        await asyncio.Event().wait()


async def serve_grpc():
    import grpc

    async def echo(request, context):
        return request

    handlers = {"echo": grpc.unary_unary_rpc_method_handler(echo)}
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Echo", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(f"127.0.0.1:{port}", flush=True)
    await asyncio.Event().wait()


async def calls(echo, in_flight, seconds):
    """Keeps a number of calls in flight."""

    async def caller():
        for _ in range(EACH):
            await echo(REQUEST)

    async def some():
        await asyncio.gather(*(caller() for _ in range(in_flight)))

    print(await rate(seconds, some, EACH * in_flight))


async def call_bertha(address, in_flight, seconds):
    import bertha

    async with bertha.call(echo_service(), "tcp", address, codec="bytes") as client:
        await calls(client.echo, in_flight, seconds)


async def call_grpc(address, in_flight, seconds):
    import grpc

    async with grpc.aio.insecure_channel(address) as channel:
        await calls(channel.unary_unary("/Echo/echo"), in_flight, seconds)


def main():
    command, way, *rest = sys.argv[1:]
    if command == "serve":
        asyncio.run({"bertha": serve_bertha, "grpc": serve_grpc}[way]())
    else:
        address, in_flight, seconds = rest
        asyncio.run({"bertha": call_bertha, "grpc": call_grpc}[way](address, int(in_flight), float(seconds)))


if __name__ == "__main__":
    main()
