"""Formats of requests and responses, by the names that the two ends compare."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, NamedTuple


class Codec(NamedTuple):
    """A format: to bytes, and back."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


def _json() -> Codec:
    def default(value: Any) -> Any:
        # As `Serialize` has it in Rust.
        if isinstance(value, (bytes, bytearray, memoryview)):
            return list(value)
        raise TypeError(f"JSON has no {type(value).__name__}")

    def encode(value: Any) -> bytes:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=default).encode()

    return Codec(encode, json.loads)


def _cbor() -> Codec:
    import cbor2

    return Codec(cbor2.dumps, cbor2.loads)


def _messagepack() -> Codec:
    import msgpack

    return Codec(msgpack.packb, lambda data: msgpack.unpackb(data, strict_map_key=False))


_MAKERS: Dict[str, Callable[[], Codec]] = {"json": _json, "cbor": _cbor, "messagepack": _messagepack}


def codec(name: str) -> Codec:
    """Returns the codec of this name. `bytes` has none: requests and responses are bytes there."""
    if name not in _MAKERS:
        raise ValueError(f"`{name}` is no codec; the codecs are bytes, {', '.join(_MAKERS)}")
    return _MAKERS[name]()
