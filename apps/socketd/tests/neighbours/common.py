"""What several of the programs use."""

import mmap, os

PERIOD = 64_507
TABLE = bytes((place * 31 + (place >> 8) * 7) % 251 for place in range(PERIOD)) * 3


def fails(number, call, *arguments):
    try:
        found = call(*arguments)
    except OSError as error:
        assert error.errno == number, error
        return
    raise AssertionError("it does not fail: %r" % (found,))


def pattern(at, count):
    """Returns bytes of a stream, at most as many as two periods."""
    at %= PERIOD
    return TABLE[at : at + count]


def rings():
    """Returns how many ends with rings this process has, by the regions of its memory."""
    with open("/proc/self/maps") as maps:
        return sum("memfd:bertha-shm" in line for line in maps)


class Shared:
    """Numbers that a process and its children share."""

    def __init__(self, count):
        self.memory = memoryview(mmap.mmap(-1, 8 * count)).cast("Q")

    def __getitem__(self, at):
        return self.memory[at]

    def __setitem__(self, at, value):
        self.memory[at] = value


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def resident():
    """Returns the memory that this process has, in KiB."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
