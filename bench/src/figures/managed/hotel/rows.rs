//! The rows, after Figures 3.8 and B.1 to B.4 of the seed.

use super::super::envoy;
use super::hosts::{Hosts, Memory, Way};
use crate::Error;
use crate::harness::{Effort, Paired, Placement, alternate, median, run_on};
use crate::report::{Budget, Report};
use bertha_microservice::hotel::load::{Answered, Load, Pace};
use bertha_microservice::hotel::{Shares, Summary};
use bertha_plot::{Bar, bars};

/// Budget of the mean time of a search, of tonic behind Envoys to daemons.
const TO_ENVOYS: Budget = Budget::AtLeast(1.5);

/// Searches per second.
const PACE: f64 = 20.0;

/// The variable with memcached's address.
const CACHE: &str = "BERTHA_MEMCACHED";

/// The way in whose times others are counted.
const OURS: Way = Way::Daemons;

/// The times of some searches.
#[derive(Clone, Copy, Debug)]
struct Sample {
    mean_us: f64,
    p99_us: f64,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Daemons => "daemons with null",
            Self::Tonic => "tonic",
            Self::Envoys => "tonic and Envoys",
        }
    }

    /// Returns the reason why this way can't be measured here, if there is one.
    fn lacking(self) -> Option<&'static str> {
        (self == Self::Envoys).then(envoy::lacking).flatten()
    }
}

/// Measures the rows.
///
/// # Errors
/// Errors of the processes.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("hotel");
    let Some(cache) = std::env::var(CACHE).ok().filter(|addr| !addr.is_empty()) else {
        report.skip(
            "the hotel",
            "it needs memcached, whose address the variable BERTHA_MEMCACHED has: scripts/services start memcached",
        );
        return Ok(report);
    };
    let (core, _) = Placement::OneCore.cores()?;
    // Processes start on the core of the thread that starts them.
    run_on(core, || {
        let mut breakdowns = Vec::new();
        for other in [Way::Envoys, Way::Tonic] {
            against(&mut report, other, &cache, effort, &mut breakdowns)?;
        }
        draw(&mut report, &breakdowns)?;
        Ok(report)
    })
}

/// Measures another way and ours in turn. Both hotels stay for the whole of it, and only one is searched at a time.
fn against(
    report: &mut Report,
    other: Way,
    cache: &str,
    effort: Effort,
    breakdowns: &mut Vec<(Way, Summary)>,
) -> Result<(), Error> {
    if let Some(reason) = other.lacking() {
        report.skip(&format!("the hotel, {} to {}", other.name(), OURS.name()), reason);
        return Ok(());
    }
    let hotels = (Hosts::start(OURS, cache)?, Hosts::start(other, cache)?);
    let is_envoys = other == Way::Envoys;
    let open = Load { pace: Pace::PerSecond(PACE), requests: effort.pick(200, 40), seed: 1 };
    let answers = compare(report, other, &hotels, open, effort, is_envoys.then_some(TO_ENVOYS))?;
    for (way, answers) in [OURS, other].into_iter().zip(answers) {
        // Ours has samples beside Envoys, and is drawn once.
        if breakdowns.iter().all(|(drawn, _)| *drawn != way) {
            let summary = Summary::of(&answers);
            tell(report, way, &summary);
            breakdowns.push((way, summary));
        }
    }
    let closed = Load { pace: Pace::InFlight(1), requests: effort.pick(2_000, 200), seed: 2 };
    compare(report, other, &hotels, closed, effort, None)?;
    memory(report, other, &hotels)
}

/// Writes the times of searches of two hotels, and their ratio. Returns the answers of ours, and of the other.
fn compare(
    report: &mut Report,
    other: Way,
    (ours, others): &(Hosts, Hosts),
    load: Load,
    effort: Effort,
    budget: Option<Budget>,
) -> Result<[Vec<Answered>; 2], Error> {
    let mut answers = [Vec::new(), Vec::new()];
    let [of_ours, of_others] = &mut answers;
    let search = |hosts: &Hosts, all: &mut Vec<Answered>| {
        let answers = hosts.search(load)?;
        let Summary { mean_us, p99_us, .. } = Summary::of(&answers);
        all.extend(answers);
        Ok::<_, Error>(Sample { mean_us, p99_us })
    };
    let paired: Paired<Sample> =
        alternate(effort.pick(6, 2), || search(ours, of_ours), || search(others, of_others))?;
    // The first run of each is for warm-up.
    for all in &mut answers {
        all.drain(..load.requests);
    }
    let setting = match load.pace {
        Pace::PerSecond(rate) => format!("{rate:.0} searches per second"),
        Pace::InFlight(_) => "one search at a time".to_owned(),
    };
    let name = format!("{setting}, {} to {}", other.name(), OURS.name());
    for (way, samples) in [(OURS, paired.a()), (other, paired.b())] {
        report.median(format!("{name}: {}, mean", way.name()), &samples, |it| it.mean_us, "us");
        report.median(format!("{name}: {}, p99", way.name()), &samples, |it| it.p99_us, "us");
    }
    report.compare(&format!("{name}, mean"), &paired, |it| it.mean_us, budget);
    report.compare(&format!("{name}, p99"), &paired, |it| it.p99_us, None);
    Ok(answers)
}

/// Writes the times of each service: Figures 3.8 and B.2.
fn tell(report: &mut Report, way: Way, summary: &Summary) {
    for Shares { service, work_us, calls_us, .. } in &summary.services {
        let name = format!("Figure 3.8, {}, {service}, mean", way.name());
        report.figure(format!("{name}: work"), *work_us, "us");
        report.figure(format!("{name}: calls"), *calls_us, "us");
    }
}

/// Writes the memory of all processes after the searches: Figure B.4.
fn memory(report: &mut Report, other: Way, (ours, others): &(Hosts, Hosts)) -> Result<(), Error> {
    if other == Way::Envoys {
        for (name, all) in [("a daemon", ours.memory_beside()?), ("an Envoy", others.memory_beside()?)] {
            let of = |number: fn(&Memory) -> f64| median(&all.iter().map(number).collect::<Vec<_>>());
            if let (Some(peak), Some(own)) = (of(|it| it.peak), of(|it| it.own)) {
                tell_memory(report, &format!("memory beside a service: {name}"), Memory { peak, own });
            }
        }
        // The services are the same without Envoys.
        return Ok(());
    }
    for (way, hosts) in [(OURS, ours), (other, others)] {
        for (role, memory) in hosts.memory()? {
            tell_memory(report, &format!("memory of {}, {}", role.name(), way.name()), memory);
        }
    }
    Ok(())
}

fn tell_memory(report: &mut Report, name: &str, Memory { peak, own }: Memory) {
    report.figure(format!("{name}, peak"), peak, "MiB");
    report.figure(format!("{name}, without the program's file"), own, "MiB");
}

/// Draws the times of each service by each way.
fn draw(report: &mut Report, breakdowns: &[(Way, Summary)]) -> Result<(), Error> {
    let means: fn(&Shares) -> [f64; 2] = |it| [it.work_us, it.calls_us];
    let p99s: fn(&Shares) -> [f64; 2] = |it| [it.work_p99_us, it.calls_p99_us];
    for (file, title, parts) in [
        ("hotel.svg", "Figure 3.8: mean time of each service", means),
        ("hotel-p99.svg", "Figures B.1 and B.3: 99th percentiles of work and of calls", p99s),
    ] {
        let services = breakdowns.first().map_or(&[][..], |(_, summary)| &summary.services);
        let mut all = Vec::new();
        for Shares { service, .. } in services {
            for (way, summary) in breakdowns {
                let shares = summary.services.iter().find(|shares| shares.service == *service);
                let parts = shares.map(|shares| parts(shares).to_vec());
                all.extend(parts.map(|parts| Bar { name: format!("{service}, {}", way.name()), parts }));
            }
        }
        report.draw(file, bars(title, &["work of services", "calls"], &all))?;
    }
    Ok(())
}
