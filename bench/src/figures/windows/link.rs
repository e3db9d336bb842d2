//! The links.

use bertha_datapath_sim as sim;
use std::fmt;
use std::time::Duration;

/// Size of a packet in bytes.
pub(super) const PACKET: usize = 1_352;

/// A link with a queue of a bandwidth-delay product in front.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Link {
    /// Rate of the link, in megabits per second.
    pub(super) megabits: f64,
    /// Time of a round trip, while the queue is empty.
    pub(super) round_trip: Duration,
    /// Share of packets that are lost by chance.
    pub(super) loss: f64,
    /// Time for which the link is used.
    pub(super) time: Duration,
}

const fn link(megabits: f64, round_trip_ms: u64, loss: f64, seconds: u64) -> Link {
    let round_trip = Duration::from_millis(round_trip_ms);
    let time = Duration::from_secs(seconds);
    Link { megabits, round_trip, loss, time }
}

/// The links of the thesis.
pub(super) const LINKS: [Link; 5] = [
    link(96.0, 20, 0.0, 20),
    link(12.0, 20, 0.0, 30),
    link(48.0, 100, 0.0, 40),
    link(12.0, 20, 0.000_1, 30),
    link(12.0, 20, 0.02, 30),
];

impl Link {
    /// Returns the link's rate, in bytes per second.
    pub(super) fn rate(&self) -> f64 {
        self.megabits * 1e6 / 8.0
    }

    /// Returns the bandwidth-delay product, which is the size of the queue, in bytes.
    pub(super) fn product(&self) -> f64 {
        self.rate() * self.round_trip.as_secs_f64()
    }

    /// Returns the names of the link's files.
    pub(super) fn slug(&self) -> String {
        let loss = if self.loss > 0.0 { format!("-loss-{}", self.loss) } else { String::new() };
        format!("{}mbit-{}ms{loss}", self.megabits, self.round_trip.as_millis())
    }

    /// Returns the link in the direction in which it is used, and back.
    pub(super) fn directions(&self) -> [sim::Link; 2] {
        let back = sim::Link { delay: self.round_trip / 2, ..sim::Link::default() };
        let bottleneck = sim::Bottleneck { rate: self.rate() as u64, queue: self.product() as u64 };
        [sim::Link { loss: self.loss, bottleneck: Some(bottleneck), ..back }, back]
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbit/s, {} ms", self.megabits, self.round_trip.as_millis())?;
        match self.loss {
            loss if loss > 0.0 => write!(f, ", {} % lost", loss * 100.0),
            _ => Ok(()),
        }
    }
}
