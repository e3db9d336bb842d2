"""What tests share: event loops, servers that echo, programs of their own, certificates."""

import asyncio
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import bertha

try:
    import uvloop
except ImportError:
    uvloop = None

# What no test may take, whatever the machine does meanwhile.
LONG = 60


class Tested(unittest.TestCase):
    """Coroutines run in a new event loop each."""

    new_loop = staticmethod(asyncio.new_event_loop)

    def run_loop(self, coroutine):
        loop = self.new_loop()
        errors = []
        loop.set_exception_handler(lambda _, context: errors.append(context))
        try:
            result = loop.run_until_complete(asyncio.wait_for(coroutine, LONG))
            loop.run_until_complete(_end_others())
            self.assertEqual(errors, [])
            return result
        finally:
            loop.close()


async def _end_others():
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def echo(listener):
    """Sends each message of each client back, until the listener is closed."""

    async def serve(client):
        async with client:
            async for message in client:
                await client.send(message)

    tasks = [asyncio.ensure_future(serve(client)) async for client in listener]
    await asyncio.gather(*tasks, return_exceptions=True)


async def pair(datapath="tcp", stack="", address="127.0.0.1:0", **options):
    """Returns the two ends of a connection."""
    async with bertha.listen(datapath, address, stack, **options) as listener:
        connection = await bertha.connect(datapath, listener.address, stack, **options)
        return connection, await listener.accept()


def program(text, *, input=None, check=True, **options):
    """Runs a program of its own, and returns what it was."""
    ran = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", text],
        input=input,
        capture_output=True,
        text=True,
        timeout=LONG,
        **options,
    )
    if check and ran.returncode != 0:
        raise AssertionError(f"exit code {ran.returncode}: {ran.stdout}{ran.stderr}")
    return ran


def socket_in(folder):
    """Returns a Unix address in a folder."""
    return f"unix:{folder}/socket"


def certificate(folder, name):
    """Makes a certificate, which is no authority's, and its key."""
    settings = Path(folder, f"{name}.conf")
    settings.write_text(
        f"[req]\nprompt = no\ndistinguished_name = subject\nx509_extensions = extensions\n[subject]\nCN = {name}\n"
        f"[extensions]\nsubjectAltName = DNS:{name}\nbasicConstraints = critical, CA:FALSE\n"
    )
    made, key = Path(folder, f"{name}.pem"), Path(folder, f"{name}.key")
    command = ["openssl", "req", "-x509", "-nodes", "-days", "2", "-config", settings, "-keyout", key, "-out", made]
    command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    subprocess.run(command, check=True, capture_output=True)
    return made, key


def folder():
    """Returns a folder that is gone behind its `with`."""
    return tempfile.TemporaryDirectory()
