//! The rows of set-up, and their box plots.

use super::{Trial, Way};
use crate::Error;
use crate::harness::{Effort, median, percentile, ratio_of_medians};
use crate::report::{Budget, Report};
use bertha_plot::{Spread, spreads};
use clap::Args;

/// The options of `bertha-bench connect`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The Redis server to join through; else the one of scripts/services env, if there is any
    #[arg(long)]
    redis: Option<String>,
}

/// Number of consecutive clients of a way, with a server of their own; then it is the next way's turn.
const BLOCK: usize = 25;

/// Budget of 0-RTT against a bare socket, and of 1-RTT less a round trip. A stack that is faster than its socket was not measured.
const SET_UP: Budget = Budget::Between(0.95, 2.0);

/// Budget of joining through a store, in round trips to it.
#[cfg(feature = "redis")]
const RENDEZVOUS: Budget = Budget::AtMost(2.5);

/// A way, and the clients that took it, block by block.
struct Taken {
    way: Way,
    blocks: Vec<Vec<Trial>>,
}

/// Measures the rows.
///
/// # Errors
/// Errors of the connections.
pub(crate) fn run(options: &Options, effort: Effort) -> Result<Report, Error> {
    use Way::{
        Bare, Memory, NoiseShared, NoiseStatic, OneRtt, OneRttIdentity, OneRttShared, ZeroRtt, ZeroRttShared,
    };
    let mut report = Report::new("connect");
    let mut ways = vec![Bare, ZeroRtt, OneRtt, ZeroRttShared, OneRttShared, OneRttIdentity, Memory];
    ways.extend([NoiseShared, NoiseStatic]);
    #[cfg(feature = "quic")]
    ways.extend([false, true].map(|resumed| [Way::Quic { resumed }, Way::Quinn { resumed }]).concat());
    #[cfg(feature = "tls")]
    ways.extend([false, true].map(|resumed| [Way::Tls { resumed }, Way::TokioRustls { resumed }]).concat());
    match options.redis.clone().or_else(|| std::env::var("BERTHA_REDIS").ok()) {
        #[cfg(feature = "redis")]
        Some(url) => ways.push(Way::Redis(url)),
        #[cfg(not(feature = "redis"))]
        Some(_) => report.skip("rendezvous, Redis", "built without it: `--features redis`"),
        None => report.skip("rendezvous, Redis", "no server; run scripts/bench, which starts one"),
    }
    let taken = in_turn(ways, effort.pick(40, 5))?;
    ratios(&taken, &mut report);
    for taken in &taken {
        taken.describe(&mut report);
    }
    let times = taken.iter().filter_map(|taken| Spread::of(taken.way.name(), &taken.set_ups()));
    let drawn = spreads("Time to connect and receive the first echo", &times.collect::<Vec<_>>());
    report.draw("connect.svg", drawn)?;
    Ok(report)
}

/// Runs block by block, forwards and backwards in turn, so that drift of the machine affects all alike.
fn in_turn(ways: Vec<Way>, blocks: usize) -> Result<Vec<Taken>, Error> {
    let mut taken: Vec<_> = ways.into_iter().map(|way| Taken { way, blocks: Vec::new() }).collect();
    for number in 0..blocks {
        for at in 0..taken.len() {
            let at = if number % 2 == 0 { at } else { taken.len() - 1 - at };
            let trials = taken[at].way.sample(BLOCK)?;
            taken[at].blocks.push(trials);
        }
    }
    Ok(taken)
}

impl Taken {
    fn set_ups(&self) -> Vec<f64> {
        self.blocks.iter().flatten().map(|trial| trial.set_up).collect()
    }

    /// Returns the median of each block.
    fn medians(&self, time: fn(&Trial) -> f64) -> Vec<f64> {
        let middle = |block: &Vec<Trial>| median(&block.iter().map(time).collect::<Vec<_>>());
        self.blocks.iter().map(|block| middle(block).unwrap_or(f64::NAN)).collect()
    }

    fn describe(&self, report: &mut Report) {
        let name = self.way.name();
        let set_ups = self.set_ups();
        for percent in [5, 25, 50, 75, 95] {
            let value = percentile(&set_ups, f64::from(percent) / 100.0).unwrap_or(f64::NAN);
            report.figure(format!("{name}, p{percent}"), value, "us");
        }
        let exchange = match self.way {
            Way::Memory => "a read of the store",
            #[cfg(feature = "redis")]
            Way::Redis(_) => "a read of the store",
            _ => "one more echo",
        };
        let trials: Vec<_> = self.blocks.iter().flatten().copied().collect();
        report.median(format!("{name}, {exchange}, p50"), &trials, |it| it.round_trip, "us");
    }
}

/// Adds the ratios of medians of blocks that were measured next to each other.
fn ratios(all: &[Taken], report: &mut Report) {
    let Some(bare) = all.iter().find(|taken| taken.way == Way::Bare) else { return };
    let (bare, rtt) = (bare.medians(|it| it.set_up), bare.medians(|it| it.round_trip));
    for taken in all {
        let (way, set_up) = (&taken.way, taken.medians(|it| it.set_up));
        let (pairs, what): (Vec<_>, _) = match way {
            Way::Bare => continue,
            #[cfg(feature = "quic")]
            Way::Quinn { .. } => continue,
            #[cfg(feature = "tls")]
            Way::TokioRustls { .. } => continue,
            // The handshake is compared with QUIC's that resumes nothing either.
            #[cfg(feature = "quic")]
            Way::NoiseShared | Way::NoiseStatic => {
                (paired(set_up, all, &Way::Quinn { resumed: false }), " to quinn, full")
            }
            #[cfg(not(feature = "quic"))]
            Way::NoiseShared | Way::NoiseStatic => continue,
            #[cfg(feature = "quic")]
            Way::Quic { resumed } => (paired(set_up, all, &Way::Quinn { resumed: *resumed }), " to quinn"),
            #[cfg(feature = "tls")]
            Way::Tls { resumed } => {
                (paired(set_up, all, &Way::TokioRustls { resumed: *resumed }), " to tokio-rustls")
            }
            Way::ZeroRtt | Way::ZeroRttShared => {
                (set_up.into_iter().zip(bare.clone()).collect(), " to bare UDP")
            }
            Way::OneRtt | Way::OneRttShared | Way::OneRttIdentity => {
                let less = set_up.iter().zip(&rtt).map(|(set_up, rtt)| set_up - rtt);
                (less.zip(bare.clone()).collect(), " less one round trip, to bare UDP")
            }
            _ => {
                let round_trips = taken.medians(|it| it.round_trip);
                (set_up.into_iter().zip(round_trips).collect(), " to a round trip to the store")
            }
        };
        let budget = match way {
            Way::ZeroRtt | Way::OneRtt => Some(SET_UP),
            #[cfg(feature = "redis")]
            Way::Redis(_) => Some(RENDEZVOUS),
            // A store in this process is asked by a function call, so there is no round trip to compare with.
            _ => None,
        };
        report.ratio(format!("{}{what}", way.name()), ratio_of_medians(&pairs, 0), budget);
    }
}

/// Returns pairs with the medians of another way, if that way was taken.
#[cfg(feature = "tls")]
fn paired(set_up: Vec<f64>, all: &[Taken], other: &Way) -> Vec<(f64, f64)> {
    let other = all.iter().find(|taken| taken.way == *other);
    other.map_or_else(Vec::new, |other| set_up.into_iter().zip(other.medians(|it| it.set_up)).collect())
}
