"""Steps that send and receive over a card."""

import os
import re

from bench import Bench, expect
from machine import SLOTS
from network import CARD, PEER, VLAN
from wire import Judgement, partial_datagrams


def checksums(bench: Bench, offload):
    """Pings and datagrams of both families are answered, damaged ones are not, and each frame on the wire is right."""
    with bench.echo(OFFLOAD=offload, LOG="info") as echo, bench.captures("port", "card0") as (wire, between):
        bench.network.forget_neighbours()
        bench.ping(CARD[0])
        bench.ping(CARD[1])
        bench.ask(CARD[0], 27)
        bench.ask(CARD[1], 18)
        answered = bench.datagrams(f"damage {bench.mac}")
    expect(answered.split() == ["right", "10", "absent", "10", "datagram", "0", "header", "0"], f"damaged datagrams: {answered}")
    judged = Judgement(wire)
    expect(judged.bad() == 0, f"wrong checksums on the wire: {judged}")
    for protocol, least in (("ip", 50), ("udp", 60), ("icmp", 3), ("icmpv6", 4)):
        expect(judged.good(protocol) >= least, f"too few frames of {protocol} on the wire: {judged}")
    all_of_them, partial = partial_datagrams(between)
    expect(offload == "true" or partial == 0, f"{partial} of {all_of_them} partial checksums without offloading")
    able = re.search(r"offload Offload \{ header: (\w+), udp: (\w+) \}", echo.ended)
    expect(able, f"no word of offloading: {echo.ended}")
    can = " and ".join(name for name, yes in zip(("header", "datagram"), able.groups()) if yes == "true") or "nothing"
    return f"the card computes: {can}; wire: {judged}; between card and host {partial} of {all_of_them} left to the host"


def udp(bench: Bench):
    return "; ".join([measured(bench, "dpdk", "udp"), asked_from_the_card(bench)])


def tcp(bench: Bench):
    return measured(bench, "dpdk-tcp", "tcp")


def measured(bench, datapath, kernels):
    """`bertha perf` on the card serves the kernel."""
    with bench.program(f"/bertha perf -s {CARD[0]}:5201 -d {datapath}", says="(?i)listening"), bench.captures("port") as (wire,):
        at = f"{CARD[0]}:5201 -d {kernels}"
        said = bench.peer(f"{bench.bertha} ping {at} -c 20 -i 0.05 -W 10")
        length = "-l 1400" if kernels == "udp" else ""
        for way in ("", "-R"):
            bench.peer(f"{bench.bertha} perf -c {at} {length} {way} -t 1")
    judged = Judgement(wire)
    expect(judged.bad() == 0 and judged.good(kernels) >= 20, f"the wire: {judged}")
    return f"ping {lost(said)}, and measured both ways; wire: {judged}"


def asked_from_the_card(bench):
    """`bertha ping` on the card asks the kernel, over both families."""
    server = bench.network.start([bench.bertha, "perf", "-s", "[::]:5201", "-d", "udp"])
    try:
        said = [bench.run(f"/bertha ping {to}:5201 -d dpdk -c 20 -i 0.05 -W 10") for to in (PEER[0], f"[{PEER[1]}]")]
    finally:
        server.kill()
        server.wait()
    return "from the card " + " and ".join(lost(text) for text in said)


def lost(said):
    found = re.search(r"(\d+) sent, (\d+) answered", said)
    expect(found and found.group(1) == found.group(2), f"ping: {said[-400:]}")
    return f"{found.group(2)} of {found.group(1)}"


def kvstore(bench: Bench):
    """YCSB's workload B, from the kernel."""
    with bench.program(f"/kvstore --addr {CARD[0]}:4242", says="(?i)ready|listening|serving"), bench.captures("port") as (wire,):
        workload = os.path.join(bench.root, "apps/ycsb/workloads/workloadb")
        said = bench.peer(f"{bench.ycsb} run -P {workload} -p recordcount=500 -p operationcount=3000 --server {CARD[0]}:4242 "
                          "--connections 2", 120)
    judged = Judgement(wire)
    expect(judged.bad() == 0, f"the wire: {judged}")
    # The last table is that of the run.
    total = re.findall(r"total +(\d+)", said)
    expect(total and total[-1] == "3000", f"ycsb: {said[-600:]}")
    return f"3000 operations of workload B answered; wire: {judged}"


def files(bench: Bench):
    """A file from the kernel to the card arrives unharmed."""
    path = os.path.join(bench.folder, "file")
    with open(path, "wb") as file:
        file.write(os.urandom(2_000_000))
    bench.machine.do("rm -rf /received; mkdir /received")
    with bench.program(f"/file-transfer receive /received --addr {CARD[0]}:4343", says="(?i)keeps|listening|ready|receiv"):
        bench.peer(f"{bench.file_transfer} send {path} --to {CARD[0]}:4343", 120)
        here, there = bench.peer(f"sha256sum {path}").split()[0], bench.machine.do("sha256sum /received/file")[0].split()[0]
    expect(here == there, f"the file has the digest {there}, not {here}")
    return "2 MB, and their digest is that of the file"


def vlan(bench: Bench):
    """All frames have a tag, to and from an address of the kernel in the VLAN."""
    with bench.network.vlan(), bench.echo(VLAN=str(VLAN), ADDRESS=f"{CARD[2]}/24"), bench.captures("port") as (wire,):
        bench.ping(CARD[2])
        bench.ask(CARD[2], 18)
    judged = Judgement(wire)
    expect(judged.frames == judged.tagged > 20 and judged.bad() == 0, f"{judged.tagged} of {judged.frames} frames tagged; {judged}")
    return f"all {judged.tagged} frames have the tag {VLAN}; wire: {judged}"


def mtu(bench: Bench):
    """Packets of 9,000 bytes."""
    bench.network.set_mtu(9000)
    try:
        with bench.echo(MTU="9000"), bench.captures("port") as (wire,):
            bench.ping(CARD[0], "-s 8972 -M do")
            bench.ask(CARD[0], 18, 8972)
            bench.ask(CARD[1], 18, 8952)
    finally:
        bench.network.set_mtu(1500)
    judged = Judgement(wire)
    expect(judged.bad() == 0, f"the wire: {judged}")
    return f"packets of 9,000 bytes; wire: {judged}"


def queues(bench: Bench):
    """Flows are spread over several queues, and each datagram reaches its connection, whoever polls."""
    told = []
    for polling in ("inline", "thread"):
        with bench.echo(QUEUES=str(bench.queues), POLLING=polling, LOG="info") as echo:
            for host in CARD[:2]:
                answered = bench.datagrams(f"flows {host} 24 3")
                expect(answered.strip() == "72 of 72", f"flows to {host}: {answered}")
        spreads = "by polling threads" if "does not spread" in echo.ended else "by the card"
        counts = [(int(a), int(b)) for a, b in re.findall(r"received: (\d+), handed_on: (\d+)", echo.ended)]
        told.append(f"{polling}: {spreads}, {' + '.join(str(count) for count, _ in counts)} frames, {sum(b for _, b in counts)} handed on")
    return "; ".join(told)


def conformance(bench: Bench):
    """The suite of datapaths, for datagrams and streams of both families, between both cards in one process."""
    output, result = bench.machine.do(
        f"BERTHA_TEST_CARDS={','.join(SLOTS)} /conformance --exact dpdk::two_cards --ignored --nocapture 2>&1", 400)
    expect(result == 0 and "1 passed" in output, output[-1500:])
    return "UDP and TCP over IPv4 and IPv6 from card to card, each opened twice"
