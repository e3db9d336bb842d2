//! The detector of elastic cross traffic, without I/O: samples of rates go in, and a verdict comes out.
//!
//! Cross traffic that is clocked by its acknowledgements slows down while this flow's pulse takes its place in the queue, and speeds
//! up after it, so its rate contains the frequency of the pulses. Traffic that sends at a rate of its own does not react.

use super::pulse::{DEPTH, FREQUENCY};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use std::collections::VecDeque;
use std::f64::consts::PI;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The time between two samples.
pub(super) const INTERVAL: Duration = Duration::from_millis(10);

/// Number of samples of a spectrum: five seconds, so that its lines are a fifth of a hertz apart and one line
/// lies on the pulses' frequency.
const SAMPLES: usize = 500;

/// Number of samples in one period of the pulses.
const PERIOD: usize = 20;

/// The line of the pulses.
const PULSE: usize = (FREQUENCY * SAMPLES as f64 / 100.0) as usize;

/// Number of lines over which a window spreads a pure tone, to each side.
const SPREAD: usize = 1;

/// The lines between the pulses' frequency and twice that frequency, with which the line of the pulses is
/// compared. The lines at the ends belong to the pulses and to their first harmonic.
const BAND: std::ops::Range<usize> = PULSE + 4..2 * PULSE - 2;

/// The ratio from which on cross traffic is elastic.
const ELASTIC: f64 = 2.0;

/// The share of the capacity below which there is no cross traffic that matters.
const LEAST_SHARE: f64 = 0.1;

/// The least response of elastic traffic to a pulse, relative to its share of the capacity. Traffic that is
/// clocked by its acknowledgements responds with its share, minus some delay; a smaller response comes from
/// an error in the capacity.
const LEAST_RESPONSE: f64 = 0.3;

/// The share of the capacity that a flow needs for pulses that show a response: with less, its rate can't
/// fall as far as a pulse rises.
const LEAST_OWN: f64 = 1.5 * DEPTH;

/// The rates of the packets that were acknowledged last, over one round trip, in bytes per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rates {
    pub(super) sending: f64,
    pub(super) receiving: f64,
}

impl Rates {
    /// Returns the rate of cross traffic through a queue that is not empty: both flows leave the queue in the
    /// proportion in which they came.
    pub(super) fn cross(&self, capacity: f64) -> f64 {
        (capacity * self.sending / self.receiving.max(1.0) - self.sending).clamp(0.0, 2.0 * capacity)
    }
}

/// The evidence for and against elastic cross traffic in the last samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Elasticity {
    /// The amplitude of cross traffic at the frequency of the pulses, divided by the highest amplitude
    /// between that frequency and twice that frequency.
    pub(super) ratio: f64,
    /// The amplitude of cross traffic divided by the amplitude of the pulses, both at the pulses' frequency.
    pub(super) response: f64,
    /// The mean rate of cross traffic, as a share of the capacity.
    pub(super) share: f64,
    /// The mean rate of this flow, as a share of the capacity.
    pub(super) own: f64,
}

impl Elasticity {
    /// Returns true if cross traffic reacts to the pulses. The answer is also true where the flow is too slow
    /// to pulse: either traffic that fills the queue has made it slow, or competition costs nothing.
    pub(super) fn is_elastic(&self) -> bool {
        if self.own < LEAST_OWN {
            return true;
        }
        let is_response = self.response >= LEAST_RESPONSE * self.share.min(1.0);
        self.share >= LEAST_SHARE && is_response && self.ratio >= ELASTIC
    }
}

/// The samples of the last five seconds.
pub(super) struct Detector {
    fft: Arc<dyn Fft<f64>>,
    samples: VecDeque<Sample>,
    /// The time of the next sample.
    next: Option<Duration>,
    spectrum: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
}

#[derive(Debug, Clone, Copy)]
struct Sample {
    rates: Rates,
    cross: f64,
}

impl Detector {
    pub(super) fn new() -> Self {
        let fft = FftPlanner::new().plan_fft_forward(SAMPLES);
        let scratch = vec![Complex::default(); fft.get_inplace_scratch_len()];
        Self {
            fft,
            samples: VecDeque::with_capacity(SAMPLES),
            next: None,
            spectrum: Vec::with_capacity(SAMPLES),
            scratch,
        }
    }

    /// Adds rates that hold until `now`, on a path of `capacity` bytes per second. They may come at any
    /// times; after a silence of more than five seconds the samples begin anew.
    pub(super) fn sample(&mut self, now: Duration, rates: Rates, capacity: f64) {
        let mut next = self.next.unwrap_or(now);
        if now.saturating_sub(next) > INTERVAL * SAMPLES as u32 {
            self.samples.clear();
            next = now;
        }
        while next <= now {
            if self.samples.len() == SAMPLES {
                self.samples.pop_front();
            }
            self.samples.push_back(Sample { rates, cross: rates.cross(capacity) });
            next += INTERVAL;
        }
        self.next = Some(next);
    }

    /// Forgets all samples.
    pub(super) fn clear(&mut self) {
        self.samples.clear();
        self.next = None;
    }

    /// Returns the evidence, once there are five seconds of samples, on a path of `capacity` bytes per
    /// second.
    pub(super) fn elasticity(&mut self, capacity: f64) -> Option<Elasticity> {
        if self.samples.len() < SAMPLES {
            return None;
        }
        let share = self.mean(SAMPLES, |sample| sample.cross) / capacity;
        let own = self.mean(SAMPLES, |sample| sample.rates.sending) / capacity;
        self.transform(|sample| sample.rates.sending);
        let pulses = self.highest(PULSE - SPREAD..PULSE + SPREAD + 1);
        self.transform(|sample| sample.cross);
        let reaction = self.highest(PULSE - SPREAD..PULSE + SPREAD + 1);
        let other = self.highest(BAND);
        // Without noise and without reaction there is no ratio.
        let ratio = if reaction > 0.0 { reaction / other.max(f64::MIN_POSITIVE) } else { 0.0 };
        let response = if pulses > 0.0 { reaction / pulses } else { 0.0 };
        Some(Elasticity { ratio, response, share, own })
    }

    /// Returns the receiving rate five seconds ago, over one period of the pulses.
    pub(super) fn earlier_rate(&self) -> Option<f64> {
        (!self.samples.is_empty()).then(|| self.mean(PERIOD, |sample| sample.rates.receiving))
    }

    /// Returns the mean of the oldest `count` samples.
    fn mean(&self, count: usize, of: impl Fn(&Sample) -> f64) -> f64 {
        let count = count.min(self.samples.len());
        self.samples.iter().take(count).map(of).sum::<f64>() / count.max(1) as f64
    }

    /// Computes the spectrum of the deviations from the mean. Hann's window keeps slow changes, such as a
    /// growing window, out of the lines that are compared.
    fn transform(&mut self, of: impl Fn(&Sample) -> f64) {
        let mean = self.mean(SAMPLES, &of);
        self.spectrum.clear();
        let windowed = self.samples.iter().enumerate().map(|(at, sample)| {
            let weight = (PI * at as f64 / SAMPLES as f64).sin().powi(2);
            Complex::new((of(sample) - mean) * weight, 0.0)
        });
        self.spectrum.extend(windowed);
        self.fft.process_with_scratch(&mut self.spectrum, &mut self.scratch);
    }

    /// Returns the highest amplitude in these lines of the last spectrum.
    fn highest(&self, lines: std::ops::Range<usize>) -> f64 {
        self.spectrum[lines].iter().map(|line| line.norm()).fold(0.0, f64::max)
    }
}

impl fmt::Debug for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Detector").field("samples", &self.samples.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::pulse::pulse;
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    const CAPACITY: f64 = 3e6;

    /// The time after which elastic traffic reacts.
    const DELAY: Duration = Duration::from_millis(50);

    /// Returns the verdict on cross traffic with this rate at each time, beside a flow that pulses around
    /// half of the capacity. `error` is the factor by which the flow's estimate of the capacity is wrong.
    fn judge(mut cross: impl FnMut(Duration) -> f64, error: f64) -> Elasticity {
        let mut detector = Detector::new();
        for tick in 0..SAMPLES as u32 {
            assert_eq!(detector.elasticity(CAPACITY), None);
            let now = INTERVAL * tick;
            let sending = CAPACITY * (0.5 + pulse(now));
            let receiving = CAPACITY * sending / (sending + cross(now));
            detector.sample(now, Rates { sending, receiving }, error * CAPACITY);
        }
        detector.elasticity(error * CAPACITY).unwrap()
    }

    /// Returns packets at random times, at this share of the capacity: bytes per second in each interval.
    fn poisson(share: f64, seed: u64) -> impl FnMut(Duration) -> f64 {
        let (mut rng, mut arrival) = (StdRng::seed_from_u64(seed), 0.0);
        let packet = 1_352.0;
        move |now| {
            let end = (now + INTERVAL).as_secs_f64();
            let mut bytes = 0.0;
            while arrival < end {
                bytes += packet;
                arrival -= packet / (share * CAPACITY) * (1.0 - rng.random::<f64>()).ln();
            }
            bytes / INTERVAL.as_secs_f64()
        }
    }

    #[test]
    fn traffic_that_gives_way_to_pulses_is_elastic() {
        for (seed, strength) in (0..20).flat_map(|seed| [0.5, 0.75, 1.0].map(|strength| (seed, strength))) {
            let mut noise = poisson(0.1, seed);
            let verdict = judge(
                |now| {
                    let pulse = pulse(now.saturating_sub(DELAY));
                    CAPACITY * (0.4 - strength * pulse) + noise(now)
                },
                1.0,
            );
            assert!(verdict.is_elastic(), "seed {seed}, strength {strength}: {verdict:?}");
        }
    }

    #[test]
    fn constant_traffic_is_not_elastic_even_if_the_capacity_is_known_badly() {
        for error in [0.93, 1.0, 1.07] {
            let verdict = judge(|_| 0.5 * CAPACITY, error);
            assert!(!verdict.is_elastic(), "{error}: {verdict:?}");
        }
    }

    #[test]
    fn poisson_traffic_is_not_elastic() {
        for seed in 0..100 {
            let verdict = judge(poisson(0.5, seed), 1.0);
            assert!(!verdict.is_elastic(), "seed {seed}: {verdict:?}");
            assert!((0.45..0.55).contains(&verdict.share), "seed {seed}: {verdict:?}");
        }
    }

    #[test]
    fn a_sawtooth_that_ignores_the_pulses_is_not_elastic() {
        // The rate is that of a flow that grows for 1.7 seconds and then halves.
        let sawtooth = |now: Duration| CAPACITY * (0.3 + 0.3 * (now.as_secs_f64() / 1.7).fract());
        let verdict = judge(sawtooth, 1.0);
        assert!(!verdict.is_elastic(), "{verdict:?}");
    }

    #[test]
    fn without_cross_traffic_nothing_is_elastic() {
        let verdict = judge(|now| CAPACITY * (0.05 - 0.2 * pulse(now)).max(0.0), 1.0);
        assert!(!verdict.is_elastic(), "{verdict:?}");
    }

    #[test]
    fn a_flow_without_room_for_pulses_supposes_elastic_traffic() {
        let mut detector = Detector::new();
        let verdict = |detector: &mut Detector, own: f64| {
            detector.clear();
            let rates = Rates { sending: own * CAPACITY, receiving: own * CAPACITY };
            (0..SAMPLES as u32).for_each(|tick| detector.sample(INTERVAL * tick, rates, CAPACITY));
            detector.elasticity(CAPACITY).unwrap().is_elastic()
        };
        assert!(verdict(&mut detector, 0.1));
        assert!(!verdict(&mut detector, 0.2));
    }

    #[test]
    fn times_need_not_be_regular_and_a_silence_begins_anew() {
        let mut detector = Detector::new();
        let rates = Rates { sending: 1e6, receiving: 1e6 };
        for tick in 0..180_u32 {
            detector.sample(Duration::from_millis(28) * tick, rates, CAPACITY);
        }
        assert!(detector.elasticity(CAPACITY).is_some());
        assert_eq!(detector.earlier_rate(), Some(1e6));
        detector.sample(Duration::from_secs(3_600), rates, CAPACITY);
        assert_eq!((detector.elasticity(CAPACITY), detector.samples.len()), (None, 1));
    }
}
