//! Congestion controls for connections of the crate `quinn`.

mod reports;

use super::{Algorithm, CongestionControl};
use parking_lot::Mutex;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use reports::{Report, Reports};
use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Any [`Algorithm`] as the congestion control of connections of the crate `quinn`.
///
/// ```
/// use bertha_chunnels::congestion::{Cubic, ForQuinn};
/// use quinn_proto::TransportConfig;
/// use std::sync::Arc;
///
/// let mut transport = TransportConfig::default();
/// transport.congestion_controller_factory(Arc::new(ForQuinn::new(Cubic)));
/// ```
///
/// The Chunnel `Quic` takes an algorithm by its method `with`.
///
/// # Signals
///
/// QUIC reports the packets of one acknowledgement frame together, and losses and marks apart from them. In
/// addition:
///
/// * All acknowledged bytes count as acknowledged in order, since `quinn` does not report the order.
/// * Losses are reported in bytes, so the number of lost packets is the number of packets with that many
///   bytes.
/// * Marks are reported without their number, as one packet. So an algorithm that needs numbers can't be
///   used: [`start`](Algorithm::start) is called.
///
/// # Enforcement
///
/// `quinn` keeps the bytes in flight within the window, and paces by itself, at 5/4 of a window per round
/// trip. It takes no rate. So a [rate](CongestionControl::rate) is enforced by the window that sends at this
/// rate: the bytes that it sends in a smoothed round trip. A window never has less than two packets.
///
/// A connection whose peer changes its address begins anew there, with another [`start`](Algorithm::start).
#[derive(Debug, Clone)]
pub struct ForQuinn {
    algorithm: Arc<dyn Algorithm>,
}

impl ForQuinn {
    /// Makes a congestion control for connections, by `algorithm`.
    pub fn new(algorithm: impl Algorithm) -> Self {
        Self { algorithm: Arc::new(algorithm) }
    }
}

impl From<Arc<dyn Algorithm>> for ForQuinn {
    fn from(algorithm: Arc<dyn Algorithm>) -> Self {
        Self { algorithm }
    }
}

impl ControllerFactory for ForQuinn {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Control::start(self.algorithm.clone(), now, current_mtu.into()))
    }
}

/// The control of one path of a connection.
struct Control {
    algorithm: Arc<dyn Algorithm>,
    /// The mutex is here only because `quinn` shares the value between threads: it is never locked.
    control: Mutex<Box<dyn CongestionControl>>,
    reports: Reports,
    start: Instant,
    /// The size of a packet in bytes.
    packet: u64,
    rtt: Duration,
    /// The window in bytes, limited by the rate; `rate` is the rate.
    window: u64,
    rate: Option<u64>,
}

impl Control {
    fn start(algorithm: Arc<dyn Algorithm>, now: Instant, packet: u64) -> Self {
        let control = Mutex::new(algorithm.start(packet));
        let mut control = Self {
            algorithm,
            control,
            reports: Reports::new(packet),
            start: now,
            packet,
            rtt: Duration::ZERO,
            window: 0,
            rate: None,
        };
        control.decide();
        control
    }

    fn at(&self, instant: Instant) -> Duration {
        instant.saturating_duration_since(self.start)
    }

    fn report(&mut self, Report { ack, flow }: Report) {
        self.control.get_mut().on_ack(&ack, &flow);
        self.decide();
    }

    /// Reads window and rate.
    fn decide(&mut self) {
        let control = self.control.get_mut();
        self.rate = control.rate();
        let by_rate = match self.rate {
            Some(rate) if !self.rtt.is_zero() => {
                let bytes = u128::from(rate) * self.rtt.as_nanos() / 1_000_000_000;
                u64::try_from(bytes).unwrap_or(u64::MAX)
            }
            _ => u64::MAX,
        };
        self.window = control.window().min(by_rate).max(2 * self.packet);
    }
}

impl Controller for Control {
    fn on_sent(&mut self, now: Instant, bytes: u64, _: u64) {
        self.reports.on_sent(self.at(now), bytes);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _: bool, rtt: &RttEstimator) {
        self.rtt = rtt.get();
        self.reports.on_packet(self.at(now), self.at(sent), bytes);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        let report = self.reports.on_packets_end(self.at(now), in_flight, app_limited);
        self.report(report);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        let now = self.at(now);
        let sent = self.at(sent);
        let report = match lost_bytes {
            0 => self.reports.on_marked(now, sent),
            bytes => self.reports.on_lost(now, sent, bytes, is_persistent),
        };
        self.report(report);
    }

    /// Adapts only the smallest window: an algorithm counts in packets of the size at which it began.
    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.packet = new_mtu.into();
        self.decide();
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window;
        metrics.pacing_rate = self.rate.map(|rate| rate.saturating_mul(8));
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        // The times of the new path count from the start of the connection, since `quinn` does not tell the
        // present time.
        Box::new(Self::start(self.algorithm.clone(), self.start, self.packet))
    }

    fn initial_window(&self) -> u64 {
        self.window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{Ack, Flow};

    /// Doubles its window with each acknowledgement, halves it with each loss or mark, and has a rate.
    #[derive(Debug, Clone)]
    struct Doubling {
        window: u64,
        rate: Option<u64>,
    }

    impl Algorithm for Doubling {
        fn start(&self, packet: u64) -> Box<dyn CongestionControl> {
            Box::new(Self { window: 10 * packet, ..self.clone() })
        }
    }

    impl CongestionControl for Doubling {
        fn on_ack(&mut self, ack: &Ack, _: &Flow) {
            let is_congested = ack.lost_pkts_sample + ack.ecn_packets > 0;
            self.window = if is_congested { self.window / 2 } else { self.window * 2 };
        }

        fn window(&self) -> u64 {
            self.window
        }

        fn rate(&self) -> Option<u64> {
            self.rate
        }
    }

    fn control(rate: Option<u64>) -> Control {
        Control::start(Arc::new(Doubling { window: 0, rate }), Instant::now(), 1_200)
    }

    #[test]
    fn the_window_is_that_of_the_algorithm() {
        let mut control = control(None);
        let (start, later) = (control.start, control.start + Duration::from_millis(20));
        assert_eq!((control.initial_window(), control.window()), (12_000, 12_000));
        control.on_sent(start, 1_200, 0);
        control.on_end_acks(later, 0, false, Some(0));
        assert_eq!(control.window(), 24_000);
        control.on_congestion_event(later, start, false, 1_200);
        assert_eq!(control.window(), 12_000);
        // The event is a mark.
        control.on_congestion_event(later, start, false, 0);
        assert_eq!(control.window(), 6_000);
    }

    #[test]
    fn a_window_has_two_packets_at_least_also_of_another_size() {
        let mut control = control(None);
        (0..9).for_each(|_| control.on_congestion_event(control.start, control.start, false, 1_200));
        assert_eq!(control.window(), 2_400);
        control.on_mtu_update(1_452);
        assert_eq!(control.window(), 2_904);
    }

    #[test]
    fn a_rate_bounds_the_window_once_there_is_a_round_trip() {
        let mut control = control(Some(400_000));
        assert_eq!(control.window(), 12_000);
        control.rtt = Duration::from_millis(20);
        control.on_end_acks(control.start, 0, false, None);
        assert_eq!(control.window(), 8_000);
        assert_eq!(control.metrics().pacing_rate, Some(3_200_000));
        control.rtt = Duration::from_secs(1);
        control.on_end_acks(control.start, 0, false, None);
        assert_eq!(control.window(), 48_000);
    }

    #[test]
    fn another_path_begins_anew() {
        let mut control = control(None);
        control.on_end_acks(control.start, 0, false, None);
        assert_eq!((control.window(), control.clone_box().window()), (24_000, 12_000));
    }
}
