"""A topic of NATS or Redis, whose messages are acknowledged after the work.

    topic.py work SERVER TOPIC NUMBER       works on this many messages
    topic.py publish SERVER TOPIC TEXT..    publishes some

The server is nats://HOST:PORT or redis://HOST:PORT. The package is built with `maturin build --features nats,redis-streams`.
"""

import asyncio
import sys

import bertha


async def work(server, topic, number):
    async with bertha.connect("topic", f"{server}/{topic}?create=yes&subscription=billing") as orders:
        print("ready", flush=True)
        # Work that fails: a message whose view is released is delivered again.
        (await orders.receive_buffer()).release()
        for _ in range(int(number)):
            order = await orders.receive_buffer()
            print(bytes(order).decode(), flush=True)
            orders.acknowledge(order)


async def publish(server, topic, *texts):
    async with bertha.connect("topic", f"{server}/{topic}") as orders:
        for text in texts:
            await orders.send(text.encode())


command, *arguments = sys.argv[1:]
asyncio.run({"work": work, "publish": publish}[command](*arguments))
