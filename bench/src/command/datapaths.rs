//! `bertha-bench datapaths`: the key-value store over one datapath and the next.

use bertha_bench::Error;
use bertha_bench::ErrorKind;
use bertha_bench::alternate::{self, Paired, alternate};
use bertha_bench::baseline::kv_raw::{Sample, Setup};
use bertha_bench::datapaths::{in_memory, run as over};
use bertha_bench::dpdk_echo::config;
use bertha_bench::report::{Budget, Report};
use bertha_bench::statistics::{median, ratio_of_medians};
use bertha_datapath_dpdk::Dpdk;
use bertha_datapath_kernel::{Udp, Unix};
use clap::Args;

/// How to load the store over each datapath.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Requests on the way
    #[arg(long, default_value_t = 256)]
    outstanding: usize,
    /// Requests per sample
    #[arg(long, default_value_t = 400_000)]
    requests: u64,
    /// Pairs of samples for each ratio
    #[arg(long, default_value_t = alternate::FEWEST_PAIRS)]
    pairs: usize,
}

type Run<'a> = Box<dyn Fn() -> Result<Sample, Error> + 'a>;

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let setup = &Setup { outstanding: options.outstanding, requests: options.requests, ..Setup::default() };
    let open = |side, role, address| {
        let dpdk = Dpdk::open(&config(0, side, role, address));
        dpdk.map_err(Error::while_doing(ErrorKind::Bertha, "opening a port"))
    };
    let (server, client) = (&open(0, "server", "10.0.0.1/24")?, &open(1, "client", "10.0.0.2/24")?);
    let udp = || over(Udp::new(), Udp::new(), ([127, 0, 0, 1], 0).into(), setup);
    let unix = || {
        let addr = format!("unix:@bertha-bench-{}", std::process::id()).parse();
        over(Unix::new(), Unix::new(), addr.map_err(Error::while_doing(ErrorKind::Bertha, "naming"))?, setup)
    };
    let memif = || over(server.clone(), client.clone(), ([10, 0, 0, 1], 0).into(), setup);
    let others: [(&str, Run<'_>, Option<Budget>); 3] = [
        ("kernel UDP", Box::new(udp), Some(Budget::AtLeast(3.0))),
        ("Unix sockets", Box::new(unix), None),
        ("memory", Box::new(|| in_memory(setup)), Some(Budget::AtLeast(0.8))),
    ];
    let mut report = Report::new("datapaths");
    for (name, other, budget) in others {
        let paired = alternate(options.pairs, other, memif)?;
        compare(name, &paired, budget, &mut report);
    }
    Ok(report)
}

/// The budgets are alternatives: three times kernel UDP, or near to memory where the store itself is the limit.
fn compare(name: &str, paired: &Paired<Sample>, budget: Option<Budget>, report: &mut Report) {
    let of = |samples: Vec<Sample>, who: &str, report: &mut Report| {
        let middle = |number: fn(&Sample) -> f64| {
            median(&samples.iter().map(number).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        report.figure(format!("{who}, throughput"), middle(|it| it.requests_per_second), "ops/s");
        report.figure(format!("{who}, p50"), middle(|it| it.latency.p50_us), "us");
        report.figure(format!("{who}, p99"), middle(|it| it.latency.p99_us), "us");
        report.figure(format!("{who}, resent"), middle(|it| it.resent as f64), "requests");
    };
    of(paired.ab.iter().map(|(other, _)| *other).collect(), name, report);
    of(paired.ab.iter().map(|(_, memif)| *memif).collect(), &format!("memif (beside {name})"), report);
    let turned: Vec<_> = paired
        .ab
        .iter()
        .map(|(other, memif)| (memif.requests_per_second, other.requests_per_second))
        .collect();
    if let Some(ratio) = ratio_of_medians(&turned, 0) {
        report.ratio(&format!("throughput, memif to {name}"), &ratio, budget);
    }
}
