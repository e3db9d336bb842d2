"""Calls under asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from . import _bertha
from ._errors import CallError, Error, text_of
from ._options import written
from ._service import Format, Method, methods_of, served_methods
from ._streams import Arrived, send

_log = logging.getLogger("bertha")
_current: contextvars.ContextVar = contextvars.ContextVar("bertha.call")

Metadata = Mapping[str, Union[str, bytes]]


def pairs(metadata: Optional[Metadata]) -> List[Tuple[str, bytes]]:
    if not isinstance(metadata, (Mapping, type(None))):
        raise TypeError("metadata is None, or a mapping of names to texts or bytes")
    given = (metadata or {}).items()
    return [(name, value.encode() if isinstance(value, str) else bytes(value)) for name, value in given]


class Responses:
    """The responses to a call. The call is cancelled with the last reference, or by `aclose`."""

    def __init__(self, client: Client, method: Method, opening: Any, begin: Any = None) -> None:
        self._client, self._method, self._opening, self._begin = client, method, opening, begin
        self._responses: Any = None
        self._sending: Any = None

    def __aiter__(self) -> Responses:
        return self

    async def __anext__(self) -> Any:
        try:
            if self._responses is None:
                if self._opening is None:
                    raise StopAsyncIteration
                if self._begin is not None:
                    self._sending = asyncio.ensure_future(self._begin())
                self._responses = await self._opening
            response = await self._responses.next()
        except StopAsyncIteration:
            self._end()
            raise
        except Error as failure:
            self._end()
            raise _cause(self._sending, failure)
        return self._client._format.read(self._method, response)

    @property
    def metadata(self) -> Dict[str, bytes]:
        """Names and values that the server has sent with the end."""
        return dict(self._responses.trailers()) if self._responses is not None else {}

    async def aclose(self) -> None:
        """Cancels the call."""
        self._end()
        self._responses = self._opening = None

    def _end(self) -> None:
        if self._sending is not None:
            self._sending.cancel()


def _cause(sending: Any, failure: Error) -> Exception:
    """Returns the exception of the iterator that has ended a call, or else the failure."""
    error = sending.result() if sending is not None and sending.done() and not sending.cancelled() else None
    return failure if error is None else error


class AnyClient:
    """A client of a service, under asyncio or for threads."""

    def __init__(self, caller: Any, methods: Mapping[str, Method], format: Format) -> None:
        self._caller, self._methods, self._format = caller, methods, format

    def __getattr__(self, attribute: str) -> Any:
        method = self.__dict__.get("_methods", {}).get(attribute)
        if method is None:
            raise AttributeError(f"the service has no method `{attribute}`")
        call = self._stream(method) if method.is_stream else self._call(method)
        # Found at once the next time.
        self.__dict__[attribute] = call
        return call

    def explain(self) -> str:
        """Returns the stack in use, and the reasons for it."""
        return self._caller.told()[0]

    def statistics(self) -> str:
        """Returns the state of each layer, and of the calls."""
        return self._caller.told()[1]

    @property
    def peer_identity(self) -> Optional[str]:
        """The identity that the server has proved."""
        return self._caller.told()[2]


class Client(AnyClient):
    """A client of a service: it has the methods of the service's class, with the further arguments `deadline`, in seconds, and `metadata`.

    A stream of requests is any iterable, asynchronous or not.
    """

    def _call(self, method: Method) -> Any:
        ask, format = self._caller.ask, self._format

        async def call(*arguments, deadline=None, metadata=None, **named):
            request = format.request(method, arguments, named)
            response, _ = await ask(method.name, request, deadline, pairs(metadata))
            return format.read(method, response)

        async def call_with_requests(*arguments, deadline=None, metadata=None, **named):
            request, given = format.requests(method, arguments, named)
            requests = _bertha.Requests()
            asking = ask(method.name, request, deadline, pairs(metadata), requests)
            sending = asyncio.ensure_future(send(requests, given, format))
            try:
                response, _ = await asking
            except Error as failure:
                raise _cause(sending, failure)
            finally:
                sending.cancel()
            return format.read(method, response)

        return call_with_requests if method.takes_requests else call

    def _stream(self, method: Method) -> Any:
        open, format = self._caller.open, self._format

        def call(*arguments, deadline=None, metadata=None, **named):
            request, given = format.requests(method, arguments, named)
            if not method.takes_requests:
                return Responses(self, method, open(method.name, request, deadline, pairs(metadata)))
            requests = _bertha.Requests()
            opening = open(method.name, request, deadline, pairs(metadata), requests)
            return Responses(self, method, opening, lambda: send(requests, given, format))

        return call

    async def ask(
        self, method: str, request: bytes, *, deadline: Optional[float] = None, metadata: Optional[Metadata] = None
    ) -> Tuple[bytes, Dict[str, bytes]]:
        """Makes a call by name and in bytes, and returns the response and the metadata of the server."""
        response, trailers = await self._caller.ask(method, request, deadline, pairs(metadata))
        return response, dict(trailers)

    async def close(self) -> None:
        """Closes the connection. Calls under way fail."""
        await self._caller.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind, error, traceback) -> None:
        await self.close()


class call:
    """A client that is being connected to a service: `async with` has it, and closes it in the end; `await` returns it.

    The service is the decorated class. The other arguments are those of `connect`, and `codec`: cbor, messagepack, json or bytes.
    """

    def __init__(
        self, service: Any, datapath: str, address: str, stack: str = "", *, codec: str = "json", **options: Any
    ) -> None:
        self._methods, self._format = methods_of(service), Format(codec)
        self._calling = _bertha.call(datapath, address, stack, written({"codec": codec, **options}))

    async def _connected(self) -> Client:
        return Client(await self._calling, self._methods, self._format)

    def __await__(self):
        return self._connected().__await__()

    async def __aenter__(self) -> Client:
        self._client = await self._connected()
        return self._client

    async def __aexit__(self, kind, error, traceback) -> None:
        await self._client.close()


class Call:
    """The call that a handler answers."""

    def __init__(self, arrived: Any) -> None:
        self._arrived = arrived

    @property
    def metadata(self) -> Dict[str, bytes]:
        """Names and values beside the request."""
        return dict(self._arrived.about()[0])

    @property
    def left(self) -> Optional[float]:
        """Number of seconds until the deadline."""
        return self._arrived.about()[1]

    @property
    def peer_address(self) -> str:
        return self._arrived.about()[2]

    @property
    def peer_identity(self) -> Optional[str]:
        """The identity that the client has proved."""
        return self._arrived.about()[3]

    @property
    def is_cancelled(self) -> bool:
        """True once nobody waits for the answer: a handler in a thread may look."""
        return self._arrived.is_cancelled

    def add_trailer(self, name: str, value: Union[str, bytes]) -> None:
        """Sends a name and a value beside the response."""
        self._arrived.add_trailer(name, value.encode() if isinstance(value, str) else bytes(value))


def read_call(call: Any, methods: Mapping[int, Tuple[Any, Method]], format: Format, arrived: Any) -> Any:
    """Returns the function that answers a call, its method and its arguments; None if the call has failed."""
    number, request = call.asked()
    function, method = methods.get(number, (None, None))
    if method is None:
        call.fail("UnknownMethod", "the service has no such method")
        return None
    try:
        arguments = format.arguments(method, request)
    except Exception as error:
        call.fail("Malformed", f"the request is none of `{method.name}`: {text_of(error)}")
        return None
    if method.takes_requests:
        arguments.append(arrived(call.requests(), method, format))
    return function, method, arguments


@contextlib.contextmanager
def answered(call: Any, method: Method) -> Iterator[None]:
    """Runs the handler of a call, which fails with what the handler raises."""
    token = _current.set(call)
    try:
        yield
    except CallError as failure:
        call.fail(failure.kind, text_of(failure))
    except asyncio.CancelledError:
        # Whatever was cancelled, the handler has run up to there.
        call.fail("Failed", "the handler was cancelled")
        raise
    except BaseException as error:
        # The text may have secrets, which are for the log.
        _log.exception("the handler of `%s` has failed", method.name)
        call.fail("Failed", f"the handler has failed by {type(error).__name__}")
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
    finally:
        _current.reset(token)


def current_call() -> Call:
    """Returns the call that the running handler answers; `LookupError` elsewhere."""
    return Call(_current.get())


class serve:
    """A service, which listens from now on: `async with` answers its calls, and ends it.

    The service is an instance of a decorated class. The other arguments are those of `call`. At the end, calls under way have `grace`
    seconds.
    """

    def __init__(
        self,
        service: Any,
        datapath: str,
        address: str,
        stack: str = "",
        *,
        codec: str = "json",
        grace: float = 5.0,
        **options: Any,
    ) -> None:
        self._format, self._grace, self._tasks = Format(codec), grace, set()
        self._methods = served_methods(service, in_threads=False)
        self._server = _bertha.serve(datapath, address, stack, written({"codec": codec, **options}))

    @property
    def address(self) -> str:
        """The address at which the service listens."""
        return self._server.address

    async def __aenter__(self) -> serve:
        self._run = asyncio.ensure_future(self.run())
        return self

    async def __aexit__(self, kind, error, traceback) -> None:
        self._server.end(self._grace)
        await self._run

    def end(self) -> None:
        """Begins to end the service: `run` returns behind its last call."""
        self._server.end(self._grace)

    async def run(self) -> None:
        """Answers calls until the service ends."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                call = await self._server.next()
                task = loop.create_task(self._answer(call))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                if not task.done():
                    # A client that is gone is no reason to hurry.
                    watch = loop.call_later(0.01, _watch, loop, task, call)
                    task.add_done_callback(lambda _, watch=watch: watch.cancel())
        except StopAsyncIteration:
            pass
        finally:
            for task in self._tasks:
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, call: Any) -> None:
        found = read_call(call, self._methods, self._format, Arrived)
        if found is None:
            return
        function, method, arguments = found
        with answered(call, method):
            if method.is_stream:
                await self._stream(call, function(*arguments))
            else:
                call.answer(self._format.write(await function(*arguments)))

    async def _stream(self, call: Any, responses: Any) -> None:
        try:
            async for response in responses:
                if not await call.respond(self._format.write(response)):
                    return
            call.end()
        finally:
            if hasattr(responses, "aclose"):
                await responses.aclose()


def _watch(loop: Any, task: Any, call: Any) -> None:
    """Cancels the task of a handler when nobody waits for it any more."""
    if task.done():
        return

    async def watch() -> None:
        await call.cancelled()
        task.cancel()

    watching = loop.create_task(watch())
    task.add_done_callback(lambda _: watching.cancel())
