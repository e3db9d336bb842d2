//! The figures and tables of the thesis that the programs repeat, each with what differs.

use std::fmt::Write;

/// A figure or table of the thesis, chapters 3 and 4.
pub(super) struct Item {
    /// Its number.
    number: &'static str,
    /// What it shows.
    about: &'static str,
    /// The program of this crate that repeats it, with its options; empty if none does.
    pub(super) command: &'static str,
    /// The drawing, or `rows`; empty if there is nothing to draw.
    pub(super) drawn: &'static str,
    /// `yes` if the shape is that of the thesis, and otherwise how it differs, and why.
    pub(super) shape: &'static str,
}

pub(super) const fn item(
    number: &'static str,
    about: &'static str,
    command: &'static str,
    drawn: &'static str,
    shape: &'static str,
) -> Item {
    Item { number, about, command, drawn, shape }
}

const ITEMS: &[Item] = &[
    item("Table 3.1", "words", "", "", "text: the glossary of ARCHITECTURE.md"),
    item("Figure 3.1", "steps at compile and run time", "", "", "a sketch: the guide `composing`"),
    item("Figure 3.2", "states of a Chunnel", "", "", "a sketch: the guide `chunnel`"),
    item(
        "Figure 3.3",
        "throughput of a file over each datapath",
        "throughput",
        "throughput.svg",
        "over each datapath: datagrams by hand, the same through a Chunnel that does nothing, and the whole transport, which repairs and so is slower; the ratio of a Chunnel that does nothing is bounded over each datapath: over kernel UDP it costs a seventh, over memif between nothing and two thirds from run to run, and over Caladan more than there, since datagrams by hand leave in one piece of memory and arrive in one, where each message of a Chunnel is a piece of its own; there is no wire, so the processor is the limit and not a link of 10 Gbit/s",
    ),
    item(
        "Figure 3.4",
        "time to connect",
        "connect",
        "connect.svg",
        "the order is the same; 0-RTT gains less than there",
    ),
    item(
        "Figure 3.5",
        "requests between services of one machine",
        "local",
        "local.svg",
        "slowest by side-cars, then TLS in the library, and fastest shared memory, as there; where receivers park, to wake them costs most, and the pass is close to UDP; processes in network namespaces in place of containers, and stunnel, started before, in place of Ghostunnel, so the thesis's tail of starting it is missing",
    ),
    item(
        "Table 3.2, Figure 3.6",
        "latency by service and order",
        "pubsub",
        "pubsub-latency-*.svg",
        "the order is the same; three services are emulators",
    ),
    item(
        "Figure 3.7",
        "a change of the order's place in use",
        "pubsub",
        "pubsub-switch-*.svg",
        "over SQS the latency rises, as there, since the bench adds 3.3 ms to each call of the emulator's FIFO queue: 1/300 s, after AWS's quota of 300 calls a second, since no latency is published; over NATS it does not rise",
    ),
    item("Figure 3.8", "batches by `Nagle`", "pubsub", "pubsub-batches.svg", "yes"),
    item(
        "Figure 3.9",
        "routing by the client, the server and the kernel",
        "kv --routing",
        "kv-routing.svg",
        "yes: the server's router is the limit, and the client's routing scales further with lower latency; the kernel's routing, which is not in the thesis, is as good; `scripts/demo --figure` draws it between processes, by offered load",
    ),
    item(
        "Figure 3.10",
        "routing on raw bytes and by decoding, by load",
        "shard-raw",
        "shard-raw.svg",
        "raw bytes scale further, as there; the ratio is smaller, since client and shards share a core",
    ),
    item(
        "Figure 3.11",
        "the store over each datapath, by load",
        "datapaths",
        "datapaths.svg",
        "a datapath in user space leads; the ratio of the store with Chunnels to that without is bounded over memif and Caladan; with 64 in flight the store without Chunnels, which polls and does nothing else, is four times as fast as kernel UDP, where a waiting task of the other lets its runtime look for work after 64 polls in vain; over Caladan both ends are on one core, in one runtime, with its kernel module emulated where there is none, and beside tokio (there Shenango-A) it is slowest here",
    ),
    item("Figure 4.1", "the control loop", "", "", "a sketch: the guide `congestion`"),
    item(
        "Table 4.1",
        "throughput by reporting interval",
        "congestion --only 4.1t",
        "rows",
        "over the kernel's TCP, 0.66 of the kernel's own Reno with a report for each acknowledgement (0.67 there), and 1.02 with one each ms; with one each 10 ms (0.95 there) 0.64 in a run whose noise was 0.60 to 1.15; the program in the kernel tells each acknowledgement to this process in any case, and the interval is that of its reports to the agent; `--only 4.1` has the same over UDP",
    ),
    item(
        "Table 4.2",
        "signals and operators",
        "",
        "",
        "text: 14 of 15 signals; `bytes_pending` is zero for a connection, and tells of a bundle",
    ),
    item("Figure 4.2", "BBR by CCP", "congestion --only 4.2", "congestion-bbr.svg", "yes"),
    item("Figure 4.3", "ways of slow start", "congestion --only 4.3", "congestion-slow-start.svg", "yes"),
    item(
        "Table 4.3",
        "the kernel's TCP as a datapath",
        "congestion --only 4.3t",
        "rows",
        "by a program of eBPF in place of a module, with the feature `tcp`: the window and the rate, and 14 of 15 signals",
    ),
    item(
        "Figure 4.4",
        "windows by CCP and in the datapath",
        "congestion --only 4.5",
        "congestion-fidelity.svg",
        "yes",
    ),
    item(
        "Figure 4.5",
        "throughput in periods of 20 ms",
        "congestion --only 4.5",
        "congestion-fidelity-throughput.svg, congestion-fidelity-queue.svg",
        "yes: throughput within 1 %, queues within 7 %",
    ),
    item(
        "Figure 4.6",
        "flow completion times",
        "congestion --only 4.6",
        "congestion-completion.svg",
        "yes for short and large flows, with as many flows as there: medians by CCP to the datapath's are 1.00 (there 1.00) and 1.24 (1.22); those of medium flows are 1.09, there 0.93",
    ),
    item(
        "Figure 4.7",
        "round trip of an agent",
        "congestion --only 4.7",
        "congestion-answers.svg",
        "yes, by two of three ways: shared memory in place of a device",
    ),
    item(
        "Figure 4.8",
        "many flows",
        "congestion --only 4.8a",
        "congestion-flows.svg, congestion-processor.svg",
        "yes, with an agent in another process, over the loopback interface in place of their testbed, two servers with a link of 10 Gbit/s; `--only 4.8b` has the processor time at half a gigabit, and `--only 4.8` the flows in virtual time",
    ),
    item(
        "Figure 4.9",
        "incast by reporting interval",
        "congestion --only 4.9",
        "congestion-incast.svg",
        "yes: flat over 10 Gbit/s, and over 40 Gbit/s later with rarer reports for flows of 100 packets alone (1.7, there over 2). The model was fitted to that: packets of half the size, first windows of two packets, a buffer of 5,000 packets, without losses for flows of up to 100, five runs of the longest flows, means, and in the datapath's place the agent's own control without delay; with full packets and a buffer of 1,000 the flows by the agent end sooner (0.6 to 0.8)",
    ),
    item(
        "Figure 4.10",
        "one window for many flows",
        "congestion --only 4.10",
        "congestion-aggregation.svg",
        "yes",
    ),
    item(
        "Figure 4.11",
        "one algorithm on three datapaths",
        "congestion --only 4.11",
        "congestion-copa.svg, congestion-datapaths.svg",
        "yes; the datapaths are `Reliable`, quinn and libccp",
    ),
    item(
        "Table of 4.7.2",
        "Copa's throughput and queue",
        "congestion --only 4.11",
        "rows",
        "yes: more throughput and a shorter queue than by CCP there, in virtual time; Copa's earlier program over UDP, whose fault the table shows, is not ours",
    ),
    item(
        "Figure 4.12",
        "reinforcement learning",
        "congestion --only 4.12",
        "congestion-learning.svg",
        "yes: a confined search is soon above Vegas, a free one is not; the learner is the cross-entropy method over four windows, in place of A2C's networks, and a free search begins far above the path's product",
    ),
    item("Figure 4.13", "sites with Bundler's boxes", "", "", "a sketch: the guide `congestion`"),
    item(
        "Figure 4.14",
        "the queues of one flow, without and with Bundler",
        "congestion --only 4.14",
        "congestion-bundler-queues.svg",
        "yes: the queue moves from the path to the sendbox, and the flow is as fast",
    ),
    item(
        "Figures 4.15 and 4.16",
        "Bundler's parts, and its epochs",
        "",
        "",
        "sketches: the documentation of `bertha-bundle`",
    ),
    item(
        "Figure 4.17",
        "a sendbox's estimate of the receive rate",
        "congestion --only 4.17",
        "congestion-bundler.svg",
        "yes: over 80 % of estimates within 4 Mbit/s, in virtual time; compared with the path as feedback can show it by then",
    ),
    item(
        "Figure 4.18",
        "a sendbox's estimate of the round trip",
        "congestion --only 4.17",
        "congestion-bundler.svg, congestion-bundler-round-trips.svg",
        "yes: over 80 % of estimates within 1.2 ms, in virtual time; compared as in 4.17",
    ),
    item(
        "Figure 4.19",
        "slowdown of requests by the place and order of the queue",
        "congestion --only 4.19",
        "congestion-bundler-slowdown.svg",
        "yes: medians fall by 23 % (28 % there), and Bundler in order is worse than none; between network namespaces (`--only 4.19n`), by the programs of the boxes and Linux's TCP in real time, fair order helps more (52 %), and Bundler in order is worse than none, too; in virtual time at most 30 MB in a request, 90,000 of them, Cubic of `Reliable` in place of Linux's, and the sendbox has a buffer besides that of the path",
    ),
];

/// Adds the table of all items.
pub(super) fn append(page: &mut String) {
    append_items(page, "Figures of the thesis", ITEMS);
}

/// Adds a table of items with a heading.
// Writing to a `String` can't fail, so the results of `write!` are dropped.
pub(super) fn append_items(page: &mut String, heading: &str, items: &[Item]) {
    let _ = write!(
        page,
        "\n## {heading}\n\n\
         | figure | about | `bertha-bench` | drawn | shape as there |\n|---|---|---|---|---|\n",
    );
    for Item { number, about, command, drawn, shape } in items {
        let command = if command.is_empty() { String::new() } else { format!("`{command}`") };
        let _ = writeln!(page, "| {number} | {about} | {command} | {drawn} | {shape} |");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::ALL;

    #[test]
    fn each_item_is_of_a_program_and_has_its_row() {
        let mut page = String::new();
        append(&mut page);
        assert_eq!(page.lines().filter(|line| line.starts_with("| ")).count(), ITEMS.len() + 1);
        for Item { number, command, drawn, .. } in ITEMS {
            let program = command.split(' ').next().unwrap_or_default();
            assert_eq!(command.is_empty(), drawn.is_empty(), "{number}");
            assert!(command.is_empty() || ALL.contains(&program), "{number}: {program}");
        }
        // What is not drawn has its reason.
        assert!(ITEMS.iter().all(|item| !item.drawn.is_empty() || item.shape.contains(' ')));
        // Two sketches share an item.
        let shown: Vec<_> = ITEMS.iter().flat_map(|item| item.number.split(" and ")).collect();
        let figures = (1..=11).map(|at| format!("3.{at}")).chain((1..=19).map(|at| format!("4.{at}")));
        for number in figures {
            assert!(shown.iter().any(|item| item.rsplit(' ').next() == Some(&number)), "{number}");
        }
        let tables =
            (1..=2).map(|at| format!("Table 3.{at}")).chain((1..=3).map(|at| format!("Table 4.{at}")));
        for table in tables {
            assert!(ITEMS.iter().any(|item| item.number.contains(&table)), "{table}");
        }
    }
}
