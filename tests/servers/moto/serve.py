"""Serves moto's fakes of SQS and SNS, with two deviations from the services repaired.

The arguments are those of moto's own server.
"""

import base64
import time

from moto.server import main
from moto.sqs.models import SQSBackend

# The pause between two looks into a queue, in seconds.
PAUSE = 0.005

look = SQSBackend.receive_message


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
    while True:
        found = look(self, queue_name, count, 0, visibility_timeout, message_attribute_names)
        if found or time.monotonic() >= end:
            return found
        time.sleep(PAUSE)


def send_message(self, queue_name, message_body, message_attributes=None, **more):
    """Stores a message. SNS hands binary attributes over as base64, which moto's queues don't expect."""
    for attribute in (message_attributes or {}).values():
        if isinstance(attribute.get("BinaryValue"), str):
            attribute["BinaryValue"] = base64.b64decode(attribute["BinaryValue"])
    return store(self, queue_name, message_body, message_attributes=message_attributes, **more)


store = SQSBackend.send_message
SQSBackend.receive_message = receive_message
SQSBackend.send_message = send_message

if __name__ == "__main__":
    main()
