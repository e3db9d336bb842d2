//! The store under more load than it can take: YCSB's own clients, which have windows and send again. First a
//! few of them find the peak, then many of them are offered a multiple of it.

use super::Workload;
use crate::harness::{Effort, run_on, usable};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha::Settings;
use bertha::prelude::*;
use bertha_chunnels::{Checksum, ClientShard};
use bertha_kvstore::{Message, Messages, Options, Server};
use bertha_ycsb::connect::{ToStore, connect};
use bertha_ycsb::driver::{Counter, Driver, Phased, Plan};
use bertha_ycsb::generator::InsertSequence;
use bertha_ycsb::outstanding::Limits;
use bertha_ycsb::parameters::Parameters;
use bertha_ycsb::schedule::{Arrivals, Pace};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Builder;

/// Number of clients while the peak is measured, and their requests in flight: the best result is the peak.
const FEW: usize = 4;
const IN_FLIGHT: [usize; 3] = [8, 32, 128];

/// Number of clients under overload: many more than a window each would need.
const MANY: usize = 64;

/// Offered load as a multiple of the peak.
const OVERLOAD: f64 = 2.0;

/// Budget: an overloaded store has to answer at nearly its peak.
const ANSWERED: Budget = Budget::AtLeast(0.9);

/// The rates of a run, in requests per second.
struct Sample {
    peak: f64,
    offered: f64,
    answered: f64,
    resent: f64,
    given_up: f64,
}

/// Adds the rows of overload.
///
/// # Errors
/// Errors of the store and its clients.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let duration = Duration::from_secs_f64(effort.pick(2.0, 0.5));
    let samples: Result<Vec<_>, _> = (0..effort.pick(9, 3)).map(|_| sample(duration)).collect();
    let Some(samples) = report.unless_impossible("overload", samples)? else { return Ok(()) };
    let mut row = |name: &str, number: fn(&Sample) -> f64| {
        report.median(format!("overload, 1,000-byte records, {name}"), &samples, number, "ops/s");
    };
    row("peak of few clients", |it| it.peak);
    row(&format!("offered by {MANY} clients"), |it| it.offered);
    row("answered", |it| it.answered);
    row("sent again", |it| it.resent);
    row("given up", |it| it.given_up);
    let shares: Vec<_> = samples.iter().map(|it| (it.answered, it.peak)).collect();
    let ratio = crate::harness::ratio_of_medians(&shares, 0);
    report.ratio("overload, answered to the peak", ratio, Some(ANSWERED));
    Ok(())
}

/// Takes a sample. The store has the first core, which the clients share; they also have the others.
fn sample(duration: Duration) -> Result<Sample, Error> {
    let start = || Server::start(Options::default()).map_err(failed("starting the store"));
    let server = run_on(usable()?[0], start)?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))?;
    let sample = runtime.block_on(measure(&server, duration));
    server.stop().map_err(failed("stopping the store"))?;
    sample
}

async fn measure(server: &Server, duration: Duration) -> Result<Sample, Error> {
    let mut parameters = Workload { value_bytes: 1000, ..Workload::default() }.parameters()?;
    // Only the time ends the run.
    parameters.operations = 0;
    let mut few = driver(server, FEW).await?;
    let mut many = driver(server, MANY).await?;
    few.load(&parameters, &plan(Pace::Closed { in_flight: 8 }, duration), &Counter::default()).await;
    let mut peak = 0.0_f64;
    for in_flight in IN_FLIGHT {
        let ran = run_phase(&mut few, &parameters, Pace::Closed { in_flight }, duration).await;
        peak = peak.max(ran.throughput());
    }
    let pace = Pace::Open { rate: OVERLOAD * peak, arrivals: Arrivals::Poisson };
    let ran = run_phase(&mut many, &parameters, pace, duration).await;
    let seconds = ran.elapsed().as_secs_f64();
    let sum = |number: fn(&bertha_ycsb::driver::Part) -> u64| {
        ran.parts.iter().map(number).sum::<u64>() as f64 / seconds
    };
    Ok(Sample {
        peak,
        offered: sum(|part| part.issued + part.overdue),
        answered: ran.throughput(),
        resent: sum(|part| part.retransmissions),
        given_up: ran.measurements().total().given_up as f64 / seconds,
    })
}

async fn run_phase<C: Connection<Data = Message> + 'static>(
    driver: &mut Driver<ToStore<C>>,
    parameters: &Parameters,
    pace: Pace,
    duration: Duration,
) -> Phased {
    let sequence = Arc::new(InsertSequence::new(parameters.records));
    driver.run(parameters, &sequence, &plan(pace, duration), &Counter::default()).await
}

fn plan(pace: Pace, duration: Duration) -> Plan {
    Plan { pace, limits: Limits::default(), max_time: Some(duration), stop_together: false, seed: 1 }
}

async fn driver(
    server: &Server,
    clients: usize,
) -> Result<Driver<ToStore<impl Connection<Data = Message> + 'static>>, Error> {
    let routing = ClientShard::new(server.map().clone());
    let stack = make_stack!(routing, Messages::new(), Checksum::new());
    let mut ports = Vec::new();
    for _ in 0..clients {
        ports.push(
            connect(&stack, server.addr().into(), Settings::default()).await.map_err(failed("connecting"))?,
        );
    }
    Ok(Driver::new(ports))
}

fn failed(doing: &'static str) -> impl FnOnce(bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, doing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overloaded_store_still_answers() {
        let sample = sample(Duration::from_secs(1)).unwrap();
        assert!(sample.peak > 0.0 && sample.answered > 0.0, "{} {}", sample.peak, sample.answered);
        assert!(sample.offered > sample.peak, "{} {}", sample.offered, sample.peak);
    }
}
