"""Serves moto's fakes of SQS and SNS, with some deviations from the services repaired.

The program takes the arguments of moto's own server.
"""

import base64
import socket
import threading
import time
from collections import defaultdict

from flask import request
from moto.server import main
from moto.sqs.models import SQSBackend

# The longest pause between two looks into a queue, in seconds: messages become visible again without notice.
PAUSE = 0.1

# A condition for each queue, which is notified of every event that may let a message be received.
changes = defaultdict(threading.Condition)

look = SQSBackend.receive_message


def is_gone():
    """Returns true if the client has closed its connection. Its call would otherwise go on, and take messages that no client gets."""
    client = request.environ.get("werkzeug.socket")
    try:
        return client is not None and client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def receive_message(
    self,
    queue_name,
    count,
    wait_seconds_timeout,
    visibility_timeout,
    message_attribute_names=None,
):
    """Waits for messages. Moto looks up which groups of a FIFO queue are blocked when a call begins, and not again while it waits."""
    end = time.monotonic() + wait_seconds_timeout
    change = changes[queue_name]
    with change:
        while not is_gone():
            found = look(self, queue_name, count, 0, visibility_timeout, message_attribute_names)
            left = end - time.monotonic()
            if found or left <= 0:
                return found
            change.wait(min(left, PAUSE))
    return []


def with_notice(call):
    """Returns the call, with a notice to all calls that wait for messages of its queue."""

    def notify(self, queue_name, *values, **named):
        with changes[queue_name]:
            result = call(self, queue_name, *values, **named)
            changes[queue_name].notify_all()
        return result

    return notify


def send_message(self, queue_name, message_body, message_attributes=None, **more):
    """Stores a message. SNS hands binary attributes over as base64, which moto's queues don't expect."""
    for attribute in (message_attributes or {}).values():
        if isinstance(attribute.get("BinaryValue"), str):
            attribute["BinaryValue"] = base64.b64decode(attribute["BinaryValue"])
    return store(self, queue_name, message_body, message_attributes=message_attributes, **more)


store = SQSBackend.send_message
SQSBackend.receive_message = receive_message
SQSBackend.send_message = with_notice(send_message)
SQSBackend.delete_message = with_notice(SQSBackend.delete_message)
SQSBackend.change_message_visibility = with_notice(SQSBackend.change_message_visibility)

if __name__ == "__main__":
    main()
