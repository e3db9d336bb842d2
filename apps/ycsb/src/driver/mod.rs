//! The engine that drives connections through the load phase and the run phase.

mod alarm;
mod connection;
mod phase;
mod port;

use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::sync::oneshot;

use bertha::Runtime;

use crate::generator::InsertSequence;
use crate::measure::Measurements;
use crate::outstanding::Outstanding;
use crate::parameters::Parameters;
use crate::schedule::{Pace, Schedule};
use crate::workload::{Load, Mixed, Operations};
use connection::{Connection, ConnectionState, Starts};
use phase::Phase;

pub use phase::{Counter, Plan};
pub use port::{Port, PortError};

/// A set of connections to the store, each driven by a task of its own.
///
/// Phases follow one another over these connections. Dropping the future of a phase aborts its tasks;
/// requests in flight are then not counted.
#[derive(Debug)]
pub struct Driver<P> {
    ports: Vec<Arc<P>>,
    next_ids: Vec<u64>,
    /// Number of phases so far, so that no phase repeats the random choices of another.
    phases: u64,
}

/// The results of a connection in a phase.
#[derive(Debug)]
pub struct Part {
    /// The measured operations.
    pub measurements: Measurements,
    /// Number of begun operations.
    pub issued: u64,
    /// Number of operations that were due in an open loop, and not begun before the phase closed.
    pub overdue: u64,
    /// Number of messages that were sent again.
    pub retransmissions: u64,
    /// Number of messages that answered nothing, most of them second replies.
    pub ignored: u64,
    /// The reason why the connection ended early.
    pub error: Option<PortError>,
    /// The last error that the connection has survived, if requests were given up.
    pub trouble: Option<String>,
    answered_while_open: u64,
    last_answer: Duration,
    next_id: u64,
}

impl Part {
    /// Returns the part of a task that ended without a result: it panicked, or the runtime has too many
    /// tasks.
    fn lost(next_id: u64) -> Self {
        Self {
            measurements: Measurements::default(),
            issued: 0,
            overdue: 0,
            retransmissions: 0,
            ignored: 0,
            error: Some(PortError::Failed("the task that drove it has ended".into())),
            trouble: None,
            answered_while_open: 0,
            last_answer: Duration::ZERO,
            next_id,
        }
    }
}

/// The results of all connections in a phase.
#[derive(Debug)]
pub struct Phased {
    /// The part of each connection, in order.
    pub parts: Vec<Part>,
    closed_at: Option<Duration>,
}

impl<P: Port> Driver<P> {
    /// Creates a driver of these connections.
    pub fn new(ports: Vec<P>) -> Self {
        let next_ids = vec![0; ports.len()];
        Self { ports: ports.into_iter().map(Arc::new).collect(), next_ids, phases: 0 }
    }

    /// Writes every record once, as fast as the windows allow, and without a time limit.
    pub async fn load(&mut self, parameters: &Parameters, plan: &Plan, counter: &Counter) -> Phased {
        let parts = self.ports.len() as u64;
        let operations = (0..parts).map(|part| Load::part(parameters, part, parts)).collect();
        let pace = Pace::Closed { in_flight: plan.limits.window };
        let plan = Plan { pace, max_time: None, stop_together: false, ..*plan };
        self.drive(operations, &plan, counter).await
    }

    /// Carries out the operations of the workload. `sequence` numbers new records, and continues from a run
    /// to the next.
    pub async fn run(
        &mut self,
        parameters: &Parameters,
        sequence: &Arc<InsertSequence>,
        plan: &Plan,
        counter: &Counter,
    ) -> Phased {
        let parts = self.ports.len() as u64;
        let operations =
            (0..parts).map(|part| Mixed::part(parameters, part, parts, Arc::clone(sequence))).collect();
        self.drive(operations, plan, counter).await
    }

    /// Closes all connections.
    pub async fn close(self) {
        for port in &self.ports {
            port.close().await;
        }
    }

    async fn drive<O: Operations + 'static>(
        &mut self,
        all: Vec<O>,
        plan: &Plan,
        counter: &Counter,
    ) -> Phased {
        let phase = Arc::new(Phase::new(plan.max_time));
        // Dropping a task ends it.
        let mut tasks = Vec::new();
        let mut ends = Vec::new();
        for (part, (port, operations)) in self.ports.iter().zip(all).enumerate() {
            let mut rng = StdRng::seed_from_u64(plan.seed ^ (self.phases << 32) ^ ((part as u64) << 48));
            let starts = match plan.pace {
                Pace::Closed { in_flight } => Starts::Closed(in_flight),
                Pace::Open { rate, arrivals } => {
                    Starts::Open(Schedule::part(rate, arrivals, part, self.ports.len(), &mut rng))
                }
            };
            let connection = Connection {
                port: Arc::clone(port),
                operations,
                outstanding: Outstanding::new(plan.limits, self.next_ids[part]),
                starts,
                rng,
                phase: Arc::clone(&phase),
                counter: counter.clone(),
                stop_together: plan.stop_together,
                state: ConnectionState::default(),
            };
            let (tell, told) = oneshot::channel();
            tasks.push(port.runtime().spawn(async move {
                // A phase that was dropped has no receiver.
                let _ = tell.send(connection.run().await);
            }));
            ends.push(told);
        }
        self.phases += 1;
        let mut parts = Vec::new();
        for (end, next_id) in ends.into_iter().zip(&self.next_ids) {
            parts.push(end.await.unwrap_or_else(|_| Part::lost(*next_id)));
        }
        self.next_ids = parts.iter().map(|part| part.next_id).collect();
        Phased { parts, closed_at: phase.closed_at() }
    }
}

impl Phased {
    /// Returns the operations of all connections.
    pub fn measurements(&self) -> Measurements {
        let mut all = Measurements::default();
        self.parts.iter().for_each(|part| all.merge(&part.measurements));
        all
    }

    /// Returns the duration of the phase: until it closed for all connections at once, or otherwise until the
    /// last answer. Time that was spent waiting for requests that are given up in the end does not count.
    pub fn elapsed(&self) -> Duration {
        let last_answer = self.parts.iter().map(|part| part.last_answer).max();
        self.closed_at.or(last_answer).unwrap_or_default()
    }

    /// Returns the number of operations answered per second of [`Phased::elapsed`]; zero if there were none.
    pub fn throughput(&self) -> f64 {
        let answered: u64 = match self.closed_at {
            Some(_) => self.parts.iter().map(|part| part.answered_while_open).sum(),
            None => self.measurements().total().answered(),
        };
        let seconds = self.elapsed().as_secs_f64();
        if seconds > 0.0 { answered as f64 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests;
