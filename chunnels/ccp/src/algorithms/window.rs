//! Algorithms that choose a window per round trip, or twice in it.

use super::handle::{Handle, register};
use portus::ipc::Ipc;
use portus::{Datapath, DatapathInfo, Flow, Report};
use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

/// The program, which counts the packets that a period acknowledged, and reports them; it reports losses at
/// once. The number in flight is the number before each acknowledgement.
const PROGRAM: &str = "
    (def (Report
        (volatile acked 0) (volatile lost 0) (volatile timeout 0) (volatile minrtt +infinity) (rtt 0) (now 0)
        (volatile inflight 0)))
    (when true
        (:= Report.acked (+ Report.acked (+ Ack.bytes_acked Ack.bytes_misordered)))
        (:= Report.lost (+ Report.lost Ack.lost_pkts_sample))
        (:= Report.timeout (if Flow.was_timeout 1))
        (:= Report.minrtt (min Report.minrtt Flow.rtt_sample_us))
        (:= Report.rtt Flow.rtt_sample_us)
        (:= Report.now Ack.now)
        (:= Report.inflight (max Report.inflight (+ Flow.bytes_in_flight (+ Ack.bytes_acked Ack.bytes_misordered))))
        (fallthrough))
    (when (|| (> Ack.lost_pkts_sample 0) (> Micros PERIOD)) (report) (:= Micros 0))";

const NAME: &str = "a round trip";
const HALF: &str = "half a round trip";

fn program(period: &str) -> String {
    PROGRAM.replace("PERIOD", period)
}

/// Returns the programs of the algorithms with a report per round trip.
pub(super) fn programs() -> HashMap<&'static str, String> {
    HashMap::from([(NAME, program("Flow.rtt_sample_us"))])
}

/// Returns the programs of the algorithms with a report per half of a round trip.
pub(super) fn programs_of_halves() -> HashMap<&'static str, String> {
    HashMap::from([(HALF, program("(/ Flow.rtt_sample_us 2)"))])
}

/// Begins the program with a window in bytes.
pub(super) fn begin<I: Ipc>(handle: &mut Handle<I>, window: u32) {
    handle.begin(NAME, &[("Cwnd", window)]);
}

/// A report of the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) round: Round,
    /// Number of packets that were lost.
    pub(super) lost: u64,
    /// 1 if all packets were lost for long, else 0.
    pub(super) timeout: u64,
    /// Maximum number of packets that were in flight.
    pub(super) in_flight: f64,
    /// The last round-trip time.
    pub(super) last_rtt: Duration,
}

impl Measured {
    /// Returns the end of a recovery that begins with this report, which is at `now`: until then, packets
    /// that were sent before may still be found lost (RFC 9002, section 6.1.2: after 9/8 of a round trip),
    /// and these losses count as one.
    pub(super) fn recovered_at(&self, now: Duration) -> Duration {
        now + self.last_rtt.max(self.round.rtt) * 9 / 8
    }
}

/// Returns true if this number of packets in flight uses the window. An unused window says nothing about the
/// path, and must not grow (RFC 9002, section 7.8). Paced packets do not fill the window completely.
pub(super) fn is_used(window: f64, in_flight: f64) -> bool {
    in_flight + 2.0 >= 0.9 * window
}

/// Reads a report, in packets of `packet` bytes.
pub(super) fn measured<I: Ipc>(handle: &Handle<I>, report: &Report, packet: f64) -> Option<Measured> {
    let field = |name| handle.field(report, name);
    let round = Round {
        acked: field("Report.acked")? as f64 / packet,
        rtt: Duration::from_micros(field("Report.minrtt")?),
        now: Duration::from_micros(field("Report.now")?),
        lag: Duration::ZERO,
    };
    let in_flight = field("Report.inflight")? as f64 / packet;
    let lost = field("Report.lost")?;
    let timeout = field("Report.timeout")?;
    let last_rtt = Duration::from_micros(field("Report.rtt")?);
    Some(Measured { round, lost, timeout, in_flight, last_rtt })
}

/// The events of a round trip, or of the time until a loss.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    /// Number of packets that were acknowledged.
    pub(super) acked: f64,
    /// The smallest round-trip time.
    pub(super) rtt: Duration,
    /// The time since the flow began.
    pub(super) now: Duration,
    /// The time for which growth in slow start was late, which the window makes up for; more than a round
    /// trip counts as one.
    pub(super) lag: Duration,
}

impl Round {
    /// Returns the part of a round that began at `start` which lies after `end`, as if its acknowledgements
    /// came evenly.
    pub(super) fn after(&self, start: Duration, end: Duration) -> Self {
        let all = self.now.saturating_sub(start).as_secs_f64();
        let part = self.now.saturating_sub(end.max(start)).as_secs_f64();
        let share = if all > 0.0 { part / all } else { 0.0 };
        Self { acked: self.acked * share, ..*self }
    }
}

/// Performs slow start by reports: lets the window double each round trip, up to `threshold`. Returns the
/// acknowledged packets that are left for congestion avoidance.
///
/// Acknowledged packets were sent with the window of a round trip ago, which did not yet contain the growth
/// of the last report. If a window grows by the number of packets that each report acknowledges, with one
/// report per round trip, each window is therefore the sum of the two windows before it, and larger by 1.6
/// instead of 2. To double, where reports come each n-th part of a round trip, the window has to grow by the
/// n-th root of 2 for each packet.
pub(super) fn slow_start(packets: &mut f64, threshold: f64, round: &Round) -> f64 {
    let part = round.lag.as_secs_f64() / round.rtt.as_secs_f64().max(1e-6);
    // The window at most doubles, unless more packets were acknowledged.
    let growth = (part.min(1.0).exp2() * round.acked).min(packets.max(round.acked));
    let room = threshold - *packets;
    if growth <= room {
        *packets += growth;
        return 0.0;
    }
    *packets = threshold;
    round.acked * (1.0 - room / growth)
}

/// A window in packets.
pub(super) trait Window: Send + 'static {
    /// Handles a report, before the events in it.
    fn on_report(&mut self, _: &Measured) {}

    /// Handles packets that were acknowledged outside of a recovery, while the window was used.
    fn on_round(&mut self, round: &Round);

    /// Handles packets that were acknowledged outside of a recovery, while the window was not used.
    fn on_unused(&mut self) {}

    /// Handles a loss, once per round trip.
    fn on_loss(&mut self, round: &Round);

    /// Handles that all packets were lost for long.
    fn on_timeout(&mut self);

    fn packets(&self) -> f64;
}

/// The smallest window, in packets.
pub(super) const MIN: f64 = 2.0;

/// A flow whose window changes once per round trip, or once per half of a round trip.
pub struct WindowFlow<I: Ipc> {
    handle: Handle<I>,
    window: Box<dyn Window>,
    /// The size of a packet in bytes.
    packet: f64,
    /// The end of the time in which losses count as one.
    recovery_until: Duration,
    /// The time of the last report.
    reported: Duration,
    /// The smallest round-trip time so far.
    shortest: Duration,
}

impl<I: Ipc> fmt::Debug for WindowFlow<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WindowFlow").field("packets", &self.window.packets()).finish_non_exhaustive()
    }
}

impl<I: Ipc> WindowFlow<I> {
    pub(super) fn new(
        datapath: Datapath<I>,
        info: &DatapathInfo,
        start: impl FnOnce(f64) -> Box<dyn Window>,
    ) -> Self {
        Self::with_program(NAME, datapath, info, start)
    }

    /// Makes a flow with a report each half of a round trip.
    pub(super) fn by_halves(
        datapath: Datapath<I>,
        info: &DatapathInfo,
        start: impl FnOnce(f64) -> Box<dyn Window>,
    ) -> Self {
        Self::with_program(HALF, datapath, info, start)
    }

    fn with_program(
        program: &'static str,
        datapath: Datapath<I>,
        info: &DatapathInfo,
        start: impl FnOnce(f64) -> Box<dyn Window>,
    ) -> Self {
        let packet = f64::from(info.mss.max(1));
        let mut handle = Handle::new(datapath);
        handle.begin(program, &[("Cwnd", info.init_cwnd)]);
        let window = start(f64::from(info.init_cwnd) / packet);
        let recovery_until = Duration::ZERO;
        let reported = Duration::ZERO;
        Self { handle, window, packet, recovery_until, reported, shortest: Duration::MAX }
    }

    /// Returns the time for which growth was late. Once a queue has built up, acknowledgements come at the
    /// rate of the path and no longer double, so there is nothing to make up for.
    fn lag(&self, round: &Round) -> Duration {
        let is_queued = round.rtt > self.shortest * 9 / 8;
        if is_queued { Duration::ZERO } else { round.now.saturating_sub(self.reported) }
    }
}

impl<I: Ipc> Flow for WindowFlow<I> {
    fn on_report(&mut self, _: u32, report: Report) {
        let Some(measured) = measured(&self.handle, &report, self.packet) else { return };
        let Measured { round, lost, timeout, in_flight, .. } = measured;
        self.shortest = self.shortest.min(round.rtt);
        if timeout > 0 {
            self.window.on_timeout();
        } else {
            self.window.on_report(&measured);
            // Bytes that were acknowledged before a loss count, as they would have at their acknowledgements.
            let counted = Round { lag: self.lag(&round), ..round.after(self.reported, self.recovery_until) };
            if counted.acked > 0.0 && is_used(self.window.packets(), in_flight) {
                self.window.on_round(&counted);
            } else if counted.acked > 0.0 {
                self.window.on_unused();
            }
            if lost > 0 && round.now >= self.recovery_until {
                self.window.on_loss(&round);
                self.recovery_until = measured.recovered_at(round.now);
            }
        }
        self.reported = round.now;
        let packets = self.window.packets().max(MIN);
        self.handle.set(&[("Cwnd", register(packets * self.packet))]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    /// Returns the windows at the ends of round trips of slow start, with `reports` reports in each. Packets
    /// are acknowledged after a round trip.
    fn windows(reports: usize, rounds: usize) -> Vec<f64> {
        let period = RTT / reports as u32;
        let (mut window, mut in_flight) = (10.0, 0.0);
        let mut sent = Vec::new();
        let mut ends = Vec::new();
        for report in 0..reports * rounds {
            let acked = if report < reports { 0.0 } else { sent[report - reports] };
            in_flight -= acked;
            sent.push(window - in_flight);
            in_flight = window;
            let round = Round { acked, rtt: RTT, now: period * (report as u32 + 1), lag: period };
            assert_eq!(slow_start(&mut window, f64::INFINITY, &round), 0.0);
            if report % reports == reports - 1 {
                ends.push(window);
            }
        }
        ends
    }

    #[test]
    fn slow_start_doubles_the_window_each_round_trip_however_often_it_is_told() {
        for reports in [1, 2, 5, 20] {
            let windows = windows(reports, 12);
            let factor = windows[11] / windows[10];
            assert!((1.9..2.1).contains(&factor), "{reports} reports: {windows:?}");
        }
    }

    #[test]
    fn slow_start_ends_at_its_threshold() {
        let round = Round { acked: 10.0, rtt: RTT, now: RTT, lag: RTT };
        let mut packets = 10.0;
        assert_eq!(slow_start(&mut packets, 15.0, &round), 5.0);
        assert_eq!(packets, 15.0);
    }
}
