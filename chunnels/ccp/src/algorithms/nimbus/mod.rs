//! Nimbus.

mod detector;
mod passing;
mod pulse;

use super::cubic;
use super::handle::{Handle, register};
use super::window::{Round, Window};
use detector::{Detector, Rates};
use passing::Passing;
use portus::ipc::Ipc;
use portus::{CongAlg, Datapath, DatapathInfo, Flow, Report};
use std::collections::HashMap;
use std::time::Duration;

/// Nimbus (thesis 4.7.1; Goyal and others, 2018): keeps the queue short, unless cross traffic fills it, and
/// then competes as CUBIC does.
///
/// Its rate pulses five times a second. The rates at which its packets were sent and received give the rate
/// of cross traffic. If the rate of cross traffic contains the frequency of the pulses, some of the traffic
/// reacts to the queue (is elastic), and would take all capacity from a flow that keeps the queue short. The
/// verdict needs five seconds, and a mode lasts at least as long.
///
/// The highest rate at which packets were received counts as the capacity of the path for as long as the flow
/// lasts, so a path that becomes slower for good is taken for a path with cross traffic. Several flows of
/// Nimbus on one path pulse without coordination. Round trips, queue included, have to be shorter than a
/// fifth of a second, over which pulses average out, and the buffer has to hold more than the 12.5 ms that
/// delay control aims at, which does not react to losses.
///
/// In a bundle, whose packets are those of flows with congestion controls of their own (`Flow.bytes_pending`), competition is left to these
/// flows: all but 10 ms of the sendbox's queue pass on to the path.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nimbus;

/// The program, which reports each hundredth of a second, and losses at once.
const PROGRAM: &str = "
    (def (Report
        (volatile acked 0) (volatile lost 0) (volatile timeout 0) (rtt +infinity) (sending 0) (receiving 0) (now 0)
        (volatile inflight 0) (volatile pending 0)))
    (when true
        (:= Report.acked (+ Report.acked (+ Ack.bytes_acked Ack.bytes_misordered)))
        (:= Report.lost (+ Report.lost Ack.lost_pkts_sample))
        (:= Report.timeout (if Flow.was_timeout 1))
        (:= Report.rtt Flow.rtt_sample_us)
        (:= Report.sending (if (> Flow.rate_outgoing 0) Flow.rate_outgoing))
        (:= Report.receiving (if (> Flow.rate_incoming 0) Flow.rate_incoming))
        (:= Report.now Ack.now)
        (:= Report.inflight (max Report.inflight (+ Flow.bytes_in_flight (+ Ack.bytes_acked Ack.bytes_misordered))))
        (:= Report.pending Flow.bytes_pending)
        (fallthrough))
    (when (|| (> Ack.lost_pkts_sample 0) (> Micros 10000)) (report) (:= Micros 0))";

const NAME: &str = "a hundredth of a second";

/// The delay in the queue that delay control aims at. A pulse that drains the queue would hide cross traffic,
/// so this delay is longer than the time that a pulse's bytes take.
const TARGET: Duration = Duration::from_micros(12_500);

/// The weights of spare capacity and of the distance from [`TARGET`] in delay control.
const SPARE: f64 = 0.8;
const DISTANCE: f64 = 0.5;

/// The highest rate of delay control, as a share of the capacity: where round trips are short, a report comes
/// late for them, and the distance is large.
const HIGHEST: f64 = 1.2;

/// Number of packets by which a window is larger than the window that the rate fills, so that rounding delays
/// nothing.
const SLACK: f64 = 4.0;

/// The time between two looks at the spectrum, and the weight of each look against the looks before: about a
/// second counts.
const LOOK: Duration = Duration::from_millis(100);
const WEIGHT: f64 = 0.1;

/// The weights of verdicts for elastic cross traffic from which on the mode changes to competition, and below which it changes to delay
/// control.
const COMPETE: f64 = 0.7;
const YIELD: f64 = 0.3;

/// The shortest time in a mode, after which all samples belong to that mode.
const DWELL: Duration = Duration::from_secs(5);

impl<I: Ipc> CongAlg<I> for Nimbus {
    type Flow = NimbusFlow<I>;

    fn name() -> &'static str {
        "nimbus"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        HashMap::from([(NAME, PROGRAM.to_owned())])
    }

    fn new_flow(&self, datapath: Datapath<I>, info: DatapathInfo) -> NimbusFlow<I> {
        let packet = f64::from(info.mss.max(1));
        let mut handle = Handle::new(datapath);
        handle.begin(NAME, &[("Cwnd", info.init_cwnd)]);
        NimbusFlow {
            handle,
            packet,
            mode: Mode::Startup,
            since: Duration::ZERO,
            cubic: cubic::CubicState::new(cubic::Cubic::default(), f64::from(info.init_cwnd) / packet),
            recovery_until: Duration::ZERO,
            detector: Detector::new(),
            verdict: 0.5,
            looked: Duration::ZERO,
            capacity: 0.0,
            passing: None,
            shortest: Duration::MAX,
        }
    }
}

/// A flow of [`Nimbus`].
pub struct NimbusFlow<I: Ipc> {
    handle: Handle<I>,
    packet: f64,
    mode: Mode,
    /// The time since which the mode holds.
    since: Duration,
    /// The window of a flow that competes or starts.
    cubic: cubic::CubicState,
    /// The end of the round trip in which losses count as one.
    recovery_until: Duration,
    detector: Detector,
    /// The recent verdicts: 1 if all were for elastic cross traffic, 0 if none was.
    verdict: f64,
    looked: Duration,
    /// The highest rate at which packets were received, in bytes per second.
    capacity: f64,
    /// The rate of a bundle that competes.
    passing: Option<Passing>,
    /// The shortest round trip.
    shortest: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Slow start, without pulses: the capacity is not known yet.
    Startup,
    Competition,
    DelayControl,
}

/// A report.
#[derive(Debug, Clone, Copy)]
struct Measured {
    round: Round,
    rates: Rates,
    lost: u64,
    timeout: u64,
    /// Maximum number of packets that were in flight.
    in_flight: f64,
    /// Number of bytes that wait in a sendbox.
    pending: f64,
}

bertha_core::debug_fields!(NimbusFlow<I: Ipc> { mode, capacity, verdict });

impl<I: Ipc> NimbusFlow<I> {
    fn measured(&self, report: &Report) -> Option<Measured> {
        let field = |name| self.handle.field(report, name);
        let round = Round {
            acked: field("Report.acked")? as f64 / self.packet,
            rtt: Duration::from_micros(field("Report.rtt")?.max(1)),
            now: Duration::from_micros(field("Report.now")?),
            lag: Duration::ZERO,
        };
        let sending = field("Report.sending")? as f64;
        let receiving = field("Report.receiving")? as f64;
        let lost = field("Report.lost")?;
        let timeout = field("Report.timeout")?;
        let in_flight = field("Report.inflight")? as f64 / self.packet;
        let pending = field("Report.pending")? as f64;
        Some(Measured { round, rates: Rates { sending, receiving }, lost, timeout, in_flight, pending })
    }

    /// Lets the window follow CUBIC.
    fn compete(&mut self, measured: &Measured) {
        let round = &measured.round;
        let is_recovering = round.now < self.recovery_until;
        // Pulses, and a report that is shorter than a round trip, leave a part of a used window empty.
        let is_used = 2.0 * measured.in_flight >= self.cubic.packets();
        if measured.timeout > 0 {
            self.cubic.on_timeout();
        } else if measured.lost > 0 && !is_recovering {
            self.cubic.on_loss(round);
            self.recovery_until = round.now + round.rtt;
        } else if measured.lost == 0 && !is_recovering && is_used {
            self.cubic.on_round(round);
        } else if !is_used {
            self.cubic.on_unused();
        }
    }

    /// Returns the rate that takes the capacity that cross traffic leaves, and steers the queue towards
    /// [`TARGET`].
    fn delay_controlled(&self, measured: &Measured) -> f64 {
        let Measured { rates, round, .. } = measured;
        let spare = self.capacity - rates.cross(self.capacity) - rates.sending;
        let target = self.shortest + TARGET;
        let distance = (target.as_secs_f64() - round.rtt.as_secs_f64()) / round.rtt.as_secs_f64();
        let rate = rates.sending + SPARE * spare + DISTANCE * self.capacity * distance;
        rate.min(HIGHEST * self.capacity)
    }

    fn enter(&mut self, mode: Mode, now: Duration) {
        tracing::debug!(?self, ?mode, "Nimbus changes its mode");
        (self.mode, self.since) = (mode, now);
        self.passing = None;
    }

    /// Checks the spectrum from time to time, and changes the mode.
    fn judge(&mut self, round: &Round) {
        if round.now < self.looked + LOOK {
            return;
        }
        self.looked = round.now;
        let Some(elasticity) = self.detector.elasticity(self.capacity) else { return };
        let verdict = f64::from(u8::from(elasticity.is_elastic()));
        self.verdict += WEIGHT * (verdict - self.verdict);
        tracing::trace!(?elasticity, ?self, "the spectrum of cross traffic");
        if round.now < self.since + DWELL {
            return;
        }
        if self.mode == Mode::Competition && self.verdict < YIELD {
            self.enter(Mode::DelayControl, round.now);
        } else if self.mode == Mode::DelayControl && self.verdict > COMPETE {
            // The rate is the rate before cross traffic came, and took capacity.
            let rate = self.detector.earlier_rate().unwrap_or(self.capacity);
            self.cubic = cubic::CubicState::resumed(rate * round.rtt.as_secs_f64() / self.packet);
            self.enter(Mode::Competition, round.now);
        }
    }

    /// Ends slow start at a loss, or once a queue shows that the path is full.
    fn end_startup(&mut self, measured: &Measured) {
        let Measured { round, lost, .. } = measured;
        let is_full = round.rtt > self.shortest + self.shortest / 2;
        if *lost == 0 && is_full {
            self.cubic = cubic::CubicState::resumed(self.cubic.packets());
        }
        if *lost > 0 || is_full {
            self.detector.clear();
            self.enter(Mode::Competition, round.now);
        }
    }

    /// Returns the rate of a flow that competes: that of its window, or that at which a bundle's flows compete for themselves.
    fn competing(&mut self, measured: &Measured) -> f64 {
        let Measured { round, rates, pending, .. } = measured;
        if *pending == 0.0 && self.passing.is_none() {
            return self.cubic.packets() * self.packet / round.rtt.as_secs_f64();
        }
        let passing = self.passing.get_or_insert(Passing::new(rates.sending / self.capacity));
        passing.step(round.now, pending / self.capacity) * self.capacity
    }

    /// Sets window and rate.
    fn send(&mut self, measured: &Measured) {
        let round = &measured.round;
        let seconds = round.rtt.as_secs_f64();
        let mean = match self.mode {
            Mode::Startup => {
                let window = self.cubic.packets() * self.packet;
                self.handle.set(&[("Cwnd", register(window))]);
                return;
            }
            Mode::Competition => self.competing(measured),
            Mode::DelayControl => self.delay_controlled(measured),
        };
        // The mean is at least a pulse's depth, so that the flow never stops.
        let mean = mean.max(pulse::DEPTH * self.capacity);
        let rate = mean + pulse::pulse(round.now) * self.capacity;
        let rate = rate.max(self.packet / seconds);
        // Delay control is bounded by its rate alone. Competition is bounded by its window too, which cuts
        // off the peaks of the pulses: with the peaks, it would lose more than the flows beside it, and the
        // pulses are visible without them.
        let in_flight = match self.mode {
            Mode::DelayControl => 2.0 * (mean * seconds + pulse::swing(self.capacity)),
            _ => mean * seconds,
        };
        let window = in_flight + SLACK * self.packet;
        self.handle.set(&[("Rate", register(rate)), ("Cwnd", register(window))]);
    }
}

impl<I: Ipc> Flow for NimbusFlow<I> {
    fn on_report(&mut self, _: u32, report: Report) {
        let Some(measured) = self.measured(&report) else { return };
        let Measured { round, rates, .. } = measured;
        self.shortest = self.shortest.min(round.rtt);
        self.capacity = self.capacity.max(rates.receiving);
        if measured.timeout > 0 && self.mode == Mode::DelayControl {
            self.enter(Mode::Competition, round.now);
        }
        if self.mode != Mode::DelayControl {
            self.compete(&measured);
        }
        if self.mode == Mode::Startup {
            self.end_startup(&measured);
        } else if rates.sending > 0.0 && rates.receiving > 0.0 {
            self.detector.sample(round.now, rates, self.capacity);
            self.judge(&round);
        }
        if self.capacity > 0.0 || self.mode == Mode::Startup {
            self.send(&measured);
        }
    }
}
