"""Another stack, while messages flow.

    change.py serve ADDRESS
    change.py ask ADDRESS
"""

import asyncio
import sys

import bertha

STACK = "checksum|nothing"
# Messages that come back, in order, while the stack changes.
MESSAGES = 1000


async def answer(client):
    async with client:
        async for message in client:
            await client.send(message)


async def serve(address):
    async with bertha.listen("tcp", address, STACK, upgradable=True) as listener:
        print(listener.address, flush=True)
        clients = [asyncio.ensure_future(answer(client)) async for client in listener]
        await asyncio.gather(*clients)


async def ask(address):
    async with bertha.connect("tcp", address, STACK, upgradable=True) as connection:

        async def traffic():
            for number in range(MESSAGES):
                message = str(number).encode()
                await connection.send(message)
                assert await connection.receive() == message

        print(*connection.explain().chunnels)
        await asyncio.gather(traffic(), connection.upgrade(1))
        print(*connection.explain().chunnels)
        print(MESSAGES, "messages")


command, *arguments = sys.argv[1:]
asyncio.run({"serve": serve, "ask": ask}[command](*arguments))
