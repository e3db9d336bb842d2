//! BBR.

use super::handle::{Handle, register};
use portus::ipc::Ipc;
use portus::{CongAlg, Datapath, DatapathInfo, Flow, Report};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::time::Duration;

/// BBR as in thesis 4.4.3: the datapath filters rate and delay and runs the pattern of rates, 5/4, 3/4 and
/// six round trips of 1; the agent keeps the filters over longer times, and probes the round-trip time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bbr;

/// The signals that all programs report.
const FOLD: &str = "
        (:= Report.minrtt (min Report.minrtt Flow.rtt_sample_us))
        (:= Report.rate (max Report.rate (min Flow.rate_outgoing Flow.rate_incoming)))
        (:= Report.now Ack.now)";

const REPORT: &str = "(Report (volatile minrtt +infinity) (volatile rate 0) (now 0))";

/// The program that doubles the rate each round trip.
const STARTUP: &str = "startup";
/// The program with the pattern of rates.
const PROBE_BANDWIDTH: &str = "probe bandwidth";
/// The program that uses the smallest window for a fifth of a second.
const PROBE_RTT: &str = "probe round trip";

const STARTUP_GAIN: f64 = 2.885;
const WINDOW_GAIN: f64 = 2.0;

/// The smallest window, in packets.
const MIN_PACKETS: f64 = 4.0;

/// The time for which the smallest round-trip time counts.
const LIFETIME: Duration = Duration::from_secs(10);

/// The number of reports for which a rate counts. There are three in each cycle of eight round trips.
const REPORTS: usize = 10;

impl<I: Ipc> CongAlg<I> for Bbr {
    type Flow = BbrFlow<I>;

    fn name() -> &'static str {
        "bbr"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        let startup = format!(
            "(def {REPORT})
             (when true {FOLD} (fallthrough))
             (when (> Micros Flow.rtt_sample_us) (report) (:= Micros 0))"
        );
        let bandwidth = format!(
            "(def {REPORT} (phase 0) (high 1) (low 1) (cruise 1) (round 1) (cruising 1))
             (when true {FOLD} (fallthrough))
             (when (&& (== phase 0) (> Micros round)) (:= Rate cruise) (:= phase 1) (:= Micros 0) (report))
             (when (&& (== phase 1) (> Micros cruising)) (:= Rate high) (:= phase 2) (:= Micros 0) (report))
             (when (&& (== phase 2) (> Micros round)) (:= Rate low) (:= phase 0) (:= Micros 0) (report))"
        );
        let round_trip = format!(
            "(def {REPORT}) (when true {FOLD} (fallthrough)) (when (> Micros 200000) (report) (:= Micros 0))"
        );
        HashMap::from([(STARTUP, startup), (PROBE_BANDWIDTH, bandwidth), (PROBE_RTT, round_trip)])
    }

    fn new_flow(&self, datapath: Datapath<I>, info: DatapathInfo) -> BbrFlow<I> {
        let mut handle = Handle::new(datapath);
        handle.begin(STARTUP, &[("Cwnd", info.init_cwnd)]);
        BbrFlow {
            handle,
            packet: f64::from(info.mss),
            phase: Phase::Startup { best: 0.0, stale: 0 },
            rates: VecDeque::with_capacity(REPORTS),
            round_trip: Duration::MAX,
            measured: Duration::ZERO,
        }
    }
}

/// A flow of [`Bbr`].
pub struct BbrFlow<I: Ipc> {
    handle: Handle<I>,
    packet: f64,
    phase: Phase,
    /// The delivery rates of the last reports, in bytes per second.
    rates: VecDeque<f64>,
    /// The smallest round-trip time, and the time at which it was measured.
    round_trip: Duration,
    measured: Duration,
}

impl<I: Ipc> fmt::Debug for BbrFlow<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BbrFlow")
            .field("rate", &self.rate())
            .field("round_trip", &self.round_trip)
            .finish_non_exhaustive()
    }
}

enum Phase {
    /// Lasts until the rate has not grown by a quarter over `best` for three round trips.
    Startup {
        best: f64,
        stale: u32,
    },
    Bandwidth,
    RoundTrip,
}

impl<I: Ipc> BbrFlow<I> {
    fn rate(&self) -> f64 {
        self.rates.iter().copied().fold(0.0, f64::max)
    }

    fn window(&self, gain: f64) -> u32 {
        let product = self.rate() * self.round_trip.as_secs_f64();
        register((gain * product + 3.0 * self.packet).max(MIN_PACKETS * self.packet))
    }

    /// Returns the inputs of the pattern of rates.
    fn pattern(&self) -> [(&'static str, u32); 6] {
        let rate = self.rate();
        let round = self.round_trip.as_micros() as f64;
        [
            ("high", register(1.25 * rate)),
            ("low", register(0.75 * rate)),
            ("cruise", register(rate)),
            ("round", register(round)),
            ("cruising", register(6.0 * round)),
            ("Cwnd", self.window(WINDOW_GAIN)),
        ]
    }

    /// Begins the pattern with its draining part.
    fn probe_bandwidth(&mut self) {
        let pattern = self.pattern();
        let mut fields = pattern.to_vec();
        fields.push(("Rate", register(0.75 * self.rate())));
        self.phase = Phase::Bandwidth;
        self.handle.begin(PROBE_BANDWIDTH, &fields);
    }

    /// Filters rate and round-trip time. Returns true if the smallest round-trip time is too old.
    fn filter(&mut self, rate: f64, round_trip: Duration, now: Duration) -> bool {
        if rate > 0.0 {
            if self.rates.len() == REPORTS {
                self.rates.pop_front();
            }
            self.rates.push_back(rate);
        }
        let is_stale = now.saturating_sub(self.measured) > LIFETIME;
        if round_trip <= self.round_trip {
            (self.round_trip, self.measured) = (round_trip, now);
        }
        is_stale
    }
}

impl<I: Ipc> Flow for BbrFlow<I> {
    fn on_report(&mut self, _: u32, report: Report) {
        let field = |name| self.handle.field(&report, name);
        let (Some(rate), Some(round_trip), Some(now)) =
            (field("Report.rate"), field("Report.minrtt"), field("Report.now"))
        else {
            return;
        };
        let round_trip = Duration::from_micros(round_trip);
        let now = Duration::from_micros(now);
        let is_stale = self.filter(rate as f64, round_trip, now);
        let rate = self.rate();
        match &mut self.phase {
            Phase::Startup { best, stale } => {
                if rate >= 1.25 * *best {
                    (*best, *stale) = (rate, 0);
                } else {
                    *stale += 1;
                }
                if *stale >= 3 {
                    self.probe_bandwidth();
                } else if rate > 0.0 {
                    let window = self.window(STARTUP_GAIN);
                    self.handle.set(&[("Cwnd", window), ("Rate", register(STARTUP_GAIN * rate))]);
                }
            }
            Phase::Bandwidth if is_stale => {
                self.phase = Phase::RoundTrip;
                self.round_trip = Duration::MAX;
                let window = register(MIN_PACKETS * self.packet);
                self.handle.begin(PROBE_RTT, &[("Cwnd", window), ("Rate", register(rate))]);
            }
            Phase::Bandwidth => self.handle.set(&self.pattern()),
            Phase::RoundTrip => self.probe_bandwidth(),
        }
    }
}
