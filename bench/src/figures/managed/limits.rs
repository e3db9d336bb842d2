//! A limit of the rate over time, as the operator changes it: Figure 3.7b.

use super::SERVICE;
use super::by_daemon::{client, failed};
use super::chain::{Chain, Way};
use super::flow::Flow;
use crate::harness::{Effort, in_time, median, ratio_of_medians, runtime};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_managed::Order;
use bertha_plot::{Panel, PlotError, Series, over_time};
use std::path::Path;
use std::time::{Duration, Instant};

/// Budgets of the rate with a limit to the limit; of the rates with an infinite limit, and once it was removed, to the rate before.
const TO_LIMIT: Budget = Budget::Between(0.98, 1.02);
const INFINITE: Budget = Budget::Between(0.9, 1.1);
const REMOVED: Budget = Budget::Between(0.95, 1.05);

/// Budget of calls without an answer.
const LOST: Budget = Budget::AtMost(0.0);

/// Number of calls in flight.
const IN_FLIGHT: usize = 32;

/// Time between two looks at the rate.
const LOOK: Duration = Duration::from_millis(50);

/// Part of a state's time after which its rate counts: what a bucket has saved is spent by then.
const SETTLED: f64 = 0.2;

/// The name of the engine and of its kind.
const LIMIT: &str = "rate-limit";

/// The states, in their order.
const STATES: [&str; 4] = ["no engine", "a limit", "an infinite limit", "the engine removed"];

/// A look at the calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    /// Seconds since the course began.
    pub(super) at: f64,
    /// Number of answers so far.
    pub(super) answered: u64,
}

/// The looks of each state.
type Round = [Vec<Look>; STATES.len()];

/// Measures the rows, and draws the first round.
///
/// # Errors
/// Errors of the processes, refusals of orders, and figures that can't be written.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let chain = Chain::start(Way::Daemons { engine: None })?;
    let socket = chain.socket().ok_or_else(|| Error::new(ErrorKind::Core, "daemons have a socket"))?;
    let (rounds, lasting) = (effort.pick(20, 2), Duration::from_secs_f64(effort.pick(1.0, 0.5)));
    let (limit, rounds, lost) = runtime()?.block_on(in_time(play(socket, rounds, lasting)))?;
    describe(report, limit, &rounds, lost);
    if let Some(first) = rounds.first() {
        report.draw("managed-limit.svg", draw(first, limit))?;
    }
    Ok(())
}

/// Returns the limit, the rounds and the number of calls without an answer.
async fn play(socket: &Path, rounds: usize, lasting: Duration) -> Result<(f64, Vec<Round>, u64), Error> {
    let flow = Flow::start(client(socket, "client").await?, IN_FLIGHT);
    let began = Instant::now();
    let warm = watch(&flow, began, lasting).await;
    // Half of what the machine does, in thousands, so that the limit bites on each machine.
    let limit = (rate_of(&warm) / 2e3).round().max(1.0) * 1e3;
    let mut played = Vec::new();
    for _ in 0..rounds {
        let mut round = Round::default();
        for (state, looks) in round.iter_mut().enumerate() {
            if let Some(order) = order_of(state, limit) {
                order.give(socket).await.map_err(failed)?;
            }
            *looks = watch(&flow, began, lasting).await;
        }
        played.push(round);
    }
    Ok((limit, played, flow.end().await?))
}

/// Returns the order that leads to a state from the one before.
fn order_of(state: usize, limit: f64) -> Option<Order> {
    let (service, name) = (SERVICE.to_owned(), LIMIT.to_owned());
    match state {
        1 => Some(Order::Add { service, name, kind: LIMIT.into(), settings: format!("per-second={limit}") }),
        2 => Some(Order::Configure { service, name, settings: "per-second=infinite".into() }),
        3 => Some(Order::Remove { service, name }),
        _ => None,
    }
}

async fn watch(flow: &Flow, began: Instant, lasting: Duration) -> Vec<Look> {
    let look = || Look { at: began.elapsed().as_secs_f64(), answered: flow.answered() };
    let mut looks = vec![look()];
    let begun = Instant::now();
    while begun.elapsed() < lasting {
        tokio::time::sleep(LOOK).await;
        looks.push(look());
    }
    looks
}

/// Returns the calls per second of a state, once it has settled.
pub(super) fn rate_of(looks: &[Look]) -> f64 {
    let settled = (looks.len() as f64 * SETTLED) as usize;
    match (looks.get(settled), looks.last()) {
        (Some(first), Some(last)) => (last.answered - first.answered) as f64 / (last.at - first.at),
        _ => f64::NAN,
    }
}

fn describe(report: &mut Report, limit: f64, rounds: &[Round], lost: u64) {
    let rates = |state: usize| rounds.iter().map(move |round| rate_of(&round[state]));
    let name = "a limit that the operator changes";
    report.figure(format!("{name}: the limit, half of the rate without it"), limit, "calls/s");
    for (state, what) in STATES.iter().enumerate() {
        let rates: Vec<_> = rates(state).collect();
        report.figure(format!("{name}: {what}"), median(&rates).unwrap_or(f64::NAN), "calls/s");
    }
    let to_limit: Vec<_> = rates(1).map(|rate| (rate, limit)).collect();
    report.ratio(format!("{name}: the rate with it to it"), ratio_of_medians(&to_limit, 0), Some(TO_LIMIT));
    for (state, budget) in [(2, INFINITE), (3, REMOVED)] {
        let pairs: Vec<_> = rates(state).zip(rates(0)).collect();
        let row = format!("{name}: the rate with {} to that with {}", STATES[state], STATES[0]);
        report.ratio(row, ratio_of_medians(&pairs, 0), Some(budget));
    }
    report.bounded(format!("{name}: calls without an answer"), lost as f64, "calls", LOST);
}

fn draw(round: &Round, limit: f64) -> Result<String, PlotError> {
    let begun = round[0].first().map_or(0.0, |look| look.at);
    let line = |(label, looks): (&&str, &Vec<Look>)| Series {
        label: (*label).to_owned(),
        points: looks.windows(2).map(|two| (two[1].at - begun, rate_of_two(two) / 1e3)).collect(),
    };
    let series = STATES.iter().zip(round).map(line).collect();
    let panel = Panel { name: "Thousand calls/s", series, mark: Some(limit / 1e3) };
    over_time("Rate of calls while the operator changes its limit", &[panel])
}

/// Returns the calls per second between two looks.
pub(super) fn rate_of_two(two: &[Look]) -> f64 {
    (two[1].answered - two[0].answered) as f64 / (two[1].at - two[0].at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_time_after_the_state_has_settled() {
        // A burst of 1,000 in the first look, and 100 a second from then on.
        let looks: Vec<_> = (0..=100)
            .map(|look: u64| Look { at: 0.1 * look as f64, answered: 10 * look + 1_000 * look.min(1) })
            .collect();
        assert!((rate_of(&looks) - 100.0).abs() < 1e-6, "{}", rate_of(&looks));
    }

    #[test]
    fn the_rows_compare_each_state_with_the_first_and_the_limit() {
        let looks = |rate: u64| (0..20).map(|at| Look { at: at as f64, answered: rate * at }).collect();
        let round: Round = [looks(1_000), looks(505), looks(950), looks(1_010)];
        let mut report = Report::new("managed");
        describe(&mut report, 500.0, &[round.clone(), round.clone()], 1);
        let bounded: Vec<_> = report.rows().iter().filter(|row| row.budget.is_some()).collect();
        let found: Vec<_> = bounded.iter().map(|row| (row.value.unwrap(), row.is_kept().unwrap())).collect();
        assert_eq!(found, [(1.01, true), (0.95, true), (1.01, true), (1.0, false)]);
        assert!(draw(&round, 500.0).unwrap().contains("an infinite limit"));
    }
}
