"""Calls of a service, with deadlines, a stream of responses and a stream of requests.

    service.py serve CODEC ADDRESS
    service.py ask CODEC ADDRESS TEXT

The codec is json, cbor (by the package cbor2) or messagepack (by msgpack).
"""

import asyncio
import sys
from dataclasses import dataclass
from typing import AsyncIterator

import bertha


@dataclass
class Count:
    letters: int
    words: int


@bertha.service
class Words:
    async def count(self, text: str) -> Count:
        return Count(len(text), len(text.split()))

    async def split(self, text: str) -> AsyncIterator[str]:
        for word in text.split():
            yield word

    async def join(self, separator: str, words: AsyncIterator[str]) -> str:
        return separator.join([word async for word in words])

    async def sleep(self, milliseconds: int) -> None:
        await asyncio.sleep(milliseconds / 1000)


async def serve(codec, address):
    async with bertha.serve(Words(), "tcp", address, codec=codec) as server:
        print(server.address, flush=True)
        await asyncio.Event().wait()


async def ask(codec, address, text):
    async with bertha.call(Words, "tcp", address, codec=codec) as words:
        count = await words.count(text, deadline=30)
        print(f"{count.letters} letters, {count.words} words")
        async for word in words.split(text, deadline=30):
            print(word)
        print(await words.join("-", text.split(), deadline=30))
        try:
            await words.sleep(60_000, deadline=0.05)
        except bertha.CallTimedOut:
            print("no longer than 50 ms")


command, *arguments = sys.argv[1:]
asyncio.run({"serve": serve, "ask": ask}[command](*arguments))
