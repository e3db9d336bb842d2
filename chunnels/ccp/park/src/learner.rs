//! A learner by the cross-entropy method: it tries policies around a mean, and moves the mean to the best of them.

use crate::observation::Observation;
use crate::policy::{Policy, score};
use bertha_core::Error;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The delays in the queue, in round trips, between which a policy distinguishes.
const EDGES: [f64; 3] = [0.02, 0.1, 0.3];

/// The parameters of a policy, one for each range between the edges.
type Parameters = [f64; EDGES.len() + 1];

/// Number of policies of a generation, and number of the best among them, from which the next generation descends.
const TRIED: usize = 16;
const KEPT: usize = 4;

/// The first deviation of each parameter, and the smallest: without deviation the learner tries nothing new.
const FIRST_DEVIATION: f64 = 0.25;
const LEAST_DEVIATION: f64 = 0.01;

/// A learner of policies that choose a window for each of four lengths of the queue.
///
/// It stands for the learner of the thesis, an actor and a critic by neural networks. Like that, it draws windows from a space
/// and knows nothing of the path, so that the size of the space decides how soon it finds a good policy.
#[derive(Debug)]
pub struct Learner {
    rng: StdRng,
    space: [f64; 2],
    mean: Parameters,
    deviation: Parameters,
}

impl Learner {
    /// Creates a learner that chooses among the windows of `space`, from the smallest to the largest, in packets.
    /// Equal seeds and spaces give equal policies.
    pub fn new(space: [f64; 2], seed: u64) -> Self {
        let mean = [0.5; EDGES.len() + 1];
        Self { rng: StdRng::seed_from_u64(seed), space, mean, deviation: mean.map(|_| FIRST_DEVIATION) }
    }

    /// Tries one generation of policies, each in an episode of `steps` steps with this seed.
    ///
    /// # Errors
    /// The errors of [`episode`](crate::episode()).
    pub fn learn(&mut self, seed: u64, steps: usize) -> Result<(), Error> {
        let mut scored = Vec::with_capacity(TRIED);
        for _ in 0..TRIED {
            let tried = std::array::from_fn(|at| self.mean[at] + self.deviation[at] * normal(&mut self.rng));
            scored.push((score(seed, steps, self.with(tried))?.reward, tried));
        }
        scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        let kept = &scored[..KEPT];
        for at in 0..self.mean.len() {
            let mean = kept.iter().map(|(_, tried)| tried[at]).sum::<f64>() / KEPT as f64;
            let variance =
                kept.iter().map(|(_, tried)| (tried[at] - mean).powi(2)).sum::<f64>() / KEPT as f64;
            self.mean[at] = mean;
            self.deviation[at] = variance.sqrt().max(LEAST_DEVIATION);
        }
        Ok(())
    }

    /// Returns the policy that the learner holds for the best.
    pub fn policy(&self) -> impl Policy + Copy + std::fmt::Debug + use<> {
        self.with(self.mean)
    }

    fn with(&self, parameters: Parameters) -> ByQueue {
        let [least, most] = self.space;
        ByQueue(parameters.map(|part| least + part.clamp(0.0, 1.0) * (most - least)))
    }
}

/// A window for each range of the queue, in packets.
#[derive(Debug, Clone, Copy)]
struct ByQueue(Parameters);

impl Policy for ByQueue {
    fn decide(&mut self, observation: &Observation) -> f64 {
        self.0[EDGES.iter().filter(|edge| observation.queue > **edge).count()]
    }
}

/// Draws a number with a roughly normal distribution and a deviation of one.
fn normal(rng: &mut StdRng) -> f64 {
    (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Fixed, Vegas};
    use crate::{PRODUCT, WINDOWS};

    #[test]
    fn a_confined_learner_beats_fixed_windows_and_one_that_may_try_everything() {
        // Enough for a generation: the thesis's episodes would take minutes without optimisation.
        let (seed, steps) = (1, 20);
        let reward = |policy| score(seed + 1, steps, policy).unwrap().reward;
        let vegas = score(seed, steps, Vegas::default()).unwrap();
        let learn = |space| {
            let mut learner = Learner::new(space, seed);
            learner.learn(seed, steps).unwrap();
            score(seed + 1, steps, learner.policy()).unwrap().reward
        };
        let space = [0.2 * vegas.window, 2.0 * vegas.window];
        let confined = learn(space);
        println!("seed {seed}: confined {confined:.3}, Vegas {vegas:?}");
        assert_eq!(confined, learn(space), "seed {seed}: it learns by more than its seed");
        for window in [PRODUCT / 2.0, 2.0 * PRODUCT] {
            let fixed = reward(Fixed(window));
            assert!(confined > fixed + 0.1, "seed {seed}: {confined}, and {fixed} by {window} packets");
        }
        let free = learn(WINDOWS);
        assert!(confined > free + 0.5, "seed {seed}: {confined}, and {free} without confinement");
    }
}
