//! Congestion control of a bundle of flows between two boxes.

use bertha_bundle::Measurement;
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, FixedWindow, Flow};
use std::time::Duration;

/// The inner loop of a bundle ([`bertha_bundle`]): an algorithm to which the bundle is a single flow, and that
/// sets the rate of its sendbox.
///
/// An agent sees the flow as any other. The rate is that of its pattern, or else a window per round trip.
/// Without an agent there is nothing to control a bundle by, so its fallback should be
/// [`UNLIMITED`](Self::UNLIMITED), which leaves the queue to the path:
///
/// ```
/// use bertha_ccp::{BundleControl, Choice};
///
/// # fn main() -> Result<(), bertha_core::Error> {
/// let choice: Choice = "cubic".parse()?;
/// let control = BundleControl::new(&choice.open_or(BundleControl::UNLIMITED)?, 1_500);
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct BundleControl {
    control: Box<dyn CongestionControl>,
    /// Maximum number of bytes of a packet.
    packet: u64,
    /// The time at which the first measured packet was sent.
    start: Option<Duration>,
}

impl BundleControl {
    /// A control that lets all packets pass.
    pub const UNLIMITED: FixedWindow = FixedWindow(u64::MAX);

    /// Starts the control of a bundle whose packets have at most `packet` bytes.
    pub fn new(algorithm: &impl Algorithm, packet: u64) -> Self {
        let packet = packet.max(1);
        Self { control: algorithm.start(packet), packet, start: None }
    }

    /// Returns the rate of the sendbox after a measurement, in bytes per second; `None` is no limit.
    pub fn on_measurement(&mut self, measurement: &Measurement) -> Option<u64> {
        let start = *self.start.get_or_insert(measurement.sent_at);
        let packets = |bytes: u64| bytes.div_ceil(self.packet);
        let ack = Ack {
            bytes_acked: measurement.delivered,
            packets_acked: packets(measurement.delivered),
            lost_pkts_sample: packets(measurement.lost),
            now: measurement.at.saturating_sub(start),
            newest_acked_sent: Some(measurement.sent_at.saturating_sub(start)),
            newest_lost_sent: (measurement.lost > 0).then(|| measurement.sent_at.saturating_sub(start)),
            ..Ack::default()
        };
        let flow = Flow {
            rtt_sample_us: u64::try_from(measurement.round_trip.as_micros()).unwrap_or(u64::MAX),
            // The conversions saturate.
            rate_outgoing: measurement.sending as u64,
            rate_incoming: measurement.receiving as u64,
            bytes_in_flight: measurement.in_flight,
            packets_in_flight: packets(measurement.in_flight),
            is_app_limited: !measurement.is_backlogged,
            is_window_unused: !measurement.is_backlogged,
            bytes_pending: measurement.waiting,
            ..Flow::default()
        };
        self.control.on_ack(&ack, &flow);
        match (self.control.rate(), self.control.window()) {
            (Some(u64::MAX), _) | (None, u64::MAX) => None,
            (Some(rate), _) => Some(rate),
            (None, window) => Some(rate_of(window, measurement.in_flight, flow.rtt_sample_us)),
        }
    }
}

/// Returns the rate that brings `in_flight` bytes to a window within a round trip of `rtt_us` microseconds.
///
/// A window per round trip alone would let the queue swing: what is in flight follows such a rate only a round
/// trip later, and the control would answer to what it has already changed. A transport that obeys a window
/// has no such delay.
fn rate_of(window: u64, in_flight: u64, rtt_us: u64) -> u64 {
    let next = window.saturating_mul(2).saturating_sub(in_flight);
    let next = next.clamp(window / 2, window.saturating_add(window / 2));
    let per_second = u128::from(next) * 1_000_000 / u128::from(rtt_us.max(1));
    u64::try_from(per_second).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::rate_of;

    #[test]
    fn what_is_in_flight_beside_the_window_changes_the_rate_by_half_at_most() {
        let rates = [0, 50, 75, 100, 125, 150, 1_000].map(|in_flight| rate_of(100, in_flight, 1_000_000));
        assert_eq!(rates, [150, 150, 125, 100, 75, 50, 50]);
        assert_eq!(rate_of(u64::MAX - 1, 0, 0), u64::MAX);
    }
}
