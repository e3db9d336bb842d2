"""A Unix datagram socket for the processes of one user."""

import array
import contextlib
import errno
import os
import select
import socket
import stat
import struct

from .errors import Error
from .messages import MAX_MESSAGE

# The user of a sender: process, user, group.
CREDENTIALS = struct.Struct("=iII")

# The option that keeps descriptors out. Linux knows it since 6.16.
SO_PASSRIGHTS = 83


class GuardedSocket:
    """A socket that only the own user and root may write to, and that knows the user of each sender."""

    def __init__(self, path):
        """Listens at a path, where the socket of an agent that is gone is replaced."""
        self.path = os.path.abspath(os.fspath(path))
        _make_place(self.path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._socket.setblocking(False)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS, 0)
            # Before there is a file, which then has these rights from the beginning.
            os.fchmod(self._socket.fileno(), 0o600)
            self._socket.bind(self.path)
            self._file = _identity(self.path)
        except OSError as error:
            self._socket.close()
            raise Error(f"can't listen for datapaths at {self.path}: {error}") from error
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    def wait(self, seconds):
        """Waits until there is a message, or until the time is over."""
        self._poll.poll(seconds * 1_000)

    def receive(self):
        """Returns a message and the path of its sender, or None if none waits.

        The path is None if the message is too long, has no sender to answer to, or is of another user.
        """
        space = socket.CMSG_SPACE(CREDENTIALS.size)
        try:
            data, ancillary, flags, sender = self._socket.recvmsg(MAX_MESSAGE, space, socket.MSG_CMSG_CLOEXEC)
        except (BlockingIOError, InterruptedError):
            return None
        is_known = isinstance(sender, str) and sender.startswith("/")
        is_whole = not flags & socket.MSG_TRUNC
        return data, sender if is_known and is_whole and _is_trusted(ancillary) else None

    def send(self, message, path):
        """Sends a message, and never waits. Returns true if the receiver takes it."""
        try:
            self._socket.sendto(message, path)
        except OSError:
            return False
        return True

    def close(self):
        """Closes the socket, and removes its file unless another agent has replaced it."""
        self._socket.close()
        if _identity(self.path) == self._file:
            with contextlib.suppress(OSError):
                os.unlink(self.path)


def is_anyone_at(path):
    """Returns true if a socket is bound at this path."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except OSError as error:
            return error.errno in (errno.EAGAIN, errno.EACCES, errno.EPERM)
    return True


def _is_dead(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(path)
        except OSError as error:
            # A live socket of another kind has another error.
            return error.errno == errno.ECONNREFUSED
    return False


def _make_place(path):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise Error(f"can't listen for datapaths at {path}: a file is there that is no socket")
        if not _is_dead(path):
            raise Error(f"an agent, or another program, listens at {path} already")
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise Error(f"can't listen for datapaths at {path}: {error}") from error


def _identity(path):
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _is_trusted(ancillary):
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS and len(data) >= CREDENTIALS.size:
            _, user, _ = CREDENTIALS.unpack_from(data)
            return user in (0, os.geteuid())
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            _close_all(data)
    return False


def _close_all(data):
    descriptors = array.array("i")
    descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    for descriptor in descriptors:
        os.close(descriptor)
