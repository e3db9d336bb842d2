//! An agent that learns by the cross-entropy method: it tries policies around a mean, and moves the mean to
//! the best policies.

use crate::environment::{Observation, episode};
use bertha_core::Error;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The delays in the queue, in round trips, between which the policy distinguishes.
const EDGES: [f64; 3] = [0.02, 0.1, 0.3];

/// Number of policies of a generation, and number of the best among them, from which the next generation
/// descends.
const TRIED: usize = 16;
const KEPT: usize = 4;

/// The first deviation of each parameter, and the minimum: without deviation the agent tries nothing new.
const FIRST_DEVIATION: f64 = 0.3;
const LEAST_DEVIATION: f64 = 0.02;

/// For each range of the queue, the logarithm of the factor of the window. A search among these policies is
/// much faster than among all windows (the thesis confines its agent by Vegas): each of them can fill and
/// drain the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Policy([f64; EDGES.len() + 1]);

impl Policy {
    pub(crate) fn decide(&self, observation: &Observation) -> f64 {
        let range = EDGES.iter().filter(|edge| observation.queue > **edge).count();
        self.0[range].exp()
    }

    /// Returns the mean reward of an episode.
    ///
    /// # Errors
    /// The errors of [`episode`].
    pub(crate) fn score(&self, seed: u64) -> Result<f64, Error> {
        let mut sum = 0.0;
        let mut count = 0;
        let last = episode(seed, |observation| {
            sum += observation.reward();
            count += 1;
            Some(self.decide(observation))
        })?;
        Ok((sum + last.reward()) / f64::from(count + 1))
    }
}

/// Learns for some generations, all on paths of one seed.
///
/// # Errors
/// The errors of [`episode`].
pub(crate) fn learn(generations: usize, seed: u64) -> Result<Policy, Error> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut mean = Policy::default().0;
    let mut deviation = [FIRST_DEVIATION; EDGES.len() + 1];
    for _ in 0..generations {
        let mut scored = Vec::with_capacity(TRIED);
        for _ in 0..TRIED {
            let policy = Policy(std::array::from_fn(|at| mean[at] + deviation[at] * normal(&mut rng)));
            scored.push((policy.score(seed)?, policy));
        }
        scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let kept = &scored[..KEPT];
        let average = |of: &dyn Fn(&Policy) -> f64| {
            kept.iter().map(|(_, policy)| of(policy)).sum::<f64>() / KEPT as f64
        };
        for at in 0..mean.len() {
            mean[at] = average(&|policy| policy.0[at]);
            deviation[at] = average(&|policy| (policy.0[at] - mean[at]).powi(2)).sqrt().max(LEAST_DEVIATION);
        }
    }
    Ok(Policy(mean))
}

/// Draws a number with a roughly normal distribution and a deviation of one.
fn normal(rng: &mut StdRng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_learns_to_fill_the_link_and_not_the_queue() {
        let seed = 1;
        let learned = learn(3, seed).unwrap();
        let [before, after] = [Policy::default(), learned].map(|policy| policy.score(seed + 100).unwrap());
        println!("seed {seed}: a mean reward of {before:.2} before and {after:.2} after, {learned:?}");
        // An untrained policy keeps a window that is too small.
        assert!(before < 0.3, "seed {seed}: {before}");
        assert!(after > before + 0.4, "seed {seed}: {after} after {before} by {learned:?}");
        // The window grows while there is no queue, and shrinks with a long queue.
        assert!(learned.0[0] > 0.0 && learned.0[3] < 0.0, "seed {seed}: {learned:?}");
        assert_eq!(
            after,
            learned.score(seed + 100).unwrap(),
            "seed {seed}: an episode depends on more than its seed"
        );
    }
}
