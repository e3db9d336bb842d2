//! The program `bertha-bench datapaths`: the key-value store under workload B over kernel UDP, Unix sockets,
//! memory, DPDK ports that share memory, and Caladan, with a common stack, store and client: the server on a core, the
//! client on another, except that both are on one core within a runtime of Caladan. Over those ports and Caladan there is a store
//! without Chunnels too.

mod stores;

use crate::harness::{Effort, Paired, alternate};
use crate::kv::{self, Curve, Ports, Sample, Setup};
use crate::memif::config;
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_core::Addr;
use bertha_datapath_dpdk::Dpdk;
use bertha_datapath_kernel::{Udp, Unix};
use bertha_plot::{Scale, latency_by_load};
use stores::{bare, in_memory, negotiated};

/// Numbers of requests in flight at which client and store are the limit, and at which the datapath is.
const SATURATED: usize = 512;
const FEW: usize = 64;

/// Numbers of requests in flight at each point of the figure.
const LOADS: [usize; 6] = [1, 4, 16, 64, 256, 512];

/// Budgets of memif against kernel UDP: at saturation, with few requests in flight, and with one. Above the upper ends the kernel's row is not what it
/// should be.
const AT_SATURATION: Budget = Budget::Between(1.3, 8.0);
const WITH_FEW: Budget = Budget::Between(4.0, 40.0);
const WITH_ONE: Budget = Budget::Between(20.0, 100.0);

/// Budgets of the store with Chunnels and negotiation against the store without them, over memif: in throughput, and alone in the
/// median. Above the upper ends the store by hand is not what it should be.
const CHUNNELS: Budget = Budget::Between(0.75, 1.1);

type Run<'a> = Box<dyn FnMut(&Setup) -> Result<Sample, Error> + 'a>;

/// Measures the rows.
///
/// # Errors
/// Errors of the connections; [`ErrorKind::Core`] with fewer than two usable cores.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let open = |side, role, address| {
        let dpdk = Dpdk::open(&config(0, side, role, address));
        dpdk.map_err(Error::while_doing(ErrorKind::Bertha, "opening a port"))
    };
    let server = &open(0, "server", "10.0.0.1/24")?;
    let client = &open(1, "client", "10.0.0.2/24")?;
    let mut ports = Ports::open(1)?;
    let (local, port): (Addr, Addr) = (([127, 0, 0, 1], 0).into(), ([10, 0, 0, 1], 0).into());
    let name = format!("unix:@bertha-bench-{}", std::process::id());
    let socket: Addr = name.parse().map_err(Error::while_doing(ErrorKind::Bertha, "naming a socket"))?;
    let udp = |setup: &Setup| negotiated(Udp::new(), Udp::new(), local.clone(), setup);
    let memif = |setup: &Setup| negotiated(server.clone(), client.clone(), port.clone(), setup);
    let mut report = Report::new("datapaths");
    for (in_flight, budget) in [(SATURATED, AT_SATURATION), (FEW, WITH_FEW), (1, WITH_ONE)] {
        let setup = setup(in_flight, effort);
        let paired = alternate(effort.pairs(), || udp(&setup), || memif(&setup))?;
        let load = format!("{in_flight} in flight");
        compare(&load, ["kernel UDP", "memif"], &paired, budget, &mut report);
    }
    for in_flight in [SATURATED, FEW, 1] {
        let setup = setup(in_flight, effort);
        let paired = alternate(effort.pairs(), || ports.measure(&setup), || memif(&setup))?;
        let load = format!("{in_flight} in flight over memif");
        compare(&load, ["without Chunnels", "with Chunnels"], &paired, CHUNNELS, &mut report);
    }
    let runs: [(&str, Run<'_>); 6] = [
        ("memif", Box::new(memif)),
        (
            "memif, not negotiated",
            Box::new(|setup| bare(server.clone(), client.clone(), port.clone(), setup)),
        ),
        ("memif, without Chunnels", Box::new(|setup| ports.measure(setup))),
        ("kernel UDP", Box::new(udp)),
        ("Unix sockets", Box::new(|setup| negotiated(Unix::new(), Unix::new(), socket.clone(), setup))),
        ("in one process, no network", Box::new(in_memory)),
    ];
    let mut curves = Vec::new();
    for (name, run) in runs {
        curves.push(Curve::of(name, LOADS.map(|in_flight| setup(in_flight, effort)), effort, run)?);
    }
    #[cfg(feature = "caladan")]
    curves.extend(crate::caladan::add(crate::caladan::Rows::Datapaths, effort, &mut report)?.curves);
    curves.iter().for_each(|curve| curve.add_to(&mut report));
    let lines: Vec<_> = curves.iter().map(Curve::line).collect();
    report.draw("datapaths.svg", latency_by_load(&lines, Scale::Logarithmic))?;
    Ok(report)
}

/// Returns the setup of a sample, which takes about as long at each load.
fn setup(in_flight: usize, effort: Effort) -> Setup {
    let most: u64 = effort.pick(400_000, 100_000);
    let requests = (most / 256 * in_flight as u64).clamp(most / 16, most);
    Setup { in_flight, requests, ..Setup::default() }
}

/// Adds the figures of two stores, and the ratio of the second one's throughput to that of the first.
fn compare(
    load: &str,
    [one, other]: [&str; 2],
    paired: &Paired<Sample>,
    budget: Budget,
    report: &mut Report,
) {
    kv::figures(&format!("{load}, {one} beside {other}"), &paired.a(), report);
    kv::figures(&format!("{load}, {other} beside {one}"), &paired.b(), report);
    let name = format!("{load}, throughput, {other} to {one}");
    report.compare(&name, paired, |it| it.requests_per_second, Some(budget));
}
