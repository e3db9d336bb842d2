"""Values of a program's types, and the plain values that formats have."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import types
import typing
from typing import Any


def plain(value: Any) -> Any:
    """Returns the value of maps, lists, texts and numbers that stands for this one."""
    if value is None or isinstance(value, (str, int, float, bytes)) and not isinstance(value, enum.Enum):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, collections.abc.Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} is no type of requests and responses")


def shaped(kind: Any, value: Any) -> Any:
    """Returns the value of a type that a plain value stands for; `TypeError` or `ValueError` if it stands for none."""
    if kind is Any or kind is None or isinstance(kind, typing.TypeVar):
        return value
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union or origin is getattr(types, "UnionType", ()):
        return _one_of(kind, parts, value)
    if origin is typing.Annotated:
        return shaped(parts[0], value)
    if origin in (list, set, frozenset, tuple, collections.abc.Sequence):
        return _several(kind, origin, parts, value)
    if origin in (dict, collections.abc.Mapping):
        _check(kind, dict, value)
        return {shaped(parts[0], key): shaped(parts[1], item) for key, item in value.items()}
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, value)
    if not isinstance(kind, type):
        return value
    if issubclass(kind, enum.Enum):
        return kind(value)
    if kind is float and type(value) is int:
        return float(value)
    if kind is bytes and isinstance(value, list):
        return bytes(value)
    _check(kind, kind, value)
    return value


def _check(kind: Any, wanted: Any, value: Any) -> None:
    # True is a number for Python, and not for a program.
    if not isinstance(value, wanted) or wanted is int and isinstance(value, bool):
        raise TypeError(f"{getattr(kind, '__name__', kind)} was expected, and {type(value).__name__} is there")


def _one_of(kind: Any, parts: Any, value: Any) -> Any:
    for part in parts:
        try:
            return shaped(part, value)
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{kind} was expected, and {type(value).__name__} is there")


def _several(kind: Any, origin: Any, parts: Any, value: Any) -> Any:
    _check(kind, (list, tuple), value)
    if origin is tuple and parts and parts[-1] is not Ellipsis:
        if len(parts) != len(value):
            raise TypeError(f"{len(parts)} values were expected, and {len(value)} are there")
        return tuple(shaped(part, item) for part, item in zip(parts, value))
    part = parts[0] if parts else Any
    items = (shaped(part, item) for item in value)
    return list(items) if origin is collections.abc.Sequence else origin(items)


def _dataclass(kind: Any, value: Any) -> Any:
    _check(kind, dict, value)
    hints = typing.get_type_hints(kind)
    fields = [field for field in dataclasses.fields(kind) if field.init]
    # Fields that are unknown are of a newer end.
    return kind(**{field.name: shaped(hints[field.name], value[field.name]) for field in fields if field.name in value})
