//! Figure 4.12: learners of windows, through an agent, on 48 Mbit/s and 50 ms with a queue of two bandwidth-delay products.

use crate::harness::Effort;
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_park::{Fixed, Learner, PRODUCT, Policy, STEPS, Score, Vegas, WINDOWS};
use bertha_plot::{Panel, Series, over};

/// The seed of the learners. The path loses nothing, so that episodes with other seeds differ little.
const SEED: u64 = 1;

/// The part of Vegas's mean window to which a search is confined, as in the thesis.
const CONFINED: [f64; 2] = [0.2, 2.0];

/// Budgets: of the reward that a confined search learns, that it has beyond Vegas's, and beyond that of a search of all windows.
const LEARNS: Budget = Budget::Between(0.02, 2.0);
const ABOVE_VEGAS: Budget = Budget::Between(0.0, 0.3);
const FREE_LAGS: Budget = Budget::Between(0.2, 3.0);

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the figure.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let generations = effort.pick(12, 3);
    let vegas = score(Vegas::default())?;
    let fixed = |window| score(Fixed(window));
    for (name, score) in [
        ("Vegas", vegas),
        ("a fixed window of half the product", fixed(PRODUCT / 2.0)?),
        ("a fixed window of the product", fixed(PRODUCT)?),
        ("a fixed window of twice the product", fixed(2.0 * PRODUCT)?),
    ] {
        report.figure(format!("4.12, {name}: mean reward"), score.reward, "of 1");
    }
    let confined = CONFINED.map(|part| part * vegas.window);
    let searches = [("a confined search", confined), ("a search of all windows", WINDOWS)];
    let mut series = Vec::new();
    let mut rewards = Vec::new();
    for (name, space) in searches {
        let mut learner = Learner::new(space, SEED);
        let mut points = vec![(0.0, score(learner.policy())?.reward)];
        for generation in 1..=generations {
            learner.learn(SEED, STEPS).map_err(failed)?;
            points.push((f64::from(generation), score(learner.policy())?.reward));
        }
        let last = points.last().map_or(f64::NAN, |point| point.1);
        report.figure(format!("4.12, {name}: mean reward after {generations} generations"), last, "of 1");
        let first = points.first().map_or(f64::NAN, |point| point.1);
        match rewards.is_empty() {
            true => report.bounded(format!("4.12, {name}: gain by learning"), last - first, "of 1", LEARNS),
            false => report.figure(format!("4.12, {name}: gain by learning"), last - first, "of 1"),
        }
        rewards.push(last);
        series.push(Series { label: name.to_owned(), points });
    }
    report.bounded("4.12, a confined search above Vegas", rewards[0] - vegas.reward, "of 1", ABOVE_VEGAS);
    report.bounded(
        "4.12, a confined search above one of all windows",
        rewards[0] - rewards[1],
        "of 1",
        FREE_LAGS,
    );
    let panel = Panel { name: "Mean reward (dashed: Vegas)", series, mark: Some(vegas.reward) };
    let title = "Cross-entropy learners through an agent: 48 Mbit/s, 50 ms (thesis, figure 4.12)";
    report.draw("congestion-learning.svg", over("Generation of 16 policies", title, &[panel]))
}

/// Judges a policy.
fn score(policy: impl Policy) -> Result<Score, Error> {
    bertha_park::score(SEED + 1, STEPS, policy).map_err(failed)
}

fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "an episode of a learner")(error)
}
