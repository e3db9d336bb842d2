//! Policies, and their scores.

use crate::episode::episode;
use crate::observation::Observation;
use bertha_core::Error;

/// A choice of the next window by the last observation.
pub trait Policy {
    /// Returns the next window, in packets.
    fn decide(&mut self, observation: &Observation) -> f64;
}

/// A window that never changes, in packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fixed(pub f64);

impl Policy for Fixed {
    fn decide(&mut self, _: &Observation) -> f64 {
        self.0
    }
}

/// Vegas's rule: the window doubles until there is a queue, and then keeps two to four packets in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Vegas {
    has_queued: bool,
}

impl Policy for Vegas {
    fn decide(&mut self, observation: &Observation) -> f64 {
        let Observation { window, queue, lost, .. } = *observation;
        // The packets of the window that are in the queue.
        let queued = window * queue / (1.0 + queue);
        if !self.has_queued && queued <= 1.0 && lost == 0 {
            return 2.0 * window;
        }
        self.has_queued = true;
        match queued {
            _ if lost > 0 => window / 2.0,
            ..2.0 => window + 1.0,
            4.0.. => (window - queued).max(2.0) + 3.0,
            _ => window,
        }
    }
}

/// The mean reward and the mean window of an episode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// The mean of [`Observation::reward`] over the steps.
    pub reward: f64,
    /// The mean window in packets.
    pub window: f64,
}

/// Runs an episode of `steps` steps by a policy.
///
/// # Errors
/// The errors of [`episode`].
pub fn score(seed: u64, steps: usize, mut policy: impl Policy) -> Result<Score, Error> {
    let mut sum = Score { reward: 0.0, window: 0.0 };
    let mut add = |observation: &Observation| {
        sum.reward += observation.reward() / steps as f64;
        sum.window += observation.window / steps as f64;
    };
    let mut has_begun = false;
    let last = episode(seed, steps, |observation| {
        // The first observation is that of no step.
        if std::mem::replace(&mut has_begun, true) {
            add(observation);
        }
        Some(policy.decide(observation))
    })?;
    add(&last);
    Ok(sum)
}
