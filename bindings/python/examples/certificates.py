"""TLS, with certificates of both ends: a server tells its clients who they are.

    certificates.py serve ADDRESS FOLDER
    certificates.py ask ADDRESS FOLDER

The folder has server.pem, server.key, client.pem and client.key; each certificate is its own authority, and the server's is for
server.test.
"""

import asyncio
import sys

import bertha


def settings(folder, own, other):
    files = {"tls_cert": f"{own}.pem", "tls_key": f"{own}.key", "tls_ca": f"{other}.pem"}
    return {name: f"{folder}/{file}" for name, file in files.items()}


async def answer(client):
    async with client:
        await client.send(client.peer_identity.encode())


async def serve(address, folder):
    async with bertha.listen("tcp", address, "tls", **settings(folder, "server", "client")) as listener:
        print(listener.address, flush=True)
        clients = [asyncio.ensure_future(answer(client)) async for client in listener]
        await asyncio.gather(*clients)


async def ask(address, folder):
    options = settings(folder, "client", "server")
    async with bertha.connect("tcp", address, "tls", tls_name="server.test", **options) as connection:
        print("I am", (await connection.receive()).decode())
        print("it is", connection.peer_identity)


command, *arguments = sys.argv[1:]
asyncio.run({"serve": serve, "ask": ask}[command](*arguments))
