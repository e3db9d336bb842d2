//! Utilisation of a link by one to eight flows, and the fairness of their shares: in virtual time, and beside
//! that by Linux's own TCP with these controls, through a shaper with this emulator in real time.

use super::control::Control;
use super::flows::{Course, Flow, mean, path};
use super::shaped::{self, Impairments, Transport, lacking};
use crate::harness::Effort;
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_datapath_sim::Path;
use std::time::Duration;

/// The controls, with the names of Linux's.
const CONTROLS: [(Control, &str); 3] =
    [(Control::NewReno, "reno"), (Control::Cubic, "cubic"), (Control::Bbr, "bbr")];

/// Budget of the share of the link that flows use, for any chance.
const USES: Budget = Budget::AtLeast(0.9);

/// Budget of Jain's index of flows with equal round trips. Flows of BBR come near it only after minutes, and
/// so do Linux's, so they are judged only beside Linux's.
const FAIR: Budget = Budget::AtLeast(0.9);

/// Budgets of both figures, against Linux's TCP.
const AS_LINUX: Budget = Budget::AtLeast(0.9);

/// Time between the beginnings of two flows.
const STAGGER: Duration = Duration::from_millis(500);

/// Flows that share a link of 24 Mbit/s and 40 ms.
#[derive(Debug, Clone)]
struct Scene {
    name: String,
    loss: f64,
    /// Additional milliseconds of each flow's round trips.
    detours: Vec<u64>,
}

/// The outcome of a scene.
#[derive(Debug, Clone, Copy)]
struct SharedLink {
    /// Share of the link that is used.
    used: f64,
    jain: f64,
}

/// Returns Jain's index of fairness: 1 if all rates are equal, and 1 divided by their number if all but one
/// are zero.
fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
    sum * sum / (rates.len() as f64 * squares)
}

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the flows.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let reason = lacking();
    if let Some(reason) = reason {
        report.skip("Linux's TCP through a shaper", reason);
    }
    let scenes = scenes();
    for (control, name_of_linux) in CONTROLS {
        let mut ours = Vec::new();
        for scene in &scenes {
            ours.push(in_virtual_time(report, scene, control, effort.pick(60, 30))?);
        }
        if reason.is_none() {
            let of_linux = of_linux(&scenes, name_of_linux, effort.pick(60, 20))?;
            for ((scene, ours), theirs) in scenes.iter().zip(ours).zip(of_linux) {
                compare(report, &format!("{control}, {}", scene.name), scene, ours, theirs);
            }
        }
    }
    Ok(())
}

fn scenes() -> Vec<Scene> {
    let mut scenes = Vec::new();
    for flows in [1, 2, 4, 8] {
        scenes.push(Scene { name: format!("{flows} flows"), loss: 0.0, detours: vec![0; flows] });
    }
    for loss in [0.000_1, 0.001, 0.01, 0.02] {
        scenes.push(Scene { name: format!("{} % lost", loss * 100.0), loss, detours: vec![0] });
    }
    for detours in [&[0, 40][..], &[0, 0, 40, 80]] {
        let round_trips: Vec<_> = detours.iter().map(|detour| (40 + detour).to_string()).collect();
        let name = format!("round trips of {} ms", round_trips.join(", "));
        scenes.push(Scene { name, loss: 0.0, detours: detours.to_vec() });
    }
    scenes
}

impl Scene {
    fn path(&self) -> Path {
        Path { loss: self.loss, ..path(24.0, 40) }
    }

    fn course(&self, seconds: u64) -> Course {
        let flow = |(number, detour): (usize, &u64)| Flow {
            start: STAGGER * number as u32,
            detour: Duration::from_millis(*detour),
            lasts: None,
        };
        let flows = self.detours.iter().enumerate().map(flow).collect();
        Course { flows, ..Course::alone(self.path(), seconds, Duration::from_millis(100), 1) }
    }

    fn shared(&self, rates: &[f64]) -> SharedLink {
        SharedLink { used: rates.iter().sum::<f64>() / self.path().rate.mean(), jain: jain(rates) }
    }

    /// Returns true if flows are alike, so that each should have an equal part.
    fn is_even(&self) -> bool {
        self.detours.iter().all(|detour| *detour == 0)
    }
}

fn in_virtual_time(
    report: &mut Report,
    scene: &Scene,
    control: Control,
    seconds: u64,
) -> Result<SharedLink, Error> {
    let history = scene.course(seconds).run(control)?;
    let shared = scene.shared(&history.rates());
    let name = format!("{control}, {}", scene.name);
    let mut add = |name: String, value: f64, unit: &str, budget: Option<Budget>| match budget {
        Some(budget) => report.bounded(name, value, unit, budget),
        None => report.figure(name, value, unit),
    };
    // Loss slows down all controls but BBR.
    let is_to_use = scene.is_even() && (scene.loss == 0.0 || control == Control::Bbr);
    add(format!("{name}: use"), shared.used, "of the link", is_to_use.then_some(USES));
    add(format!("{name}: queue"), mean(&history.delays()), "ms", None);
    if scene.detours.len() > 1 {
        let is_to_share = scene.is_even() && control != Control::Bbr;
        add(format!("{name}: Jain's index"), shared.jain, "", is_to_share.then_some(FAIR));
    }
    Ok(shared)
}

/// Runs all scenes at once, each on a path of its own: they take little of a machine and much time.
fn of_linux(scenes: &[Scene], control: &'static str, seconds: u64) -> Result<Vec<SharedLink>, Error> {
    let transport = &Transport::Linux(control);
    std::thread::scope(|scope| {
        let run = |scene: &Scene| {
            let detours = scene.detours.iter().copied().map(Duration::from_millis).collect();
            let shaped = shaped::Scene {
                impairments: Impairments { detours, ..Impairments::of(scene.path()) },
                flows: scene.detours.len() as u16,
                stagger: STAGGER,
                warm_up: Duration::from_secs(seconds) / 5,
                counted: Duration::from_secs(seconds) * 4 / 5,
                seed: 1,
            };
            shaped.run(transport).map(|rates| scene.shared(&rates))
        };
        let running: Vec<_> = scenes.iter().map(|scene| scope.spawn(move || run(scene))).collect();
        let panicked = |_| Error::new(ErrorKind::Core, "flows of Linux's TCP panicked");
        running.into_iter().map(|scene| scene.join().map_err(panicked)?).collect()
    })
}

fn compare(report: &mut Report, name: &str, scene: &Scene, ours: SharedLink, theirs: SharedLink) {
    report.figure(format!("{name}: use by Linux's TCP"), theirs.used, "of the link");
    report.bounded(format!("{name}: use to that by Linux's TCP"), ours.used / theirs.used, "x", AS_LINUX);
    if scene.detours.len() > 1 {
        report.figure(format!("{name}: Jain's index of Linux's TCP"), theirs.jain, "");
        let ratio = ours.jain / theirs.jain;
        report.bounded(format!("{name}: Jain's index to that of Linux's TCP"), ratio, "x", AS_LINUX);
    }
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
