//! The rows, after Table 3.2 and Figures 3.4 to 3.6 of the seed.

use super::chain::{Chain, Way};
use super::envoy::{self, Filter};
use crate::Error;
use crate::harness::{Effort, Paired, alternate, median};
use crate::report::{Budget, Report};
use crate::rpc::{Load, Sample};

/// Budgets of the median of one call at a time: to tonic alone, and to tonic behind two Envoys, with the 99th percentile.
const TO_TONIC: Budget = Budget::AtMost(0.65);
const TO_ENVOYS: Budget = Budget::AtMost(0.2);
const P99_TO_ENVOYS: Budget = Budget::AtMost(0.25);
const GRPC_TO_ENVOYS: Budget = Budget::AtMost(0.35);

/// Budget in microseconds of the median between two applications of one host, which grpc#19959 asks for.
const ONE_HOST: Budget = Budget::AtMost(20.0);

/// Budgets of calls per second with [`SEVERAL`] in flight.
const RATE_TO_TONIC: Budget = Budget::AtLeast(2.0);
const RATE_TO_ENVOYS: Budget = Budget::AtLeast(5.0);

/// Budget of the goodput of 8 KiB, which one core does.
const GOODPUT_TO_ENVOYS: Budget = Budget::AtLeast(3.0);
/// Budget of the goodput against tonic alone from that size on.
const GOODPUT_TO_TONIC: Budget = Budget::AtLeast(1.0);

/// Budgets of rates with a policy against the rate with an engine that does nothing.
const WITH_LIMIT: Budget = Budget::AtLeast(0.9);
const WITH_ACL: Budget = Budget::AtLeast(0.92);

/// Budget in MiB of an idle daemon.
const MEMORY: Budget = Budget::AtMost(15.0);

/// Number of calls in flight where the rate is measured.
pub(super) const SEVERAL: usize = 128;

/// Sizes of requests in bytes.
pub(super) const SIZES: [usize; 4] = [512, 8 << 10, 64 << 10, 512 << 10];

const NULL: Option<&str> = Some("null");
pub(super) const NATIVE: Way = Way::Daemons { engine: NULL };
pub(super) const GRPC: Way = Way::OverGrpc { engine: NULL };
pub(super) const ENVOYS: Way = Way::Envoys { filter: Filter::None };

/// Returns the load of a size: so many calls in flight as 8 MiB have, and at most 2 GiB in all.
pub(super) fn load(bytes: usize, effort: Effort) -> Load {
    let calls = effort.pick(40_000, 2_000).min((2 << 30) / bytes);
    Load { bytes, in_flight: SEVERAL.min((8 << 20) / bytes), calls }
}

impl Way {
    pub(super) fn name(self) -> String {
        match self {
            Self::Tonic => "tonic".to_owned(),
            Self::ByHand => "a TCP socket alone".to_owned(),
            Self::Envoys { filter: Filter::None } => "tonic and two Envoys".to_owned(),
            Self::Envoys { filter: Filter::Limit } => "tonic and two Envoys with a limit".to_owned(),
            Self::Envoys { filter: Filter::Acl } => "tonic and two Envoys with an acl".to_owned(),
            Self::OneDaemon => "one daemon".to_owned(),
            Self::Daemons { engine } => format!("daemons{}", with(engine)),
            Self::OverGrpc { engine } => format!("daemons over gRPC{}", with(engine)),
        }
    }

    /// Returns the reason why this way can't be measured here, if there is one.
    pub(super) fn lacking(self) -> Option<&'static str> {
        matches!(self, Self::Envoys { .. }).then(envoy::lacking).flatten()
    }
}

fn with(engine: Option<&str>) -> String {
    engine.map_or_else(String::new, |engine| format!(" with {}", engine.split(':').next().unwrap_or(engine)))
}

/// Measures two ways in turn, and writes what `rows` makes of them. Both chains stay for the whole of it, and only one has calls at a time.
pub(super) fn pair(
    report: &mut Report,
    (a, b): (Way, Way),
    load: Load,
    pairs: usize,
    rows: impl FnOnce(&mut Report, &Paired<Sample>),
) -> Result<(), Error> {
    if let Some(reason) = a.lacking().or(b.lacking()) {
        report.skip(
            &format!("{} to {}, {} bytes, {} in flight", b.name(), a.name(), load.bytes, load.in_flight),
            reason,
        );
        return Ok(());
    }
    let (first, second) = (Chain::start(a)?, Chain::start(b)?);
    let paired = alternate(pairs, || first.ask(load), || second.ask(load))?;
    rows(report, &paired);
    Ok(())
}

/// Measures one call of 64 bytes at a time: Table 3.2.
pub(super) fn one_at_a_time(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let load = Load { bytes: 64, in_flight: 1, calls: effort.pick(10_000, 1_000) };
    let bare = Way::Daemons { engine: None };
    let pairs = [
        (Way::Tonic, NATIVE, Some(TO_TONIC), None),
        (ENVOYS, NATIVE, Some(TO_ENVOYS), Some(P99_TO_ENVOYS)),
        (ENVOYS, GRPC, Some(GRPC_TO_ENVOYS), None),
        (bare, NATIVE, None, None),
    ];
    for (a, b, p50, p99) in pairs {
        pair(report, (a, b), load, effort.pick(8, 2), |report, paired| {
            let name = format!("64 bytes, one at a time, {} to {}", b.name(), a.name());
            for (way, samples) in [(a, paired.a()), (b, paired.b())] {
                let of = format!("{name}: {}", way.name());
                report.median(format!("{of}, p50"), &samples, |it| it.p50_us, "us");
                report.median(format!("{of}, p99"), &samples, |it| it.p99_us, "us");
            }
            report.compare(&format!("{name}, p50"), paired, |it| it.p50_us, p50);
            report.compare(&format!("{name}, p99"), paired, |it| it.p99_us, p99);
        })?;
    }
    pair(report, (NATIVE, Way::OneDaemon), load, effort.pick(8, 2), |report, paired| {
        let name = "64 bytes, one at a time, between two applications of one daemon";
        let medians: Vec<_> = paired.b().iter().map(|it| it.p50_us).collect();
        report.bounded(format!("{name}, p50"), median(&medians).unwrap_or(f64::NAN), "us", ONE_HOST);
        report.median(format!("{name}, p99"), &paired.b(), |it| it.p99_us, "us");
        report.compare(&format!("{name}, to {}, p50", NATIVE.name()), paired, |it| it.p50_us, None);
    })
}

/// Measures calls per second of 64 bytes: Figure 3.5.
pub(super) fn rates(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let load = Load { bytes: 64, in_flight: SEVERAL, calls: effort.pick(100_000, 10_000) };
    let pairs = [
        (Way::Tonic, NATIVE, Some(RATE_TO_TONIC)),
        (ENVOYS, NATIVE, Some(RATE_TO_ENVOYS)),
        (ENVOYS, GRPC, None),
    ];
    for (a, b, budget) in pairs {
        pair(report, (a, b), load, effort.pick(8, 2), |report, paired| {
            compare_rates(report, &format!("64 bytes, {SEVERAL} in flight"), (a, b), paired, budget);
        })?;
    }
    Ok(())
}

/// Writes the rates of two ways, and their ratio.
fn compare_rates(
    report: &mut Report,
    setting: &str,
    (a, b): (Way, Way),
    paired: &Paired<Sample>,
    budget: Option<Budget>,
) {
    let name = format!("{setting}, {} to {}", b.name(), a.name());
    for (way, samples) in [(a, paired.a()), (b, paired.b())] {
        report.median(format!("{name}: {}", way.name()), &samples, |it| it.per_second, "calls/s");
    }
    report.compare(&format!("{name}, calls per second"), paired, |it| it.per_second, budget);
}

/// Measures goodput by size: Figure 3.4.
pub(super) fn goodput(report: &mut Report, effort: Effort) -> Result<(), Error> {
    for bytes in SIZES {
        let load = load(bytes, effort);
        let (is_large, is_8_kib) = (bytes >= 8 << 10, bytes == 8 << 10);
        let pairs = [
            (Way::Tonic, is_large.then_some(GOODPUT_TO_TONIC)),
            (ENVOYS, is_8_kib.then_some(GOODPUT_TO_ENVOYS)),
        ];
        for (a, budget) in pairs {
            pair(report, (a, NATIVE), load, effort.pick(6, 2), |report, paired| {
                let name = format!("{bytes} bytes, goodput, {} to {}", NATIVE.name(), a.name());
                let gigabits = |it: &Sample| it.per_second * bytes as f64 * 8.0 / 1e9;
                report.median(format!("{name}: {}", a.name()), &paired.a(), gigabits, "Gbit/s");
                report.median(format!("{name}: {}", NATIVE.name()), &paired.b(), gigabits, "Gbit/s");
                report.compare(&name, paired, gigabits, budget);
            })?;
        }
    }
    Ok(())
}

/// Measures what policies cost: Figure 3.6.
pub(super) fn policies(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let load = Load { bytes: 64, in_flight: SEVERAL, calls: effort.pick(100_000, 10_000) };
    let limit = Way::Daemons { engine: Some("rate-limit:per-second=infinite") };
    let acl = Way::Daemons { engine: Some("acl:field=customer deny=eve") };
    let pairs = [
        (NATIVE, limit, Some(WITH_LIMIT)),
        (NATIVE, acl, Some(WITH_ACL)),
        (ENVOYS, Way::Envoys { filter: Filter::Limit }, None),
        (ENVOYS, Way::Envoys { filter: Filter::Acl }, None),
    ];
    for (a, b, budget) in pairs {
        pair(report, (a, b), load, effort.pick(8, 2), |report, paired| {
            compare_rates(report, "policies", (a, b), paired, budget);
        })?;
    }
    Ok(())
}

/// Measures the memory of what stands beside an application, before the first call.
pub(super) fn memory(report: &mut Report) -> Result<(), Error> {
    for (way, budget) in [(NATIVE, Some(MEMORY)), (ENVOYS, None)] {
        let name = format!("memory beside an application that asks, idle, {}", way.name());
        match way.lacking() {
            Some(reason) => report.skip(&name, reason),
            None => match (Chain::start(way)?.memory()?, budget) {
                (Some(mib), Some(budget)) => report.bounded(name, mib, "MiB", budget),
                (Some(mib), None) => report.figure(name, mib, "MiB"),
                (None, _) => {}
            },
        }
    }
    Ok(())
}
