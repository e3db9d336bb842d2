//! The same stack over two DPDK ports that share memory, with the frames of Ethernet and with larger ones.

use super::Options;
use bertha_bench::dpdk_echo::config;
use bertha_bench::report::Report;
use bertha_bench::statistics::{median, percentile};
use bertha_bench::throughput::{Contender, ETHERNET, Ends, Setup, over};
use bertha_bench::{Error, ErrorKind};
use bertha_datapath_dpdk::{Config, Dpdk};

/// The MTU of jumbo frames, as most Ethernet switches carry them.
const JUMBO: u16 = 9000;

/// The headers of IPv4 and UDP.
const HEADERS: usize = 28;

/// Buffers of each port. Few, since they are used in turn: of many, each has left the processor's cache when it is needed again.
const BUFFERS: u32 = 1023;

/// Files over memif and over kernel UDP in turn.
pub(super) fn run(options: &Options, report: &mut Report) -> Result<(), Error> {
    let usual = Config::default().mtu;
    for (number, mtu, datagram) in [(0, usual, ETHERNET), (1, JUMBO, usize::from(JUMBO) - HEADERS)] {
        let ends = ends(number, mtu)?;
        for &connections in &options.connections {
            let setup = Setup { connections, bytes: options.bytes, datagram };
            match race(&ends, &setup, options.runs, report) {
                // The other rows are worth having.
                Err(error) if matches!(error.kind(), ErrorKind::Bertha | ErrorKind::Stalled) => {
                    let row =
                        format!("{datagram} byte datagrams, {connections} connections: Bertha over memif");
                    report.skipped(&row, &error.to_string(), "MB/s");
                }
                raced => raced?,
            }
        }
    }
    Ok(())
}

fn ends(number: u32, mtu: u16) -> Result<Ends<Dpdk>, Error> {
    let open = |side, role, address| {
        let dpdk = Dpdk::open(&Config { mtu, buffers: BUFFERS, ..config(number, side, role, address) });
        dpdk.map_err(Error::while_doing(ErrorKind::Bertha, "opening a port"))
    };
    Ok(Ends {
        server: open(0, "server", "10.0.0.1/24")?,
        client: open(1, "client", "10.0.0.2/24")?,
        at: ([10, 0, 0, 1], 0).into(),
    })
}

fn race(ends: &Ends<Dpdk>, setup: &Setup, runs: usize, report: &mut Report) -> Result<(), Error> {
    let (mut memif, mut kernel) = (Vec::new(), Vec::new());
    for run in 0..runs {
        // Each begins every other time.
        if run % 2 == 0 {
            kernel.push(Contender::Bertha.run(setup)?);
        }
        memif.push(over(ends, setup)?);
        if run % 2 == 1 {
            kernel.push(Contender::Bertha.run(setup)?);
        }
    }
    let row = format!("{} byte datagrams, {} connections", setup.datagram, setup.connections);
    let at = |fraction| percentile(&memif, fraction).unwrap_or(f64::NAN) / 1e6;
    let spread = format!("{row}: Bertha over memif (p25 {:.0}, p75 {:.0})", at(0.25), at(0.75));
    report.figure(spread, at(0.5), "MB/s");
    let against = at(0.5) * 1e6 / median(&kernel).unwrap_or(f64::NAN);
    report.figure(format!("{row}: memif against kernel UDP"), against, "x");
    Ok(())
}
