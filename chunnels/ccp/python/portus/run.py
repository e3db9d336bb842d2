"""The beginning and the end of an agent's process."""

import contextlib
import inspect
import logging
import os
import signal
import threading

from .agent import Agent
from .guarded import GuardedSocket

log = logging.getLogger("portus")

# The socket where datapaths look for an agent, unless an argument or this variable of the environment names another.
DEFAULT_PATH = "/tmp/ccp/portus"
VARIABLE = "PORTUS_SOCKET"

# Time in seconds after which the agent looks if it has to stop.
TICK = 0.2

# Maximum number of messages between two such looks.
BURST = 256

METHODS = {"datapath_programs": (), "new_flow": ("datapath", "datapath_info")}


class AlgBase:
    """The base of algorithms.

    An algorithm has two methods: `datapath_programs(self)` returns a dict of programs by their names, and
    `new_flow(self, datapath, datapath_info)` returns an object for a flow, whose `on_report(self, report)` gets the
    flow's reports, and whose `close(self)`, if it has one, is called at the end of the flow.
    """

    @classmethod
    def assert_implements_interface(cls, algorithm):
        """Raises NotImplementedError for a class that lacks a method, and NameError for other parameters."""
        for name, parameters in METHODS.items():
            method = getattr(algorithm, name, None)
            if not callable(method):
                raise NotImplementedError(f"{algorithm.__name__} has no method `{name}`")
            found = tuple(inspect.signature(method).parameters)[1:]
            if found != parameters:
                expected = ", ".join(("self", *parameters))
                raise NameError(f"{algorithm.__name__}.{name} has to have the parameters ({expected})")
        return True


def start(ipc, alg, path=None, debug=False):
    """Runs an algorithm until the process gets SIGINT or SIGTERM, and returns 0.

    `ipc` is "unix". `path` is the agent's socket; without it the variable PORTUS_SOCKET of the environment is, and
    without that /tmp/ccp/portus. With `debug` each message is logged.
    """
    if ipc != "unix":
        raise ValueError(f"this package has the ipc `unix`, and not `{ipc}`")
    if not isinstance(alg, AlgBase):
        raise TypeError(f"{type(alg).__name__} must be a subclass of portus.AlgBase")
    AlgBase.assert_implements_interface(type(alg))
    # Does nothing if the program has chosen its own log.
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    if debug:
        log.setLevel(logging.DEBUG)
    _serve(alg, path or os.environ.get(VARIABLE) or DEFAULT_PATH)
    return 0


def connect(ipc, alg, debug=False, blocking=True, path=None):
    """Works as `start`, and also takes a class, of which it makes an algorithm. `blocking` has no meaning."""
    del blocking
    return start(ipc, alg() if isinstance(alg, type) else alg, path=path, debug=debug)


def _serve(algorithm, path):
    agent = Agent(algorithm, lambda message, to: _send(socket, message, to))
    socket = GuardedSocket(path)
    stop = threading.Event()
    with contextlib.closing(socket), _stopped_by_signals(stop):
        log.info("listening for datapaths at %s", socket.path)
        while not stop.is_set():
            socket.wait(TICK)
            for _ in range(BURST):
                received = socket.receive()
                if received is None:
                    break
                log.debug("from %s: %s", received[1], received[0].hex())
                agent.on_datagram(*received)
            agent.end_flows_of_vanished()
    log.info("ended: %d messages dropped, %d not taken by datapaths", agent.refused, agent.unsent)


def _send(socket, message, to):
    is_taken = socket.send(message, to)
    log.debug("to %s, %s: %s", to, "taken" if is_taken else "not taken", message.hex())
    return is_taken


@contextlib.contextmanager
def _stopped_by_signals(stop):
    """Lets SIGINT and SIGTERM end the agent after the present message, and a second signal at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}

    def on_signal(number, _):
        signal.signal(number, signal.SIG_DFL)
        stop.set()

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, on_signal)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
