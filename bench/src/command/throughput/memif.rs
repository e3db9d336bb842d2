//! The same stack over two DPDK ports that share memory.

use super::Options;
use bertha_bench::dpdk_echo::config;
use bertha_bench::report::Report;
use bertha_bench::statistics::{median, percentile};
use bertha_bench::throughput::{Contender, ETHERNET, Ends, Setup, over};
use bertha_bench::{Error, ErrorKind};
use bertha_datapath_dpdk::Dpdk;

/// Files over memif and over kernel UDP in turn.
pub(super) fn run(options: &Options, report: &mut Report) -> Result<(), Error> {
    let open = |side, role, address| {
        let dpdk = Dpdk::open(&config(0, side, role, address));
        dpdk.map_err(Error::while_doing(ErrorKind::Bertha, "opening a port"))
    };
    let ends = Ends {
        server: open(0, "server", "10.0.0.1/24")?,
        client: open(1, "client", "10.0.0.2/24")?,
        at: ([10, 0, 0, 1], 0).into(),
    };
    for &connections in &options.connections {
        let setup = Setup { connections, bytes: options.bytes, datagram: ETHERNET };
        let (mut memif, mut kernel) = (Vec::new(), Vec::new());
        for run in 0..options.runs {
            if run % 2 == 0 {
                kernel.push(Contender::Bertha.run(&setup)?);
            }
            memif.push(over(&ends, &setup)?);
            if run % 2 == 1 {
                kernel.push(Contender::Bertha.run(&setup)?);
            }
        }
        let row = format!("{ETHERNET} byte datagrams, {connections} connections");
        let at = |fraction| percentile(&memif, fraction).unwrap_or(f64::NAN) / 1e6;
        let spread = format!("{row}: Bertha over memif (p25 {:.0}, p75 {:.0})", at(0.25), at(0.75));
        report.figure(spread, at(0.5), "MB/s");
        let against = at(0.5) * 1e6 / median(&kernel).unwrap_or(f64::NAN);
        report.figure(format!("{row}: memif against kernel UDP"), against, "x");
    }
    Ok(())
}
