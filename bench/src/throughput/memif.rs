//! The transfer over two DPDK ports that share memory, with the frames of Ethernet and with larger frames.

use super::bertha::{Ends, over};
use super::ports::Ports;
use super::unrepaired::{self, Leaving};
use super::{Contender, Setup};
use crate::goodput::{self, Runs, Transfer};
use crate::harness::{ETHERNET, Effort, median, ratio_of_medians};
use crate::memif::config;
use crate::report::Report;
use crate::{Error, ErrorKind};
use bertha_datapath_dpdk::{Config, Dpdk};

/// MTU of jumbo frames, as most Ethernet switches carry them.
const JUMBO: u16 = 9000;

/// Length of the headers of IPv4 and UDP.
const HEADERS: usize = 28;

/// Number of buffers of each port. It is small, since buffers are used in turn: of many buffers, each has
/// left the processor's cache when it is needed again.
const BUFFERS: u32 = 1023;

/// Moves files over memif and over kernel UDP in turn.
pub(super) fn run(
    connections: &[usize],
    bytes: usize,
    effort: Effort,
    report: &mut Report,
) -> Result<(), Error> {
    let usual = Config::default().mtu;
    for (number, mtu, datagram) in [(0, usual, ETHERNET), (1, JUMBO, usize::from(JUMBO) - HEADERS)] {
        let ends = ends(number, mtu)?;
        for &connections in connections {
            let setup = Setup { connections, bytes, datagram };
            let row = format!("{datagram}-byte datagrams, {connections} connections: Bertha over memif");
            match race(&ends, &setup, effort.pick(7, 3), &row, report) {
                // The other rows are still worth having.
                Err(error) if matches!(error.kind(), ErrorKind::Bertha | ErrorKind::Stalled) => {
                    report.skip(&row, &error.to_string());
                }
                raced => raced?,
            }
        }
    }
    Ok(())
}

/// Runs the transfers of Figure 3.3.
pub(super) fn figure(setup: &Setup, effort: Effort, report: &mut Report) -> Result<Vec<Runs>, Error> {
    let mtu = Config::default().mtu;
    let ends = &ends(2, mtu)?;
    let [sender, receiver] = configs(3, mtu);
    let mut ports = Ports::open(&sender, &receiver)?;
    let mut nothing = || unrepaired::over(ends, setup, Leaving::Copied);
    let transfers: [Transfer<'_>; 3] = [&mut || ports.run(setup), &mut nothing, &mut || over(ends, setup)];
    goodput::over("memif", transfers, effort, report)
}

/// Returns the settings of both ports of a pair.
fn configs(number: u32, mtu: u16) -> [Config; 2] {
    [(0, "server", "10.0.0.1/24"), (1, "client", "10.0.0.2/24")].map(|(side, role, address)| Config {
        mtu,
        buffers: BUFFERS,
        ..config(number, side, role, address)
    })
}

fn ends(number: u32, mtu: u16) -> Result<Ends<Dpdk>, Error> {
    let [server, client] = configs(number, mtu);
    let open = |config| Dpdk::open(config).map_err(Error::while_doing(ErrorKind::Bertha, "opening a port"));
    Ok(Ends { server: open(&server)?, client: open(&client)?, at: ([10, 0, 0, 1], 0).into() })
}

fn race(ends: &Ends<Dpdk>, setup: &Setup, runs: usize, row: &str, report: &mut Report) -> Result<(), Error> {
    let mut pairs = Vec::new();
    for _ in 0..runs {
        pairs.push((over(ends, setup)?, Contender::Bertha.run(setup)?));
    }
    let memif: Vec<_> = pairs.iter().map(|(memif, _)| *memif).collect();
    report.figure(row, median(&memif).unwrap_or(f64::NAN) / 1e6, "MB/s");
    report.ratio(format!("{row}, to kernel UDP"), ratio_of_medians(&pairs, 0), None);
    Ok(())
}
