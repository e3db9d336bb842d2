//! The part of a connection in a phase.

use std::sync::Arc;
use std::time::Duration;

use bertha_kvstore::Message;
use rand::rngs::StdRng;

use super::alarm::Alarm;
use super::phase::{Counter, Phase};
use super::{Part, Port, PortError};
use crate::measure::Measurements;
use crate::outstanding::{Finished, Outcome, Outstanding, Progress};
use crate::schedule::Schedule;
use crate::workload::{Operations, Request};

/// Largest number of messages that are taken from the port at once.
const BURST: usize = 64;

/// Shortest time between two bursts that are sent because operations have fallen due. Due operations also
/// leave with each burst of replies, so this only bounds how often an otherwise idle connection wakes up.
const SLACK: Duration = Duration::from_micros(50);

/// Delay of the timer while nothing is due: a long time, since a timer has to be set to some time.
const IDLE: Duration = Duration::from_secs(3600);

/// The rule by which the operations of a connection begin.
pub(super) enum Starts {
    /// Operations begin when fewer than this number are in flight.
    Closed(usize),
    /// Operations begin by this schedule.
    Open(Schedule),
}

/// The driver of a port through a phase.
pub(super) struct Connection<P, O> {
    pub(super) port: Arc<P>,
    pub(super) operations: O,
    pub(super) outstanding: Outstanding,
    pub(super) starts: Starts,
    pub(super) rng: StdRng,
    pub(super) phase: Arc<Phase>,
    pub(super) counter: Counter,
    pub(super) stop_together: bool,
    pub(super) state: ConnectionState,
}

/// The progress of a connection.
#[derive(Default)]
pub(super) struct ConnectionState {
    issued: u64,
    answered_while_open: u64,
    last_answer: Duration,
    inbox: Vec<Message>,
    outbox: Vec<Message>,
    ended: Vec<Finished>,
    measurements: Measurements,
}

impl<P: Port, O: Operations> Connection<P, O> {
    /// Runs until all operations have begun and ended, or until the connection fails; then operations in
    /// flight count as given up.
    pub(super) async fn run(mut self) -> Part {
        let error = self.drive().await.err();
        let now = self.phase.now();
        let overdue = self.overdue(now);
        self.outstanding.abandon(now, &mut self.state.ended);
        self.account();
        // A failed connection must not keep the others waiting for its last request.
        if self.stop_together {
            self.phase.stop();
        }
        let has_given_up = self.state.measurements.total().given_up > 0;
        Part {
            trouble: self.port.trouble().filter(|_| has_given_up),
            measurements: self.state.measurements,
            issued: self.state.issued,
            overdue,
            retransmissions: self.outstanding.retransmissions(),
            ignored: self.outstanding.ignored(),
            next_id: self.outstanding.next_id(),
            answered_while_open: self.state.answered_while_open,
            last_answer: self.state.last_answer,
            error,
        }
    }

    async fn drive(&mut self) -> Result<(), PortError> {
        let mut alarm = Alarm::new(self.port.runtime().clone());
        loop {
            let now = self.phase.now();
            // A full burst means that more replies are likely waiting, some of them perhaps to requests that look
            // overdue only because this task was late.
            let drained = self.state.inbox.len() < BURST;
            self.take_in(now);
            if drained {
                self.outstanding.poll_retransmit(now, &mut self.state.outbox, &mut self.state.ended);
            }
            self.begin(now);
            self.account();
            self.flush().await?;
            if self.is_over(self.phase.now()) {
                return Ok(());
            }
            let wait = self.wait(self.phase.now());
            let idle = self.exhausted() || !self.phase.is_open(now);
            tokio::select! {
                biased;
                received = self.port.recv_batch(&mut self.state.inbox, BURST) => { received?; }
                () = self.phase.stopped(), if !idle => {}
                () = alarm.sleep(wait) => {}
            }
        }
    }

    /// Passes the messages in the inbox to the state machine.
    fn take_in(&mut self, now: Duration) {
        let ConnectionState { inbox, outbox, ended, .. } = &mut self.state;
        for message in inbox.drain(..) {
            match self.outstanding.on_reply(message, now) {
                Progress::Ignored => {}
                Progress::Continues(next) => outbox.push(next),
                Progress::Finished(finished) => ended.push(finished),
            }
        }
    }

    /// Begins the operations that are due and that the window has room for.
    fn begin(&mut self, now: Duration) {
        while !self.exhausted() && self.phase.is_open(now) && self.outstanding.room() > 0 {
            let intended = match &self.starts {
                Starts::Closed(in_flight) if self.outstanding.len() >= *in_flight => return,
                Starts::Closed(_) => now,
                Starts::Open(schedule) if schedule.next() > now => return,
                Starts::Open(schedule) => schedule.next(),
            };
            let Some(operation) = self.operations.next(&mut self.rng) else { return };
            if let Starts::Open(schedule) = &mut self.starts {
                schedule.advance(&mut self.rng);
            }
            self.state.issued += 1;
            let room = u32::try_from(self.port.room()).unwrap_or(u32::MAX);
            let request = Request::new(operation, room);
            self.state.outbox.push(self.outstanding.on_send(request, intended, now));
            if self.stop_together && self.exhausted() {
                self.phase.stop();
            }
        }
    }

    /// Returns true if the last operation has begun.
    fn exhausted(&self) -> bool {
        self.operations.remaining() == Some(0)
    }

    /// Records the operations that have ended.
    fn account(&mut self) {
        if self.state.ended.is_empty() {
            return;
        }
        let now = self.phase.now();
        let open = self.phase.is_open(now);
        self.counter.add(self.state.ended.len() as u64);
        for finished in self.state.ended.drain(..) {
            self.state.measurements.record(&finished);
            if finished.outcome != Outcome::GivenUp {
                self.state.last_answer = now;
                self.state.answered_while_open += u64::from(open);
            }
            if let Some(number) = finished.inserts {
                self.operations.settle(number);
            }
        }
    }

    /// Sends the outbox, and takes replies meanwhile: a store that waits until its replies are read must not
    /// wait for a client that waits until its requests are read.
    async fn flush(&mut self) -> Result<(), PortError> {
        while !self.state.outbox.is_empty() {
            let mut burst = std::mem::take(&mut self.state.outbox);
            let port = Arc::clone(&self.port);
            let mut sending = std::pin::pin!(port.send_batch(&mut burst));
            loop {
                tokio::select! {
                    biased;
                    sent = &mut sending => { sent?; break; }
                    received = port.recv_batch(&mut self.state.inbox, BURST) => {
                        received?;
                        self.take_in(self.phase.now());
                        self.account();
                    }
                }
            }
        }
        Ok(())
    }

    fn is_over(&self, now: Duration) -> bool {
        self.outstanding.is_empty() && (self.exhausted() || !self.phase.is_open(now))
    }

    /// Returns the time until there is something to do, if no reply comes.
    fn wait(&self, now: Duration) -> Duration {
        let start = match &self.starts {
            Starts::Open(schedule) if self.begins_more(now) => Some(schedule.next().max(now + SLACK)),
            _ => None,
        };
        let next = [start, self.outstanding.next_deadline(), self.phase.end_after(now)];
        next.into_iter().flatten().min().map_or(IDLE, |at| at.saturating_sub(now))
    }

    fn begins_more(&self, now: Duration) -> bool {
        !self.exhausted() && self.phase.is_open(now) && self.outstanding.room() > 0
    }

    /// Returns the number of operations that had fallen due by the end but were never begun.
    fn overdue(&self, now: Duration) -> u64 {
        match &self.starts {
            Starts::Open(schedule) => {
                let due = schedule.due_by(self.phase.closed_at().unwrap_or(now));
                due.min(self.operations.remaining().unwrap_or(u64::MAX))
            }
            Starts::Closed(_) => 0,
        }
    }
}
