"""Calls for threads."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any, Dict, Optional, Tuple

from . import _bertha
from ._calls import AnyClient, Metadata, answered, pairs, read_call
from ._errors import Error
from ._options import written
from ._service import Format, Method, methods_of, served_methods
from ._streams import ArrivedInThread, Sending


class Responses:
    """The responses to a call. The call is cancelled with the last reference, or by `close`."""

    def __init__(self, client: Client, method: Method, opening: Any, begin: Any) -> None:
        self._client, self._method, self._opening, self._begin = client, method, opening, begin
        self._responses: Any = None
        self._sending: Optional[Sending] = None

    def __iter__(self) -> Responses:
        return self

    def __next__(self) -> Any:
        try:
            if self._responses is None:
                if self._opening is None:
                    raise StopAsyncIteration
                if self._begin is not None:
                    self._sending = self._begin()
                self._responses = self._opening.wait()
            response = self._responses.next().wait()
        except StopAsyncIteration:
            raise StopIteration from None
        except Error as failure:
            raise _cause(self._sending, failure)
        return self._client._format.read(self._method, response)

    @property
    def metadata(self) -> Dict[str, bytes]:
        """Names and values that the server has sent with the end."""
        return dict(self._responses.trailers()) if self._responses is not None else {}

    def close(self) -> None:
        """Cancels the call."""
        self._responses = self._opening = None

    def __enter__(self) -> Responses:
        return self

    def __exit__(self, kind, error, traceback) -> None:
        self.close()


class Client(AnyClient):
    """A client of a service: it has the methods of the service's class, with the further arguments `deadline`, in seconds, and `metadata`.

    A method waits for its response. Ctrl-C ends the wait, and cancels the call. A stream of requests is any iterable, which a thread of its own reads.
    """

    def _call(self, method: Method) -> Any:
        ask, format = self._caller.ask, self._format

        def call(*arguments, deadline=None, metadata=None, **named):
            request, given = format.requests(method, arguments, named)
            requests = _bertha.Requests() if method.takes_requests else None
            asking = ask(method.name, request, deadline, pairs(metadata), requests)
            sending = Sending(requests, given, format) if method.takes_requests else None
            try:
                response, _ = asking.wait()
            except Error as failure:
                raise _cause(sending, failure)
            return format.read(method, response)

        return call

    def _stream(self, method: Method) -> Any:
        open, format = self._caller.open, self._format

        def call(*arguments, deadline=None, metadata=None, **named):
            request, given = format.requests(method, arguments, named)
            requests = _bertha.Requests() if method.takes_requests else None
            opening = open(method.name, request, deadline, pairs(metadata), requests)
            begin = (lambda: Sending(requests, given, format)) if method.takes_requests else None
            return Responses(self, method, opening, begin)

        return call

    def ask(
        self, method: str, request: bytes, *, deadline: Optional[float] = None, metadata: Optional[Metadata] = None
    ) -> Tuple[bytes, Dict[str, bytes]]:
        """Makes a call by name and in bytes, and returns the response and the metadata of the server."""
        response, trailers = self._caller.ask(method, request, deadline, pairs(metadata)).wait()
        return response, dict(trailers)

    def close(self) -> None:
        """Closes the connection. Calls under way fail."""
        self._caller.close().wait()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind, error, traceback) -> None:
        self.close()


def _cause(sending: Optional[Sending], failure: Error) -> BaseException:
    """Returns the exception of the iterator that has ended a call, or else the failure."""
    error = sending.error if sending is not None else None
    return failure if error is None else error


def call(
    service: Any,
    datapath: str,
    address: str,
    stack: str = "",
    *,
    codec: str = "json",
    timeout: Optional[float] = None,
    **options: Any,
) -> Client:
    """Connects to a service as `bertha.call` does. The class of the service is one for threads, or for asyncio."""
    methods, format = methods_of(service), Format(codec)
    calling = _bertha.call(datapath, address, stack, written({"codec": codec, **options}))
    return Client(calling.wait(timeout), methods, format)


class serve:
    """A service, which listens from now on: `with` answers its calls in threads, and ends it.

    The service is an instance of a class that is decorated with `blocking.service`. At most `threads` calls are answered at a time. The other arguments are
    those of `bertha.serve`.
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
        threads: int = 8,
        **options: Any,
    ) -> None:
        if threads < 1:
            raise ValueError("a service has one thread at least")
        self._format, self._grace, self._methods = Format(codec), grace, served_methods(service, in_threads=True)
        self._server = _bertha.serve(datapath, address, stack, written({"codec": codec, **options}))
        self._calls: queue.SimpleQueue = queue.SimpleQueue()
        # A call is taken when there is a thread for it: further ones wait at their clients.
        self._free = threading.Semaphore(threads)
        self._threads = [threading.Thread(target=self._work, daemon=True, name="bertha-service") for _ in range(threads)]

    @property
    def address(self) -> str:
        """The address at which the service listens."""
        return self._server.address

    def __enter__(self) -> serve:
        self._run = threading.Thread(target=self.run, daemon=True, name="bertha-service")
        self._run.start()
        return self

    def __exit__(self, kind, error, traceback) -> None:
        self._server.end(self._grace)
        self._run.join()

    def end(self) -> None:
        """Begins to end the service: `run` returns behind its last call."""
        self._server.end(self._grace)

    def run(self) -> None:
        """Answers calls until the service ends. Ctrl-C ends it at once."""
        for thread in self._threads:
            thread.start()
        try:
            while True:
                self._free.acquire()
                self._calls.put(self._server.next().wait())
        except StopAsyncIteration:
            pass
        except BaseException:
            self._server.end(0)
            raise
        finally:
            for _ in self._threads:
                self._calls.put(None)
        # Nobody waits for a handler that still runs.
        late = time.monotonic() + self._grace
        for thread in self._threads:
            thread.join(max(0.0, late - time.monotonic()))

    def _work(self) -> None:
        while True:
            call = self._calls.get()
            if call is None:
                return
            try:
                self._answer(call)
            finally:
                self._free.release()

    def _answer(self, call: Any) -> None:
        found = read_call(call, self._methods, self._format, ArrivedInThread)
        if found is None:
            return
        function, method, arguments = found
        with answered(call, method):
            if method.is_stream:
                self._stream(call, function(*arguments))
            else:
                call.answer(self._format.write(function(*arguments)))

    def _stream(self, call: Any, responses: Any) -> None:
        try:
            for response in responses:
                if not call.respond(self._format.write(response)).wait():
                    return
            call.end()
        finally:
            if hasattr(responses, "close"):
                responses.close()
