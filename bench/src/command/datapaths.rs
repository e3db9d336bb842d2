//! `bertha-bench datapaths`: the key-value store over one datapath and the next.

mod limits;

use bertha_bench::alternate::{self, Paired, alternate};
use bertha_bench::baseline::kv_raw::{Sample, Setup};
use bertha_bench::datapaths::{Line, bare, draw, in_memory, lockstep, run as over};
use bertha_bench::dpdk_echo::config;
use bertha_bench::report::{Report, directory};
use bertha_bench::statistics::{median, ratio_of_medians};
use bertha_bench::{Error, ErrorKind};
use bertha_core::Addr;
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
    /// Requests on the way at each point of the figure; none leaves it out
    #[arg(long, value_delimiter = ',', num_args = 0.., default_values_t = [1, 4, 16, 64, 256, 512])]
    loads: Vec<usize>,
    /// Samples at each point, the median of which counts
    #[arg(long, default_value_t = 5)]
    samples: usize,
    /// Requests whose instructions are counted one by one, rounded up to 128 at a time; 0 leaves the count out
    #[arg(long, default_value_t = 128)]
    counted: u64,
    /// Further arguments of the memif devices, such as `rsize=9` for rings of 512
    #[arg(long)]
    device: Option<String>,
}

/// Requests on the way with which memory is at its best: with fewer, its ends wait to be woken.
const SATURATED: usize = 512;

type Run<'a> = Box<dyn Fn(&Setup) -> Result<Sample, Error> + 'a>;

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let setup = &Setup { outstanding: options.outstanding, requests: options.requests, ..Setup::default() };
    let open = |side, role, address| {
        let mut config = config(0, side, role, address);
        if let (Some(device), Some(more)) = (&mut config.device, &options.device) {
            device.extend([",", more]);
        }
        let dpdk = Dpdk::open(&config);
        dpdk.map_err(Error::while_doing(ErrorKind::Bertha, "opening a port"))
    };
    let (server, client) = (&open(0, "server", "10.0.0.1/24")?, &open(1, "client", "10.0.0.2/24")?);
    let (local, port): (Addr, Addr) = (([127, 0, 0, 1], 0).into(), ([10, 0, 0, 1], 0).into());
    let abstract_name = format!("unix:@bertha-bench-{}", std::process::id());
    let socket: Addr =
        abstract_name.parse().map_err(Error::while_doing(ErrorKind::Bertha, "naming a socket"))?;
    let udp = |setup: &Setup| over(Udp::new(), Udp::new(), local.clone(), setup);
    let unix = |setup: &Setup| over(Unix::new(), Unix::new(), socket.clone(), setup);
    let memif = |setup: &Setup| over(server.clone(), client.clone(), port.clone(), setup);
    let mut report = Report::new("datapaths");
    if options.counted > 0 {
        limits::instructions(options.counted, &mut report)?;
    }
    let in_turn = |setup: &Setup| lockstep::negotiated(server.clone(), client.clone(), port.clone(), setup);
    let own = limits::own_work(setup, options.samples, in_turn, &mut report)?;
    let best = &Setup { outstanding: setup.outstanding.max(SATURATED), ..*setup };
    let others: [(&str, Run<'_>, &Setup); 4] = [
        ("kernel UDP", Box::new(udp), setup),
        ("Unix sockets", Box::new(unix), setup),
        ("memory", Box::new(in_memory), setup),
        ("memory at its best", Box::new(in_memory), best),
    ];
    let mut against = Vec::new();
    for (name, other, setup) in others {
        let paired = alternate(options.pairs, || other(setup), || memif(setup))?;
        against.push(compare(name, &paired, &mut report));
    }
    if let [kernel, _, memory, best] = against[..] {
        own.judge(kernel, memory, best, &mut report);
    }
    let bare_udp = |setup: &Setup| bare(Udp::new(), Udp::new(), local.clone(), setup);
    let bare_memif = |setup: &Setup| bare(server.clone(), client.clone(), port.clone(), setup);
    let paired = alternate(options.pairs, || bare_memif(setup), || memif(setup))?;
    compare("bare memif", &paired, &mut report);
    if !options.loads.is_empty() {
        let lines: [(&str, Run<'_>); 6] = [
            ("UDP", Box::new(udp)),
            ("bare UDP", Box::new(bare_udp)),
            ("memif", Box::new(memif)),
            ("bare memif", Box::new(bare_memif)),
            ("Unix", Box::new(unix)),
            ("memory", Box::new(in_memory)),
        ];
        figure(options, setup, &lines, &mut report)?;
    }
    Ok(report)
}

/// Latency at rising load, with the datapaths in turn at each load.
fn figure(
    options: &Options,
    setup: &Setup,
    runs: &[(&str, Run<'_>)],
    report: &mut Report,
) -> Result<(), Error> {
    let mut lines: Vec<Line> =
        runs.iter().map(|(name, _)| Line { label: (*name).into(), samples: Vec::new() }).collect();
    for outstanding in &options.loads {
        for ((name, run), line) in runs.iter().zip(&mut lines) {
            // A sample takes about as long at each load.
            let requests = (setup.requests / 16).max(setup.requests / 256 * *outstanding as u64);
            let setup = Setup { outstanding: *outstanding, requests: requests.min(setup.requests), ..*setup };
            let mut samples = Vec::new();
            for _ in 0..options.samples.max(1) {
                samples.push(run(&setup)?);
            }
            samples.sort_by(|a, b| a.requests_per_second.total_cmp(&b.requests_per_second));
            let sample = samples[samples.len() / 2];
            let point = format!("{name}, {outstanding} on the way");
            report.figure(format!("{point}, throughput"), sample.requests_per_second, "ops/s");
            report.figure(format!("{point}, p50"), sample.latency.p50_us, "us");
            report.figure(format!("{point}, p99"), sample.latency.p99_us, "us");
            line.samples.push(sample);
        }
    }
    let directory = directory();
    std::fs::create_dir_all(&directory)
        .map_err(Error::while_doing(ErrorKind::Report, "making the directory of reports"))?;
    draw(&lines, &directory.join("datapaths.svg"))
}

/// How the two compare.
fn compare(name: &str, paired: &Paired<Sample>, report: &mut Report) -> limits::Against {
    let of = |samples: Vec<Sample>, who: &str, report: &mut Report| {
        let middle = |number: fn(&Sample) -> f64| {
            median(&samples.iter().map(number).collect::<Vec<_>>()).unwrap_or(f64::NAN)
        };
        let throughput = middle(|it| it.requests_per_second);
        report.figure(format!("{who}, throughput"), throughput, "ops/s");
        report.figure(format!("{who}, p50"), middle(|it| it.latency.p50_us), "us");
        report.figure(format!("{who}, p99"), middle(|it| it.latency.p99_us), "us");
        report.figure(format!("{who}, resent"), middle(|it| it.resent as f64), "requests");
        throughput
    };
    let other = of(paired.ab.iter().map(|(other, _)| *other).collect(), name, report);
    let memif =
        of(paired.ab.iter().map(|(_, memif)| *memif).collect(), &format!("memif (beside {name})"), report);
    let turned: Vec<_> = paired
        .ab
        .iter()
        .map(|(other, memif)| (memif.requests_per_second, other.requests_per_second))
        .collect();
    let ratio = ratio_of_medians(&turned, 0);
    if let Some(ratio) = &ratio {
        report.ratio(&format!("throughput, memif to {name}"), ratio, None);
    }
    limits::Against { other, memif, high: ratio.map_or(f64::NAN, |ratio| ratio.high) }
}
