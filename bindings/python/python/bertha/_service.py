"""Services as decorated classes."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import _bertha
from ._codecs import Codec, codec
from ._shapes import plain, shaped

RESERVED = ("deadline", "metadata")


class Method(NamedTuple):
    """A method of a service."""

    name: str
    """The name on the wire, such as `Words.count`."""
    parameters: Tuple[Tuple[str, Any], ...]
    """Names and types of its parameters."""
    response: Any
    is_stream: bool
    signature: inspect.Signature


class Format:
    """How a program's values are written: by a codec, or as they are, if they are bytes."""

    def __init__(self, name: str) -> None:
        self._codec: Optional[Codec] = None if name == "bytes" else codec(name)

    def request(self, method: Method, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> bytes:
        if named or len(arguments) != len(method.parameters):
            bound = method.signature.bind(None, *arguments, **named)
            bound.apply_defaults()
            arguments = bound.args[1:]
        if self._codec is None:
            if len(arguments) > 1:
                raise TypeError("a request of the format `bytes` is one argument")
            return bytes(arguments[0]) if arguments else b""
        return self._codec.encode([plain(argument) for argument in arguments])

    def arguments(self, method: Method, request: bytes) -> List[Any]:
        if self._codec is None:
            return [request][: len(method.parameters)]
        arguments = self._codec.decode(request)
        # Some formats have nothing for no arguments.
        arguments = [] if arguments is None else arguments
        if not isinstance(arguments, (list, tuple)) or len(arguments) != len(method.parameters):
            raise TypeError(f"`{method.name}` has {len(method.parameters)} arguments")
        return [shaped(kind, argument) for (_, kind), argument in zip(method.parameters, arguments)]

    def write(self, value: Any) -> bytes:
        return bytes(value or b"") if self._codec is None else self._codec.encode(plain(value))

    def read(self, method: Method, response: bytes) -> Any:
        return response if self._codec is None else shaped(method.response, self._codec.decode(response))


def service(kind: Any = None, *, name: Optional[str] = None) -> Any:
    """Makes a class a service: each of its public coroutines is a method, and each asynchronous generator one with a stream of responses.

    Parameters and results are dataclasses, lists, dictionaries, texts, numbers and bytes, by their annotations. A method is
    called `Class.method`, as in a service of Rust.
    """

    def decorate(kind: type) -> type:
        methods = {}
        for attribute in dir(kind):
            function = getattr(kind, attribute)
            is_method = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
            if is_method and not attribute.startswith("_"):
                methods[attribute] = _method(f"{name or kind.__name__}.{attribute}", function)
        if not methods:
            raise TypeError(f"{kind.__name__} has no public coroutines")
        kind.__bertha_methods__ = methods  # type: ignore[attr-defined]
        return kind

    return decorate if kind is None else decorate(kind)


def _method(name: str, function: Any) -> Method:
    signature = inspect.signature(function)
    hints = typing.get_type_hints(function, include_extras=True)
    parameters = list(signature.parameters.values())[1:]
    for parameter in parameters:
        if parameter.name in RESERVED or parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise TypeError(f"`{name}`: `{parameter}` can't be a parameter of a method")
    response = hints.get("return", Any)
    is_stream = inspect.isasyncgenfunction(function)
    streams = (collections.abc.AsyncIterator, collections.abc.AsyncIterable, collections.abc.AsyncGenerator)
    if typing.get_origin(response) in streams:
        is_stream, response = True, (typing.get_args(response) or (Any,))[0]
    elif is_stream:
        response = Any
    kinds = tuple((parameter.name, hints.get(parameter.name, Any)) for parameter in parameters)
    return Method(name, kinds, response, is_stream, signature)


def methods_of(service: Any) -> Dict[str, Method]:
    """Returns the methods of a service, or of its class."""
    methods = getattr(service, "__bertha_methods__", None)
    if methods is None:
        raise TypeError(f"{service!r} is no service: decorate its class with `@bertha.service`")
    return methods


def numbers_of(service: Any) -> Dict[int, Tuple[str, Method]]:
    """Returns the methods of a service, by the numbers that are on the wire."""
    methods = methods_of(service)
    numbers = {_bertha.number_of(method.name): (attribute, method) for attribute, method in methods.items()}
    if len(numbers) != len(methods):
        raise TypeError("two methods of the service have names with one number: rename one")
    return numbers
