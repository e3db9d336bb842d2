//! The figures and tables of the thesis on calls that a daemon manages (mRPC), chapter 3 and appendices A and B.

use super::thesis::{Item, append_items, item};

const ITEMS: &[Item] = &[
    item("Table 3.1", "engines and their interface", "", "", "text: the guide `daemon`"),
    item("Figures 3.1 to 3.3", "how calls pass the daemon", "", "", "sketches: the guide `daemon`"),
    item(
        "Table 3.2",
        "latency of small calls",
        "managed --only 3.2",
        "rows",
        "the rows `order of the seed` compare each way with the next faster one there; all processes share a core here, and no NIC is between, so that each process on the way counts in full; RDMA is not built",
    ),
    item(
        "Figures 3.4 and A.1",
        "goodput by size",
        "managed --only 3.4",
        "managed-goodput.svg",
        "on one core, so that goodput is goodput per core; RDMA is not built",
    ),
    item(
        "Figures 3.5 and A.2",
        "rate of calls by threads",
        "managed --only threads",
        "rows",
        "one and two threads in place of up to eight, in applications, daemons and Envoys alike, which share two cores; `--only 3.5` has the rates on one core",
    ),
    item(
        "Figure 3.6",
        "rate with a policy",
        "managed --only 3.6",
        "rows",
        "Envoy reads the field of the message by `grpc_field_extraction` and refuses by `rbac`, in place of WebAssembly",
    ),
    item(
        "Figure 3.7a",
        "four arguments, sent by a system call each and then by one",
        "managed --only 3.7a",
        "managed-send.svg",
        "over TCP in place of RDMA, with arguments of 8 KiB, since shorter ones are copied; all hosts share a core",
    ),
    item(
        "Figure 3.7b",
        "a limit that is added, changed and removed",
        "managed --only 3.7b",
        "managed-limit.svg",
        "yes: the rate is the limit at once, and with an infinite limit and without the engine what it was before; over TCP in place of RDMA",
    ),
    item(
        "Figures 3.8 and B.1 to B.4",
        "times and memory of a hotel of five services",
        "hotel",
        "hotel.svg, hotel-p99.svg",
        "memcached alone behind the services, and the services in Rust alone; all hosts share the cores of this one",
    ),
    item("Figure 3.9, Table 3.3", "calls over RDMA", "", "", "RDMA is not built"),
    item(
        "Table 3.4",
        "small calls beside large requests",
        "managed --only qos",
        "rows",
        "both applications share a core here with all they call",
    ),
];

/// Adds the table of all items.
pub(super) fn append(page: &mut String) {
    append_items(page, "Figures of the thesis on managed calls", ITEMS);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::ALL;

    #[test]
    fn each_item_has_its_row_and_is_of_a_program_or_has_a_reason() {
        let mut page = String::new();
        append(&mut page);
        assert_eq!(page.lines().filter(|line| line.starts_with("| ")).count(), ITEMS.len() + 1);
        for Item { command, drawn, shape, .. } in ITEMS {
            let program = command.split(' ').next().unwrap_or_default();
            assert!(command.is_empty() || ALL.contains(&program), "{program}");
            assert!(command.is_empty() == drawn.is_empty() && (!drawn.is_empty() || shape.contains(' ')));
        }
    }
}
