//! The requests of a connection that wait for a reply.

use std::time::Duration;

use bertha::chunnels::retry::Requests;
use bertha_kvstore::{Body, Key, Message, Page, Reason};

pub use bertha::chunnels::retry::Limits;

use crate::workload::{Kind, Request};

/// The end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The operation was completed.
    Completed,
    /// The store has no such record.
    Missing,
    /// The store refused the operation.
    Refused(Reason),
    /// No attempt was answered in time, or the connection ended first.
    GivenUp,
}

/// An ended operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Kind under which the operation is counted.
    pub kind: Kind,
    /// Number of the record that the operation inserts.
    pub inserts: Option<u64>,
    /// Time from the intended send time to the last reply, or to giving up.
    pub latency: Duration,
    /// Outcome of the operation.
    pub outcome: Outcome,
    /// Number of records that a scan has read.
    pub scanned: u64,
}

/// The consequence of a message from the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The message answers no waiting request: it is a second reply, or a reply to a request that was given
    /// up.
    Ignored,
    /// The next request of the operation, to be sent now.
    Continues(Message),
    /// The operation is over.
    Finished(Finished),
}

/// A machine that matches replies to requests, repeats lost requests, and bounds requests in flight, all by
/// the machine of the [`Retry`](bertha::chunnels::Retry) Chunnel; and makes operations out of requests, some
/// out of several.
///
/// The machine does no I/O and reads no clock: `now` is the time since any fixed moment and never runs
/// backwards. An operation passed to [`Outstanding::on_send`] ends in exactly one [`Finished`].
#[derive(Debug)]
pub struct Outstanding {
    requests: Requests<Flight>,
    next_id: u64,
    ignored: u64,
}

/// A request, and the operation that it belongs to.
#[derive(Debug)]
struct Flight {
    kind: Kind,
    inserts: Option<u64>,
    key: Key,
    body: Body,
    then: Option<Body>,
    intended: Duration,
    scanned: u64,
}

impl Outstanding {
    /// Creates the machine with nothing in flight. Requests are numbered from `first_id`, which must be above
    /// all numbers that were used on the connection before, so that late replies to earlier requests are told
    /// apart.
    pub fn new(limits: Limits, first_id: u64) -> Self {
        Self { requests: Requests::new(limits), next_id: first_id, ignored: 0 }
    }

    /// Returns the number of operations that may begin now.
    pub fn room(&self) -> usize {
        self.requests.room()
    }

    /// Begins an operation with the intended send time `intended`, and returns its first message, to be sent
    /// now. The caller has checked [`Outstanding::room`].
    pub fn on_send(&mut self, request: Request, intended: Duration, now: Duration) -> Message {
        let Request { kind, inserts, key, first, then } = request;
        self.launch(Flight { kind, inserts, key, body: first, then, intended, scanned: 0 }, now)
    }

    /// Takes a message from the store.
    pub fn on_reply(&mut self, reply: Message, now: Duration) -> Progress {
        let waiting = self.requests.get(reply.id);
        let is_answer = waiting.is_some_and(|flight| flight.key == reply.key && answers(flight, &reply.body));
        let answered = if is_answer { self.requests.on_reply(reply.id, now) } else { None };
        let Some(mut flight) = answered else {
            self.ignored += 1;
            return Progress::Ignored;
        };
        let outcome = match reply.body {
            Body::Missing => Outcome::Missing,
            Body::Failed(reason) => Outcome::Refused(reason),
            Body::Records(page) => {
                flight.turn(*page);
                Outcome::Completed
            }
            _ => Outcome::Completed,
        };
        match flight.then.take() {
            // The next request takes the place in the window that its predecessor has left.
            Some(body) if outcome == Outcome::Completed => {
                Progress::Continues(self.launch(Flight { body, ..flight }, now))
            }
            _ => Progress::Finished(flight.finish(outcome, now)),
        }
    }

    /// Finds the requests that have timed out by `now`. Adds to `send` the requests that have to be sent
    /// again and to `finished` the requests that are given up. The caller calls it after replies were taken,
    /// and at [`Outstanding::next_deadline`].
    pub fn poll_retransmit(&mut self, now: Duration, send: &mut Vec<Message>, finished: &mut Vec<Finished>) {
        self.requests.poll(
            now,
            |id, flight| send.push(flight.message(id)),
            |_, flight| finished.push(flight.finish(Outcome::GivenUp, now)),
        );
    }

    /// Returns the latest time at which [`Outstanding::poll_retransmit`] has something to do, if no reply
    /// comes before.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.requests.next_deadline()
    }

    /// Gives up everything in flight, because the connection has ended.
    pub fn abandon(&mut self, now: Duration, finished: &mut Vec<Finished>) {
        finished.extend(self.requests.abandon().map(|flight| flight.finish(Outcome::GivenUp, now)));
    }

    /// Returns the number of operations in flight.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Returns true if nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Returns the number of messages that were sent again so far.
    pub fn retransmissions(&self) -> u64 {
        self.requests.resent()
    }

    /// Returns the number of messages that answered nothing so far.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Returns the number that the next request gets.
    pub fn next_id(&self) -> u64 {
        self.next_id
    }

    fn launch(&mut self, flight: Flight, now: Duration) -> Message {
        let id = self.next_id;
        self.next_id += 1;
        let message = flight.message(id);
        self.requests.on_send(id, flight, now);
        message
    }
}

impl Flight {
    fn message(&self, id: u64) -> Message {
        Message { key: self.key.clone(), id, body: self.body.clone() }
    }

    /// Takes the page of a scan, and prepares the request for the next page if the scan has not ended.
    fn turn(&mut self, page: Page) {
        let Body::Scan { count, room } = self.body else { return };
        let read = page.records.len();
        self.scanned += read as u64;
        let left = count.saturating_sub(u32::try_from(read).unwrap_or(u32::MAX));
        if let Some(next) = page.next.filter(|_| left > 0) {
            self.key = next;
            self.then = Some(Body::Scan { count: left, room });
        }
    }

    fn finish(self, outcome: Outcome, now: Duration) -> Finished {
        let latency = now.saturating_sub(self.intended);
        Finished { kind: self.kind, inserts: self.inserts, latency, outcome, scanned: self.scanned }
    }
}

/// Returns true if a store may answer the request with `reply`.
fn answers(flight: &Flight, reply: &Body) -> bool {
    let request = &flight.body;
    match reply {
        Body::Found(_) => matches!(request, Body::Get),
        Body::Stored => !matches!(request, Body::Get | Body::Scan { .. }),
        Body::Missing => !matches!(request, Body::Put(_) | Body::Scan { .. }),
        // A page that goes on where it began would make a scan without an end.
        Body::Records(page) => {
            matches!(request, Body::Scan { count, .. } if page.records.len() <= *count as usize)
                && page.next.as_ref().is_none_or(|next| *next > flight.key)
        }
        Body::Failed(_) => true,
        Body::Get | Body::Put(_) | Body::Update { .. } | Body::Delete | Body::Scan { .. } => false,
    }
}

#[cfg(test)]
mod tests;
