//! Calls with four arguments, which daemons send by a system call for each, and then by one for all: Figure 3.7a.
//!
//! The applications A and B have daemons of their own, which call the daemon of the server. That of the server is changed first, then that of
//! A, and that of B never.

use super::arguments::fours::{Client, Handler, Server};
use super::arguments::{Four, Short};
use super::by_daemon::failed;
use super::chain::{ATTACH, Answering};
use super::limits::{Look, rate_of, rate_of_two};
use super::process::Process;
use super::{ANSWER, SERVICE};
use crate::harness::{Effort, in_time, median, ratio_of_medians, runtime};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_managed::application::{Attach, Lent};
use bertha_managed::heap::Heap;
use bertha_managed::{Failure, Order};
use bertha_plot::{Panel, PlotError, Series, over_time};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::task::JoinHandle;

/// Budgets of the rates with one system call for a message to those with several: of A, whose daemon changes, and of B.
const CHANGED: Budget = Budget::AtLeast(1.05);
const UNCHANGED: Budget = Budget::Between(0.9, 1.1);

/// Budget of calls without an answer.
const LOST: Budget = Budget::AtMost(0.0);

/// Number of bytes of an argument.
const BYTES: usize = 8 << 10;

/// The applications, with their numbers of calls in flight.
const APPLICATIONS: [(&str, usize); 2] = [("A", 32), ("B", 8)];

/// The states of the daemons, in their order: which of them send by one system call.
const STATES: [&str; 3] = ["none changed", "the server's changed", "the server's and A's changed"];

/// Time between two looks at the rates.
const LOOK: Duration = Duration::from_millis(50);

/// The looks at each application in each state.
type Round = [[Vec<Look>; APPLICATIONS.len()]; STATES.len()];

/// Measures the rows, and draws the first round.
///
/// # Errors
/// Errors of the processes, refusals of orders, and figures that can't be written.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let hosts = Hosts::start()?;
    let (rounds, lasting) = (effort.pick(20, 2), Duration::from_secs_f64(effort.pick(1.0, 0.5)));
    let (rounds, lost) = runtime()?.block_on(in_time(play(&hosts, rounds, lasting)))?;
    describe(report, &rounds, lost);
    if let Some(first) = rounds.first() {
        report.draw("managed-send.svg", draw(first))?;
    }
    Ok(())
}

/// The daemons of the three hosts.
struct Hosts {
    folder: TempDir,
    _daemons: [Process; 3],
}

impl Hosts {
    fn start() -> Result<Self, Error> {
        let folder = TempDir::new().map_err(Error::while_doing(ErrorKind::Core, "making a folder"))?;
        let path = |name: &str| folder.path().join(name).display().to_string();
        let [listen, words] = Answering::NATIVE;
        let mut server =
            Process::of_this_program(&["rpcd", "--socket", &path("server"), listen, "127.0.0.1:0"])?;
        let route = format!("{SERVICE}={}", server.says(words)?);
        server.says(ATTACH)?;
        let client = |(name, _): (&str, usize)| {
            let mut daemon = Process::of_this_program(&["rpcd", "--socket", &path(name), "--route", &route])?;
            daemon.says(ATTACH)?;
            Ok::<_, Error>(daemon)
        };
        let [a, b] = APPLICATIONS.map(client);
        Ok(Self { _daemons: [server, a?, b?], folder })
    }

    fn socket(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Orders the daemon of a host to send arguments in another way.
    async fn send(&self, name: &str, by: &str) -> Result<(), Error> {
        let order = Order::Send { service: SERVICE.into(), by: by.into() };
        order.give(&self.socket(name)).await.map_err(failed).map(drop)
    }

    /// Leads to a state from the one before.
    async fn lead_to(&self, state: usize) -> Result<(), Error> {
        match state {
            1 => self.send("server", "writev").await,
            2 => self.send("A", "writev").await,
            _ => {
                for name in ["server", "A", "B"] {
                    self.send(name, "write").await?;
                }
                Ok(())
            }
        }
    }
}

struct EightBytes;

impl Handler for EightBytes {
    async fn ask(&self, _: Lent<Four>, heap: &Heap) -> Result<Short, Failure> {
        let mut answer = Short::new_in(heap);
        answer.payload_mut().extend_from_slice(&[7; ANSWER]);
        Ok(answer)
    }
}

/// Calls of an application, each of whose tasks makes its next call when it has the answer to its previous call.
struct Calls {
    seen: Arc<Seen>,
    tasks: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Seen {
    is_over: AtomicBool,
    begun: AtomicU64,
    answered: AtomicU64,
}

impl Calls {
    async fn start(socket: &Path, (name, in_flight): (&str, usize)) -> Result<Self, Error> {
        let attached = Attach::new(socket, name).client(SERVICE).await.map_err(failed)?;
        let (client, seen) = (Arc::new(Client::new(attached)), Arc::<Seen>::default());
        let task = |_| tokio::spawn(make_calls(Arc::clone(&client), Arc::clone(&seen)));
        Ok(Self { tasks: (0..in_flight).map(task).collect(), seen })
    }

    /// Lets the calls under way end, and returns the number of calls without an answer.
    async fn end(self) -> Result<u64, Error> {
        self.seen.is_over.store(true, Relaxed);
        for task in self.tasks {
            task.await.map_err(Error::while_doing(ErrorKind::Core, "ending a task"))?;
        }
        Ok(self.seen.begun.load(Relaxed) - self.seen.answered.load(Relaxed))
    }
}

async fn make_calls(client: Arc<Client>, seen: Arc<Seen>) {
    let argument = [7; BYTES];
    while !seen.is_over.load(Relaxed) {
        seen.begun.fetch_add(1, Relaxed);
        let mut four = Four::new_in(&client.heap());
        four.first_mut().extend_from_slice(&argument);
        four.second_mut().extend_from_slice(&argument);
        four.third_mut().extend_from_slice(&argument);
        four.fourth_mut().extend_from_slice(&argument);
        if !client.ask(four).await.is_ok_and(|answer| answer.payload().len() == ANSWER) {
            // The call counts as lost. Where one fails, all may fail at once, without a wait.
            return;
        }
        seen.answered.fetch_add(1, Relaxed);
    }
}

/// Returns the rounds and the number of calls without an answer.
async fn play(hosts: &Hosts, rounds: usize, lasting: Duration) -> Result<(Vec<Round>, u64), Error> {
    let server = Attach::new(hosts.socket("server"), "server").server(SERVICE).await.map_err(failed)?;
    let serving = tokio::spawn(server.serve(Server(EightBytes)));
    let [a, b] = APPLICATIONS;
    let calls = [Calls::start(&hosts.socket(a.0), a).await?, Calls::start(&hosts.socket(b.0), b).await?];
    let (began, mut played) = (Instant::now(), Vec::new());
    for _ in 0..rounds {
        let mut round = Round::default();
        for (state, looks) in round.iter_mut().enumerate() {
            hosts.lead_to(state).await?;
            *looks = watch(&calls, began, lasting).await;
        }
        played.push(round);
    }
    let mut lost = 0;
    for calls in calls {
        lost += calls.end().await?;
    }
    serving.abort();
    Ok((played, lost))
}

async fn watch(calls: &[Calls; 2], began: Instant, lasting: Duration) -> [Vec<Look>; 2] {
    let mut looks = [const { Vec::new() }; 2];
    let begun = Instant::now();
    while begun.elapsed() < lasting {
        for (looks, calls) in looks.iter_mut().zip(calls) {
            looks.push(Look {
                at: began.elapsed().as_secs_f64(),
                answered: calls.seen.answered.load(Relaxed),
            });
        }
        tokio::time::sleep(LOOK).await;
    }
    looks
}

fn describe(report: &mut Report, rounds: &[Round], lost: u64) {
    let rates = |state: usize, of: usize| rounds.iter().map(move |round| rate_of(&round[state][of]));
    let name = format!("four arguments of {BYTES} bytes");
    for (of, (application, in_flight)) in APPLICATIONS.iter().enumerate() {
        for (state, what) in STATES.iter().enumerate() {
            let rates: Vec<_> = rates(state, of).collect();
            let row = format!("{name}, {application} with {in_flight} calls in flight: {what}");
            report.figure(row, median(&rates).unwrap_or(f64::NAN), "calls/s");
        }
        let budget = if of == 0 { CHANGED } else { UNCHANGED };
        let pairs: Vec<_> = rates(2, of).zip(rates(1, of)).collect();
        let row = format!("{name}: the rate of {application} after the change of A's daemon to that before");
        report.ratio(row, ratio_of_medians(&pairs, 0), Some(budget));
    }
    report.bounded(format!("{name}: calls without an answer"), lost as f64, "calls", LOST);
}

fn draw(round: &Round) -> Result<String, PlotError> {
    let begun = round[0][0].first().map_or(0.0, |look| look.at);
    let line = |of: usize| {
        let looks: Vec<_> = round.iter().flat_map(|state| state[of].iter().copied()).collect();
        let points = looks.windows(2).map(|two| (two[1].at - begun, rate_of_two(two) / 1e3)).collect();
        Series { label: APPLICATIONS[of].0.to_owned(), points }
    };
    let panel = Panel { name: "Thousand calls/s", series: vec![line(0), line(1)], mark: None };
    over_time("Rates of calls while daemons learn to send arguments at once", &[panel])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_compare_both_applications_before_and_after_the_change_of_one() {
        let looks = |rate: u64| (0..20).map(|at| Look { at: at as f64, answered: rate * at }).collect();
        let round: Round = [[looks(900), looks(500)], [looks(1_000), looks(500)], [looks(1_100), looks(400)]];
        let mut report = Report::new("managed");
        describe(&mut report, &[round.clone(), round.clone()], 0);
        let bounded: Vec<_> = report.rows().iter().filter(|row| row.budget.is_some()).collect();
        let found: Vec<_> = bounded.iter().map(|row| (row.value.unwrap(), row.is_kept().unwrap())).collect();
        assert_eq!(found, [(1.1, true), (0.8, false), (0.0, true)]);
        assert!(draw(&round).unwrap().contains('A'));
    }
}
