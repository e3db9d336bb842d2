//! Figures 4.14 and 4.17 to 4.19: the queues of a flow, the estimates of Bundler's sendbox beside the truth, and the slowdown of requests of
//! many sizes, with the boxes of `bertha-bundle` around an emulated path and Copa by an agent as inner loop. [`between`] has
//! the boxes as programs.

mod between;
mod estimates;
mod queues;
mod requests;
mod slowdown;

pub(super) use between::run as between_namespaces;
pub(super) use estimates::run as estimates;
pub(super) use queues::run as queues;
pub(super) use slowdown::run as slowdown;

use super::completion::Sizes;
use super::control::{Control, Started};
use super::flows::{PACKET, SERVER, host};
use crate::Error;
use bertha_bundle::{Bundle, Measurement, Scheduling};
use bertha_datapath_sim::{Network, Path};

/// Sizes of requests: 97.6 % are 10 KB or shorter, and 0.002 % between 5 and 30 MB. In the thesis these go up to
/// 100 MB.
const SIZES: &Sizes = &[
    (100.0, 0.0),
    (1_000.0, 0.45),
    (4_000.0, 0.85),
    (10_000.0, 0.976),
    (100_000.0, 0.995),
    (1e6, 0.999_5),
    (5e6, 0.999_98),
    (30e6, 1.0),
];

/// Share of the link that requests need: 84 Mbit/s of 96 Mbit/s.
const LOAD: f64 = 0.875;

/// Number of hosts that answer requests in turn, so that none runs out of ports.
const HOSTS: usize = 8;

/// The boxes around a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Boxes {
    /// There are none: the queue is the path's, first in, first out.
    None,
    /// A sendbox without an inner loop, as fast as the path: its queue is the path's queue, in fair order.
    InNetwork,
    /// Both boxes, with Copa as inner loop.
    Bundler(Scheduling),
}

impl Boxes {
    /// Puts the boxes around the path between the hosts and the server. The agent of the inner loop, if
    /// there is one, ends with the result.
    ///
    /// # Errors
    /// Errors of starting an agent.
    fn put(&self, network: &Network, path: &Path) -> Result<Option<Started>, Error> {
        let bundle = |scheduling| Bundle { scheduling, buffer: path.buffer, key: 0 };
        let directions = (0..HOSTS).map(|number| (host(number), SERVER));
        match self {
            Self::None => Ok(None),
            Self::InNetwork => {
                let rate = Some(path.rate.mean() as u64);
                network.bundle(directions, bundle(Scheduling::FairAmongFlows), rate, move |_| rate);
                Ok(None)
            }
            Self::Bundler(scheduling) => {
                let copa = Control::CcpCopa.start()?;
                if let Some(mut control) = copa.bundle_control(PACKET) {
                    let inner_loop = move |measured: &Measurement| control.on_measurement(measured);
                    network.bundle(directions, bundle(scheduling.clone()), None, inner_loop);
                }
                Ok(Some(copa))
            }
        }
    }
}
