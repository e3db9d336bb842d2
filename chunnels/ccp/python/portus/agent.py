"""The agent: runs an algorithm for the flows of all datapaths."""

import logging
import time

from . import messages
from .compiler import compile_program
from .datapath import Datapath, DatapathInfo, Report
from .errors import MessageError, ProgramError
from .guarded import is_anyone_at

log = logging.getLogger("portus")

# Maximum numbers of datapaths, and of the flows of all datapaths.
MAX_DATAPATHS = 1_024
MAX_FLOWS = 16_384

# Maximum number of programs, which is that of a datapath of Bertha.
MAX_PROGRAMS = 64

# Silence of a datapath, in seconds, after which the agent looks if the datapath is still there.
SILENCE = 2.0

# The pause between two lines about dropped messages, in seconds.
PAUSE = 1.0


class Flow:
    """A flow, and the algorithm's object for it, which is None after an exception."""

    __slots__ = ("create", "datapath", "object")

    def __init__(self, create, datapath):
        self.create = create
        self.datapath = datapath
        self.object = None

    def is_announced_by(self, create):
        """Returns true if the announcement is that of this flow, and not of a later flow with its number."""
        addresses = ("src_ip", "src_port", "dst_ip", "dst_port")
        return all(getattr(create, name) == getattr(self.create, name) for name in addresses)


class State:
    """The flows of one datapath."""

    __slots__ = ("flows", "heard", "lacks_programs")

    def __init__(self):
        self.flows = {}
        self.heard = 0.0
        # True until the datapath has taken all programs.
        self.lacks_programs = True


class Agent:
    """The flows of all datapaths, and their algorithm.

    `send(message, path)` returns true if the datapath at the path takes the message.
    """

    def __init__(self, algorithm, send, now=time.monotonic):
        self._algorithm = algorithm
        self._send = send
        self._now = now
        self._programs = _compiled(algorithm)
        self._installs = [messages.install(uid, program) for uid, program in self._programs.values()]
        self._datapaths = {}
        self._silent_line_until = 0.0
        # Numbers of messages that were dropped, of messages that no datapath took, and of flows.
        self.refused = 0
        self.unsent = 0
        self.flows = 0

    def on_datagram(self, data, path):
        """Handles the messages of a datapath. Garbage is dropped and counted."""
        if path is None:
            self._refuse("an unknown sender", "it is of another user, too long, or of a socket without a path")
            return
        try:
            decoded = messages.decode_all(data)
        except MessageError as error:
            self._refuse(path, error)
            return
        state = self._datapaths.get(path)
        if state is None:
            if len(self._datapaths) >= MAX_DATAPATHS:
                self._refuse(path, f"there are {MAX_DATAPATHS} datapaths already")
                return
            state = self._datapaths[path] = State()
        state.heard = self._now()
        for message in decoded:
            self._on_message(message, path, state)

    def end_flows_of_vanished(self):
        """Ends the flows of datapaths that are gone, which could not say so."""
        now = self._now()
        silent = [path for path, state in self._datapaths.items() if now - state.heard >= SILENCE]
        for path in silent:
            if is_anyone_at(path):
                self._datapaths[path].heard = now
                continue
            state = self._datapaths.pop(path)
            log.info("the datapath at %s has vanished with %d flows", path, len(state.flows))
            self._end_all(state)

    def _on_message(self, message, path, state):
        if isinstance(message, messages.Ready):
            self._end_all(state)
            state.lacks_programs = True
        if state.lacks_programs:
            state.lacks_programs = not all([self._deliver(install, path) for install in self._installs])
        if isinstance(message, messages.Create):
            self._begin(message, path, state)
        elif isinstance(message, messages.Measure):
            if message.fields:
                self._report(message, path, state)
            else:
                self._end(state, message.flow)

    def _deliver(self, message, path):
        is_taken = self._send(message, path)
        self.unsent += not is_taken
        return is_taken

    def _begin(self, create, path, state):
        known = state.flows.get(create.flow)
        if known is not None and known.object is None and known.is_announced_by(create):
            return
        self._end(state, create.flow)
        if self.flows >= MAX_FLOWS:
            self._refuse(path, f"there are {MAX_FLOWS} flows already")
            return
        datapath = Datapath(create.flow, self._programs, lambda message: self._deliver(message, path))
        flow = state.flows[create.flow] = Flow(create, datapath)
        self.flows += 1
        try:
            flow.object = self._algorithm.new_flow(datapath=datapath, datapath_info=DatapathInfo(create))
        except Exception:
            log.exception("new_flow() has failed for flow %d of %s, which is left alone", create.flow, path)
            return
        log.info("flow %d of %s begins", create.flow, path)

    def _report(self, measure, path, state):
        flow = state.flows.get(measure.flow)
        # A report of an earlier program says nothing about the present program.
        if flow is None or flow.object is None or flow.datapath.program_uid != measure.program:
            return
        try:
            flow.object.on_report(Report(flow.datapath.scope, measure.fields))
        except Exception:
            log.exception("on_report() has failed for flow %d of %s, which is left alone", measure.flow, path)
            flow.object = None

    def _end(self, state, number):
        flow = state.flows.pop(number, None)
        if flow is None:
            return
        self.flows -= 1
        close = getattr(flow.object, "close", None)
        if not callable(close):
            return
        try:
            close()
        except Exception:
            log.exception("close() has failed for flow %d", number)

    def _end_all(self, state):
        for number in list(state.flows):
            self._end(state, number)

    def _refuse(self, sender, reason):
        self.refused += 1
        now = self._now()
        if now >= self._silent_line_until:
            self._silent_line_until = now + PAUSE
            log.warning("a message of %s was dropped (%d so far): %s", sender, self.refused, reason)


def _compiled(algorithm):
    programs = algorithm.datapath_programs()
    if not isinstance(programs, dict) or not programs:
        raise ProgramError("datapath_programs() returns a dict of at least one program by its name")
    if len(programs) > MAX_PROGRAMS:
        raise ProgramError(f"datapath_programs() returns {len(programs)} programs: the maximum is {MAX_PROGRAMS}")
    compiled = {}
    # A datapath forgets the programs of an earlier agent when it gets program 1.
    for uid, (name, source) in enumerate(programs.items(), 1):
        try:
            compiled[name] = uid, compile_program(source)
        except ProgramError as error:
            raise ProgramError(f"the datapath program `{name}` does not compile: {error}") from None
    return compiled
