"""Messages that come back, over any datapath of this machine.

    echo.py serve DATAPATH ADDRESS
    echo.py ask DATAPATH ADDRESS TEXT..

The datapath is udp, tcp, unix or shm.
"""

import asyncio
import sys

import bertha

STACK = "ordered,reliable,checksum|nothing"


async def answer(client):
    async with client:
        async for message in client:
            await client.send(message)


async def serve(datapath, address):
    async with bertha.listen(datapath, address, STACK) as listener:
        print(listener.address, flush=True)
        clients = [asyncio.ensure_future(answer(client)) async for client in listener]
        await asyncio.gather(*clients)


async def ask(datapath, address, *texts):
    async with bertha.connect(datapath, address, STACK) as connection:
        for text in texts:
            await connection.send(text.encode())
            print((await connection.receive()).decode())


command, *arguments = sys.argv[1:]
asyncio.run({"serve": serve, "ask": ask}[command](*arguments))
