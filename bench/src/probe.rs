//! Programs that do one thing a given number of times, for callgrind to count.

use crate::baseline::{Rounds, Waiting, echo_tokio, kv_raw};
use crate::codec::{Bincode, Codec, Postcard};
use crate::connect::Way;
use crate::datapaths::lockstep;
#[cfg(feature = "dpdk")]
use crate::dpdk_echo::config;
use crate::stepping;
use crate::switch::{self, Cost};
use crate::{Error, ErrorKind, echo_bertha, kv_bertha, overhead, passes, throughput};
#[cfg(feature = "dpdk")]
use bertha_datapath_dpdk::Dpdk;
use std::hint::black_box;

/// A program that repeats one operation.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// What `probe NAME` calls it.
    pub name: &'static str,
    /// Runs the operation this many times.
    pub run: fn(iterations: u64) -> Result<(), Error>,
}

/// Every probe of this program, besides one for each [`overhead::Case`] and [`passes::Case`].
pub const PROBES: &[Probe] = &[
    Probe { name: "count", run: count },
    Probe {
        name: "echo-tokio",
        run: |iterations| echo_tokio::on_one_thread(Waiting::Park, counted(iterations)).map(drop),
    },
    Probe {
        name: "echo-bertha",
        run: |iterations| {
            echo_bertha::on_one_thread(bertha_datapath_kernel::Waiting::Park, counted(iterations)).map(drop)
        },
    },
    Probe { name: "connect-bare", run: |iterations| connections(&Way::Bare, iterations) },
    Probe { name: "connect-1-rtt", run: |iterations| connections(&Way::OneRtt, iterations) },
    Probe { name: "connect-0-rtt", run: |iterations| connections(&Way::ZeroRtt, iterations) },
    Probe { name: "kv-raw-bincode", run: |iterations| kv_raw_requests(Bincode, iterations) },
    Probe { name: "kv-bertha", run: kv_bertha_requests },
    Probe { name: "switch-fixed", run: |messages| switch::probe(Cost::Fixed, 1, messages) },
    Probe {
        name: "switch-fixed-bursts",
        run: |messages| switch::probe(Cost::Fixed, switch::BURST, messages),
    },
    Probe { name: "switch-locked", run: |messages| switch::probe(Cost::Locked, 1, messages) },
    Probe {
        name: "switch-locked-bursts",
        run: |messages| switch::probe(Cost::Locked, switch::BURST, messages),
    },
    Probe { name: "switch-upgradable", run: |messages| switch::probe(Cost::Upgradable, 1, messages) },
    Probe {
        name: "switch-upgradable-bursts",
        run: |messages| switch::probe(Cost::Upgradable, switch::BURST, messages),
    },
    Probe { name: "switch-upgraded", run: |messages| switch::probe(Cost::Upgraded, 1, messages) },
    Probe {
        name: "switch-upgraded-bursts",
        run: |messages| switch::probe(Cost::Upgraded, switch::BURST, messages),
    },
    Probe { name: "throughput", run: |messages| throughput::probe(throughput::Probe::Plain, messages) },
    Probe {
        name: "throughput-nothing",
        run: |messages| throughput::probe(throughput::Probe::WithNothing, messages),
    },
    Probe {
        name: "throughput-sealed",
        run: |messages| throughput::probe(throughput::Probe::Sealed, messages),
    },
    Probe {
        name: "throughput-memory",
        run: |messages| throughput::probe(throughput::Probe::InMemory, messages),
    },
    Probe {
        name: "throughput-memory-nothing",
        run: |messages| throughput::probe(throughput::Probe::InMemoryWithNothing, messages),
    },
    Probe { name: "datapaths-memory", run: |requests| lockstep::in_memory(&in_step(requests)).map(drop) },
    Probe {
        name: "datapaths-memory-bare",
        run: |requests| lockstep::by_hand_in_memory(&in_step(requests)).map(drop),
    },
    #[cfg(feature = "dpdk")]
    Probe {
        name: "datapaths-memif",
        run: |requests| {
            let (server, client) = neighbours()?;
            lockstep::negotiated(server, client, ([10, 0, 0, 1], 0).into(), &in_step(requests)).map(drop)
        },
    },
    #[cfg(feature = "dpdk")]
    Probe {
        name: "datapaths-memif-bare",
        run: |requests| {
            let (server, client) = neighbours()?;
            lockstep::by_hand(server, client, ([10, 0, 0, 1], 0).into(), &in_step(requests)).map(drop)
        },
    },
    Probe { name: "kv-raw-postcard", run: |iterations| kv_raw_requests(Postcard, iterations) },
];

/// Runs the probe of that name.
///
/// # Errors
/// [`ErrorKind::Probe`] when there is none, with the names that there are; else the probe's own error.
pub fn run(name: &str, iterations: u64) -> Result<(), Error> {
    if let Some(probe) = PROBES.iter().find(|probe| probe.name == name) {
        return (probe.run)(iterations);
    }
    if let Some(case) = overhead::Case::named(name) {
        return case.probe(iterations);
    }
    if let Some(case) = passes::Case::named(name) {
        return case.probe(iterations);
    }
    let names: Vec<_> = PROBES.iter().map(|probe| probe.name.to_owned()).collect();
    let cases: Vec<_> = overhead::Case::all().map(|case| case.to_string()).collect();
    let with_passes: Vec<_> = passes::Case::all().map(|case| case.to_string()).collect();
    let known = [names, cases, with_passes].concat().join(", ");
    Err(Error::new(ErrorKind::Probe, format!("no probe is called {name}; there are: {known}")))
}

/// Counts up: a few instructions per iteration, to check the counter itself.
fn count(iterations: u64) -> Result<(), Error> {
    stepping::begin()?;
    let mut reached = 0;
    while reached < iterations {
        reached = black_box(reached + 1);
    }
    stepping::end()
}

/// Echoes without a warm-up, which the counter subtracts anyway.
fn counted(iterations: u64) -> Rounds {
    Rounds { warm_up: 0, measured: iterations as usize }
}

/// Connections that are set up, used and closed, client and server in one thread.
fn connections(way: &Way, iterations: u64) -> Result<(), Error> {
    way.on_one_thread(iterations as usize).map(drop)
}

/// Requests to the hand-written store and their replies, client and server in one thread.
fn kv_raw_requests(codec: impl Codec, iterations: u64) -> Result<(), Error> {
    let setup = kv_raw::Setup { requests: iterations, ..kv_raw::Setup::default() };
    kv_raw::on_one_thread(codec, &setup).map(drop)
}

/// The same over Bertha.
fn kv_bertha_requests(iterations: u64) -> Result<(), Error> {
    let setup = kv_raw::Setup { requests: iterations, ..kv_raw::Setup::default() };
    kv_bertha::on_one_thread(&setup).map(drop)
}

/// So many requests of workload B, rounded up to whole rounds.
fn in_step(requests: u64) -> kv_raw::Setup {
    kv_raw::Setup { requests, outstanding: 128, ..kv_raw::Setup::default() }
}

/// Two ports of this process that share memory.
#[cfg(feature = "dpdk")]
fn neighbours() -> Result<(Dpdk, Dpdk), Error> {
    let open = |side, role, address| {
        let dpdk = Dpdk::open(&config(0, side, role, address));
        dpdk.map_err(Error::while_doing(ErrorKind::Bertha, "opening a port"))
    };
    Ok((open(0, "server", "10.0.0.1/24")?, open(1, "client", "10.0.0.2/24")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = run("nothing", 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Probe);
        assert!(error.to_string().contains("count"), "{error}");
    }
}
