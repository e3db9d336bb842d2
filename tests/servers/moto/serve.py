"""Serves moto's fakes of SQS and SNS, with two deviations from the services repaired.

The arguments are those of moto's own server.
"""

import time

from moto.server import main
from moto.sqs.models import Message, SQSBackend

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


def update_binary_length_and_value(md5, value):
    """Adds an attribute to the sum. A binary one that comes from SNS is text in base64 here, which moto's own does not expect."""
    value = value.encode() if isinstance(value, str) else value
    update(md5, value)


update = Message.update_binary_length_and_value
SQSBackend.receive_message = receive_message
Message.update_binary_length_and_value = staticmethod(update_binary_length_and_value)

if __name__ == "__main__":
    main()
