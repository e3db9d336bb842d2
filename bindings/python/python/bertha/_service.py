"""Services as decorated classes."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import _bertha
from ._codecs import Codec, codec
from ._errors import CallMalformed, text_of
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
    takes_requests: bool = False
    """True if its last parameter is a stream of further requests, which `parameters` leaves out."""
    request: Any = None
    """The type of a further request."""


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
        try:
            return self._codec.encode([plain(argument) for argument in arguments])
        except Exception as error:
            raise CallMalformed(f"the arguments of `{method.name}` can't be written: {text_of(error)}", False) from error

    def requests(self, method: Method, arguments: Tuple[Any, ...], named: Dict[str, Any]) -> Tuple[bytes, Any]:
        """Returns the request, and what gives the further ones."""
        if not method.takes_requests:
            return self.request(method, arguments, named), None
        bound = method.signature.bind(None, *arguments, **named)
        bound.apply_defaults()
        *first, given = bound.args[1:]
        is_iterable = hasattr(given, "__aiter__") or hasattr(given, "__iter__")
        if not is_iterable or isinstance(given, (bytes, bytearray, memoryview)):
            raise TypeError(f"the last argument of `{method.name}` is an iterator of requests")
        return self.request(method, tuple(first), {}), given

    def read_request(self, method: Method, request: bytes) -> Any:
        return request if self._codec is None else shaped(method.request, self._codec.decode(request))

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
        if self._codec is None:
            return response
        try:
            return shaped(method.response, self._codec.decode(response))
        except Exception as error:
            raise CallMalformed(f"the response is none of `{method.name}`: {text_of(error)}") from error


def service(kind: Any = None, *, name: Optional[str] = None) -> Any:
    """Makes a class a service: each of its public coroutines is a method, and each asynchronous generator one with a stream of responses. A last
    parameter of the type `AsyncIterator` is a stream of requests.

    Parameters and results are dataclasses, lists, dictionaries, texts, numbers and bytes, by their annotations. A method is
    called `Class.method`, as in a service of Rust.
    """
    return _decorated(kind, name, _is_async, "coroutines")


def service_in_threads(kind: Any = None, *, name: Optional[str] = None) -> Any:
    """Makes a class a service for threads: each of its public functions is a method, and each generator one with a stream of responses. A last
    parameter of the type `Iterator` is a stream of requests.

    All else is as with `bertha.service`.
    """
    return _decorated(kind, name, lambda function: inspect.isfunction(function) and not _is_async(function), "functions")


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)


def _decorated(kind: Any, name: Optional[str], is_method: Any, what: str) -> Any:
    def decorate(kind: type) -> type:
        methods = {}
        for attribute in dir(kind):
            function = getattr(kind, attribute)
            if is_method(function) and not attribute.startswith("_"):
                methods[attribute] = _method(f"{name or kind.__name__}.{attribute}", function)
        if not methods:
            raise TypeError(f"{kind.__name__} has no public {what}")
        kind.__bertha_methods__ = methods  # type: ignore[attr-defined]
        return kind

    return decorate if kind is None else decorate(kind)


_ASYNC_STREAMS = (collections.abc.AsyncIterator, collections.abc.AsyncIterable, collections.abc.AsyncGenerator)
_STREAMS = (collections.abc.Iterator, collections.abc.Generator)


def _method(name: str, function: Any) -> Method:
    signature = inspect.signature(function)
    hints = typing.get_type_hints(function, include_extras=True)
    streams = _ASYNC_STREAMS if _is_async(function) else _STREAMS
    parameters = list(signature.parameters.values())[1:]
    for parameter in parameters:
        if parameter.name in RESERVED or parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
            raise TypeError(f"`{name}`: `{parameter}` can't be a parameter of a method")
    kinds = [(parameter.name, hints.get(parameter.name, Any)) for parameter in parameters]
    requests = _items(kinds[-1][1], streams) if kinds else None
    if requests is not None:
        kinds.pop()
    for label, kind in kinds:
        if _items(kind, _ASYNC_STREAMS + _STREAMS) is not None:
            raise TypeError(f"`{name}`: a stream is the last parameter and of the flavour of the method, which `{label}` is not")
    response = hints.get("return", Any)
    is_stream = inspect.isasyncgenfunction(function) or inspect.isgeneratorfunction(function)
    items = _items(response, streams)
    if items is not None:
        is_stream, (response,) = True, items
    elif is_stream:
        response = Any
    request = requests[0] if requests is not None else None
    return Method(name, tuple(kinds), response, is_stream, signature, requests is not None, request)


def _items(kind: Any, streams: Tuple[Any, ...]) -> Optional[Tuple[Any]]:
    """Returns the type of the items if the type is that of a stream."""
    if kind in streams or typing.get_origin(kind) in streams:
        return ((typing.get_args(kind) or (Any,))[0],)
    return None


def served_methods(service: Any, *, in_threads: bool) -> Dict[int, Tuple[Any, Method]]:
    """Returns the functions and methods of a service, by the numbers that are on the wire."""
    served = {}
    for number, (attribute, method) in numbers_of(service).items():
        function = getattr(service, attribute)
        if _is_async(function) == in_threads:
            right = "bertha.blocking.serve" if not in_threads else "bertha.serve"
            raise TypeError(f"`{method.name}` is of the other flavour: serve it with `{right}`")
        served[number] = function, method
    return served


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
