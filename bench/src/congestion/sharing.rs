//! Utilisation of a link by one to eight flows, and how fairly they share it.

use super::control::Control;
use super::flows::{Course, Flow, mean, path};
use crate::Error;
use crate::harness::Effort;
use crate::report::{Budget, Report};
use bertha_datapath_sim::Path;
use std::time::Duration;

const CONTROLS: [Control; 3] = [Control::NewReno, Control::Cubic, Control::Bbr];

/// The share of the link that flows use, whatever chance takes.
const BBR_USES: Budget = Budget::AtLeast(0.9);
const CUBIC_USES: Budget = Budget::AtLeast(0.9);

/// Jain's index of flows with equal round trips.
const FAIR: Budget = Budget::AtLeast(0.9);

/// Jain's index of fairness: one if all rates are equal, and one by their number if all but one are zero.
fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}

/// Measures.
///
/// # Errors
/// Those of the simulation.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let seconds = effort.pick(60, 30);
    let link = path(24.0, 40);
    for control in CONTROLS {
        for flows in [1, 2, 4, 8] {
            let name = format!("{control}, {flows} flows");
            let budget = if control == Control::Bbr { BBR_USES } else { CUBIC_USES };
            row(
                report,
                &name,
                &course(link.clone(), &vec![0; flows], seconds),
                control,
                Some(budget),
                Some(FAIR),
            )?;
        }
        for loss in [0.000_1, 0.001, 0.01, 0.02] {
            let name = format!("{control}, {} % lost", loss * 100.0);
            let budget = (control == Control::Bbr).then_some(BBR_USES);
            row(report, &name, &course(Path { loss, ..link.clone() }, &[0], seconds), control, budget, None)?;
        }
        for detours in [&[0, 40][..], &[0, 0, 40, 80]] {
            let round_trips: Vec<_> = detours.iter().map(|detour| (40 + detour).to_string()).collect();
            let name = format!("{control}, round trips of {} ms", round_trips.join(", "));
            row(report, &name, &course(link.clone(), detours, seconds), control, None, None)?;
        }
    }
    Ok(())
}

/// Flows that begin half a second after each other.
fn course(path: Path, detours_ms: &[u64], seconds: u64) -> Course {
    let flow = |(number, detour): (usize, &u64)| Flow {
        start: Duration::from_millis(500) * number as u32,
        detour: Duration::from_millis(*detour),
        lasts: None,
    };
    let flows = detours_ms.iter().enumerate().map(flow).collect();
    Course { flows, ..Course::alone(path, seconds, Duration::from_millis(100), 1) }
}

fn row(
    report: &mut Report,
    name: &str,
    course: &Course,
    control: Control,
    uses: Option<Budget>,
    shares: Option<Budget>,
) -> Result<(), Error> {
    let history = course.run(control)?;
    let used = history.utilisation(course.path.rate.mean());
    let mut add = |name: String, value: f64, unit: &str, budget: Option<Budget>| match budget {
        Some(budget) => report.bounded(name, value, unit, budget),
        None => report.figure(name, value, unit),
    };
    add(format!("{name}: use"), used, "of the link", uses);
    add(format!("{name}: queue"), mean(&history.delays()), "ms", None);
    if course.flows.len() > 1 {
        add(format!("{name}: Jain's index"), jain(&history.rates()), "", shares);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::jain;

    #[test]
    fn equal_shares_are_fair_and_one_of_four_is_a_quarter() {
        assert_eq!(jain(&[3.0; 4]), 1.0);
        assert_eq!(jain(&[0.0, 0.0, 8.0, 0.0]), 0.25);
    }
}
