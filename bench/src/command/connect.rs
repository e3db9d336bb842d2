//! `bertha-bench connect`: setting up a connection, to the echo of its first message.

use bertha_bench::connect::{Trial, Way};
use bertha_bench::report::{Budget, Report, directory};
use bertha_bench::statistics::{median, percentile, ratio_of_medians};
use bertha_bench::{Error, ErrorKind};
use bertha_ycsb::plot::{Scale, Spread, times};
use clap::Args;

/// How to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Clients of each kind
    #[arg(long, default_value_t = 1000)]
    trials: usize,
    /// Clients of one kind in a row, with a server of their own; then it is the next kind's turn
    #[arg(long, default_value_t = 25)]
    block: usize,
    /// The Redis server to join through; else the one of scripts/services env, if there is any
    #[arg(long)]
    redis: Option<String>,
}

/// Without a round trip more, against a bare socket.
const ZERO_RTT: Budget = Budget::AtMost(1.3);

/// With one more, which is taken off first.
const ONE_RTT: Budget = Budget::AtMost(1.3);

/// Joining through a store, in round trips to it, beyond what setting up a connection takes anyway.
const RENDEZVOUS: Budget = Budget::AtMost(2.5);

/// A way, and the clients that took it, block by block.
struct Taken {
    way: Way,
    blocks: Vec<Vec<Trial>>,
}

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let mut report = Report::new("connect");
    let mut ways = vec![
        Way::Bare,
        Way::ZeroRtt,
        Way::OneRtt,
        Way::ZeroRttShared,
        Way::OneRttShared,
        Way::OneRttIdentity,
        Way::Memory,
    ];
    let redis = options.redis.clone().or_else(|| std::env::var("BERTHA_REDIS").ok());
    ways.extend(redis.clone().map(Way::Redis));
    let taken = in_turn(ways, options)?;
    for taken in &taken {
        taken.describe(&mut report);
    }
    budgets(&taken, &mut report);
    if redis.is_none() {
        let why = "no Redis server; run scripts/services start redis, and eval \"$(scripts/services env)\"";
        report.skipped("rendezvous, Redis", why, "us");
    }
    draw(&taken)?;
    Ok(report)
}

/// Block by block, forwards and backwards in turn, so that drift of the machine hits all alike.
fn in_turn(ways: Vec<Way>, options: &Options) -> Result<Vec<Taken>, Error> {
    let mut taken: Vec<_> = ways.into_iter().map(|way| Taken { way, blocks: Vec::new() }).collect();
    let block = options.block.clamp(1, options.trials.max(1));
    for number in 0..options.trials.div_ceil(block) {
        for at in 0..taken.len() {
            let at = if number % 2 == 0 { at } else { taken.len() - 1 - at };
            let trials = taken[at].way.sample(block)?;
            taken[at].blocks.push(trials);
        }
    }
    Ok(taken)
}

impl Taken {
    fn set_ups(&self) -> Vec<f64> {
        self.blocks.iter().flatten().map(|trial| trial.set_up).collect()
    }

    /// The median of each block.
    fn medians(&self, time: fn(&Trial) -> f64) -> Vec<f64> {
        let middle = |block: &Vec<Trial>| median(&block.iter().map(time).collect::<Vec<_>>());
        self.blocks.iter().map(|block| middle(block).unwrap_or(f64::NAN)).collect()
    }

    fn describe(&self, report: &mut Report) {
        let (name, set_ups) = (self.way.name(), self.set_ups());
        for percent in [5, 25, 50, 75, 95] {
            let value = percentile(&set_ups, f64::from(percent) / 100.0).unwrap_or(f64::NAN);
            report.figure(format!("{name}, p{percent}"), value, "us");
        }
        let exchange = match self.way {
            Way::Memory | Way::Redis(_) => "a read of the store",
            _ => "one more echo",
        };
        let round_trips: Vec<_> = self.blocks.iter().flatten().map(|trial| trial.round_trip).collect();
        report.figure(format!("{name}, {exchange}, p50"), median(&round_trips).unwrap_or(f64::NAN), "us");
    }
}

/// Medians of blocks that were measured next to each other.
fn budgets(taken: &[Taken], report: &mut Report) {
    let medians = |way: &Way, time| taken.iter().find(|taken| taken.way == *way).map(|it| it.medians(time));
    let set_up: fn(&Trial) -> f64 = |trial| trial.set_up;
    let round_trip: fn(&Trial) -> f64 = |trial| trial.round_trip;
    let (Some(bare), Some(rtt)) = (medians(&Way::Bare, set_up), medians(&Way::Bare, round_trip)) else {
        return;
    };
    let nothing = vec![0.0; rtt.len()];
    let mut ratio = |name: &str, of: &[f64], without: &[f64], to: &[f64], budget| {
        let rest = of.iter().zip(without).map(|(of, without)| of - without);
        let pairs: Vec<_> = rest.zip(to.iter().copied()).collect();
        if let Some(ratio) = ratio_of_medians(&pairs, 0) {
            report.ratio(name, &ratio, budget);
        }
    };
    for (way, is_bounded) in [(Way::ZeroRtt, true), (Way::ZeroRttShared, false)] {
        if let Some(times) = medians(&way, set_up) {
            let name = format!("{} to bare UDP", way.name());
            ratio(&name, &times, &nothing, &bare, is_bounded.then_some(ZERO_RTT));
        }
    }
    for (way, is_bounded) in [(Way::OneRtt, true), (Way::OneRttShared, false), (Way::OneRttIdentity, false)] {
        if let Some(times) = medians(&way, set_up) {
            let name = format!("{} without one round trip, to bare UDP", way.name());
            ratio(&name, &times, &rtt, &bare, is_bounded.then_some(ONE_RTT));
        }
    }
    let Some(one_rtt) = medians(&Way::OneRtt, set_up) else { return };
    for taken in taken.iter().filter(|taken| matches!(taken.way, Way::Memory | Way::Redis(_))) {
        let name = format!("{} without 1-RTT, to a round trip to the store", taken.way.name());
        // A store in the same process is asked by a function call, so there is no round trip to hold it against.
        let budget = matches!(taken.way, Way::Redis(_)).then_some(RENDEZVOUS);
        ratio(&name, &taken.medians(set_up), &one_rtt, &taken.medians(round_trip), budget);
    }
}

fn draw(taken: &[Taken]) -> Result<(), Error> {
    let spreads: Vec<_> =
        taken.iter().filter_map(|taken| Spread::of(taken.way.name(), &taken.set_ups())).collect();
    let drawn = times("Time to connect and receive the first echo", &spreads, Scale::Logarithmic);
    let directory = directory();
    std::fs::create_dir_all(&directory)
        .and_then(|()| std::fs::write(directory.join("connect.svg"), drawn))
        .map_err(Error::while_doing(ErrorKind::Report, "writing the figure"))
}
