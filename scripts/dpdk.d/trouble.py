"""Steps in which something goes wrong, or is refused."""

import time

from bench import Bench, expect
from machine import HUGEPAGES, SLOTS
from network import CARD

# A slot without a card.
EMPTY = "0000:00:15.0"

# The kernel's own drivers of the cards, and their modules.
KERNELS = {"e1000": ("e1000", "e1000"), "e1000e": ("e1000e", "e1000e"), "vmxnet3": ("vmxnet3", "vmxnet3"),
           "virtio-net-pci": ("virtio-pci", "virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci")}


def reserves(machine):
    """Returns true if the machine has reserved its hugepages again. Memory has been scattered since its start."""
    machine.do("echo 3 >/proc/sys/vm/drop_caches; echo 1 >/proc/sys/vm/compact_memory")
    output, _ = machine.do(f"echo {HUGEPAGES} >/proc/sys/vm/nr_hugepages; cat /proc/sys/vm/nr_hugepages")
    return output.split()[-1] == str(HUGEPAGES)


def link(bench: Bench):
    """The link goes down and comes up."""
    with bench.echo():
        bench.ping(CARD[0])
        bench.machine.ask_monitor("set_link net0 off")
        answers = bench.answers(CARD[0])
        bench.machine.ask_monitor("set_link net0 on")
        expect(not answers, "a card without a link answers")
        began = time.monotonic()
        bench.wait_until(lambda: bench.answers(CARD[0]), 30, "no answer after the link is up")
        bench.ask(CARD[0], 18)
    return f"silent without a link; answers {time.monotonic() - began:.0f} s after it is up"


def kill(bench: Bench):
    """A process is killed under a flood, and the card starts again."""
    for _ in range(3):
        flood = bench.network.start(["ping", "-f", "-q", CARD[0]])
        try:
            with bench.echo(end="KILL"):
                bench.ask(CARD[0], 9)
        finally:
            flood.kill()
            flood.wait()
    with bench.echo():
        bench.ask(CARD[0], 18)
    return "killed under a flood, three times, and starts again"


def twice(bench: Bench):
    """A second process is refused the card, and does not disturb the first."""
    with bench.echo():
        bench.ask(CARD[0], 9)
        said = bench.refused()
        bench.ask(CARD[0], 9)
    return f"refused: {said}"


def user(bench: Bench):
    """A user without privileges has the card by the rights on its file."""
    without = bench.refused(user="user")
    bench.machine.do(f"group=$(basename $(readlink /sys/bus/pci/devices/{SLOTS[0]}/iommu_group))")
    bench.machine.do("chown user /dev/vfio/$group; chmod 666 /dev/vfio/vfio; ulimit -l unlimited")
    with bench.echo(user="user"):
        owner, _ = bench.machine.do("stat -c %u /proc/$(pidof port_echo)")
        bench.ping(CARD[0])
        bench.ask(CARD[0], 18)
    expect(owner == "1000", f"the echo runs as {owner}")
    expect("no rights on /dev/vfio/" in without, f"without rights: {without}")
    return f"serves; without rights on the file: {without}"


def refusals(bench: Bench):
    """What a card is refused for, with which words."""
    said = {"an MTU of 17000": bench.refused(MTU="17000"), "an MTU of 500": bench.refused(MTU="500"),
            "an empty slot": bench.refused(DEVICE=EMPTY)}
    driver, modules = KERNELS[bench.machine.model]
    bench.machine.do(f"for module in {modules}; do load $module; done 2>/dev/null; bind {driver} {SLOTS[0]}")
    said["the kernel's driver"] = bench.refused()
    bench.machine.do(f"echo {SLOTS[0]} >/sys/bus/pci/devices/{SLOTS[0]}/driver/unbind")
    said["no driver"] = bench.refused()
    free = "vfio-pci" if bench.machine.how == "vfio" else "uio_pci_generic"
    _, result = bench.machine.do(f"bind {free} {SLOTS[0]}")
    expect(result == 0, f"the card does not come back to {free}")
    if bench.machine.how == "uio":
        bench.machine.do("echo 0 >/proc/sys/vm/nr_hugepages")
        try:
            said["no hugepages"] = bench.refused()
        finally:
            bench.wait_until(lambda: reserves(bench.machine), 30, "the memory is too scattered for hugepages")
    for what, words in (("an MTU of 500", "at least"), ("an empty slot", "there is none"), ("the kernel's driver", f"`{driver}` has it"),
                        ("no driver", "has no driver"), ("no hugepages", "needs hugepages")):
        expect(words in said.get(what, words), f"{what}: {said.get(what)}")
    with bench.echo():
        bench.ask(CARD[0], 9)
    return "\n".join(["", *(f"{what}: {words}" for what, words in said.items())])
