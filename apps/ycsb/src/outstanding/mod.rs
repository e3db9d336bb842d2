//! The requests of one connection that wait for a reply.

mod rtt;
mod window;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use bertha_kvstore::{Body, Key, Message, Reason};

pub use rtt::RttEstimator;
pub use window::Window;

use crate::workload::{Kind, Request};

/// The bounds of requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most operations in flight; the congestion window stays within it.
    pub window: usize,
    /// The sendings of a request before it is given up; at least one.
    pub attempts: u32,
    /// How long to wait for a reply before there is a sample of the round-trip time.
    pub initial_timeout: Duration,
    /// The least time to wait for a reply beyond the smoothed round trip.
    pub min_timeout: Duration,
    /// The longest time to wait for a reply, however often the time-out was doubled.
    pub max_timeout: Duration,
}

impl Default for Limits {
    /// 256 operations; 10 attempts; time-outs of 100 ms at first, 10 ms beyond the round trip at least, and 1 s at most.
    fn default() -> Self {
        Self {
            window: 256,
            attempts: 10,
            initial_timeout: Duration::from_millis(100),
            min_timeout: Duration::from_millis(10),
            max_timeout: Duration::from_secs(1),
        }
    }
}

/// The end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As asked.
    Completed,
    /// The store has no such record.
    Missing,
    /// The store refused.
    Refused(Reason),
    /// No attempt was answered in time, or the connection ended first.
    GivenUp,
}

/// An operation that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The kind that it counts as.
    pub kind: Kind,
    /// The number of the record that it was to insert.
    pub inserts: Option<u64>,
    /// From the intended send time to the last reply, or to giving up.
    pub latency: Duration,
    /// Its end.
    pub outcome: Outcome,
}

/// The consequence of a message from the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It answers nothing that waits: a second reply, or one to a request that was given up.
    Ignored,
    /// The next request of the same operation, to be sent now.
    Continues(Message),
    /// The operation is over.
    Finished(Finished),
}

/// Matches replies to requests, repeats what was lost, and says how much more may be sent.
///
/// Does no I/O and reads no clock: `now` is the time since any fixed moment and never runs backwards. An operation
/// handed to [`Outstanding::on_send`] ends in exactly one [`Finished`].
///
/// A request that timed out is taken to have left the network. It waits for a place in the window like new ones, and goes
/// before them; so an overloaded store sees fewer requests, not the same ones again.
#[derive(Debug)]
pub struct Outstanding {
    limits: Limits,
    rtt: RttEstimator,
    window: Window,
    flights: HashMap<u64, Flight>,
    /// The flights that are in the network, by their time-outs.
    deadlines: BTreeSet<(Duration, u64)>,
    /// The flights that are to be sent again, oldest first; may name some that a late reply has ended.
    lost: VecDeque<u64>,
    next_id: u64,
    retransmissions: u64,
    ignored: u64,
    /// The time of the last sample of the round trip. The next one is of a request that is sent later.
    sampled: Duration,
}

#[derive(Debug)]
struct Flight {
    kind: Kind,
    inserts: Option<u64>,
    key: Key,
    body: Body,
    then: Option<Body>,
    intended: Duration,
    sent: Duration,
    attempts: u32,
    /// `None` while in `lost`.
    deadline: Option<Duration>,
}

impl Outstanding {
    /// Nothing in flight. Requests are numbered from `first_id`, which is to be above all numbers that were used
    /// on the connection before, so that late replies to those are told apart.
    pub fn new(limits: Limits, first_id: u64) -> Self {
        Self {
            limits,
            rtt: RttEstimator::new(limits.initial_timeout, limits.min_timeout, limits.max_timeout),
            window: Window::new(limits.window),
            flights: HashMap::new(),
            deadlines: BTreeSet::new(),
            lost: VecDeque::new(),
            next_id: first_id,
            retransmissions: 0,
            ignored: 0,
            sampled: Duration::ZERO,
        }
    }

    /// The number of operations that may begin now.
    pub fn room(&self) -> usize {
        if !self.lost.is_empty() {
            return 0;
        }
        let congestion = self.window.size().saturating_sub(self.deadlines.len());
        congestion.min(self.limits.window.max(1).saturating_sub(self.flights.len()))
    }

    /// Begins an operation that should have been sent at `intended`, and returns its first message, to be sent
    /// now. The caller has asked for [`Outstanding::room`].
    pub fn on_send(&mut self, request: Request, intended: Duration, now: Duration) -> Message {
        let Request { kind, inserts, key, first, then } = request;
        let flight = Flight {
            kind,
            inserts,
            key,
            body: first,
            then,
            intended,
            sent: now,
            attempts: 0,
            deadline: None,
        };
        self.launch(flight, now)
    }

    /// Takes a message from the store.
    pub fn on_reply(&mut self, reply: Message, now: Duration) -> Progress {
        let waiting = self.flights.get(&reply.id);
        if !waiting.is_some_and(|flight| flight.key == reply.key && answers(&flight.body, &reply.body)) {
            self.ignored += 1;
            return Progress::Ignored;
        }
        let Some(mut flight) = self.flights.remove(&reply.id) else { return Progress::Ignored };
        self.window.on_reply(self.deadlines.len());
        if let Some(deadline) = flight.deadline.take() {
            self.deadlines.remove(&(deadline, reply.id));
        }
        if flight.attempts == 1 && flight.sent >= self.sampled {
            self.rtt.sample(now.saturating_sub(flight.sent));
            self.sampled = now;
        }
        let outcome = match reply.body {
            Body::Missing => Outcome::Missing,
            Body::Failed(reason) => Outcome::Refused(reason),
            _ => Outcome::Completed,
        };
        match flight.then.take() {
            // It takes the place in the window that its predecessor has left.
            Some(body) if outcome == Outcome::Completed => {
                Progress::Continues(self.launch(Flight { body, attempts: 0, ..flight }, now))
            }
            _ => Progress::Finished(flight.finish(outcome, now)),
        }
    }

    /// Finds the requests that have timed out by `now`. Adds to `send` those that are to be sent again and to `finished` those
    /// that are given up. To be called after replies were taken in, and at [`Outstanding::next_deadline`].
    pub fn poll_retransmit(&mut self, now: Duration, send: &mut Vec<Message>, finished: &mut Vec<Finished>) {
        while let Some(&(deadline, id)) = self.deadlines.first() {
            if deadline > now {
                break;
            }
            self.deadlines.pop_first();
            let Some(flight) = self.flights.get_mut(&id) else { continue };
            flight.deadline = None;
            if self.window.on_loss(flight.sent, now) {
                self.rtt.back_off();
            }
            if flight.attempts < self.limits.attempts {
                self.lost.push_back(id);
            } else if let Some(flight) = self.flights.remove(&id) {
                finished.push(flight.finish(Outcome::GivenUp, now));
            }
        }
        while let Some(&id) = self.lost.front() {
            if self.flights.contains_key(&id) {
                if self.deadlines.len() >= self.window.size() {
                    break;
                }
                send.extend(self.transmit(id, now));
                self.retransmissions += 1;
            }
            self.lost.pop_front();
        }
    }

    /// When [`Outstanding::poll_retransmit`] has something to do at the latest, if no reply comes before.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Gives up everything in flight, for when the connection has ended.
    pub fn abandon(&mut self, now: Duration, finished: &mut Vec<Finished>) {
        self.deadlines.clear();
        self.lost.clear();
        finished.extend(self.flights.drain().map(|(_, flight)| flight.finish(Outcome::GivenUp, now)));
    }

    /// Operations in flight.
    pub fn len(&self) -> usize {
        self.flights.len()
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }

    /// The number of messages that were sent again so far.
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// The number of messages that answered nothing so far.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// The number that the next request gets.
    pub fn next_id(&self) -> u64 {
        self.next_id
    }

    fn launch(&mut self, flight: Flight, now: Duration) -> Message {
        let id = self.next_id;
        self.next_id += 1;
        let message = Message { key: flight.key.clone(), id, body: flight.body.clone() };
        self.flights.insert(id, flight);
        self.mark_sent(id, now);
        message
    }

    fn transmit(&mut self, id: u64, now: Duration) -> Option<Message> {
        self.mark_sent(id, now);
        let flight = self.flights.get(&id)?;
        Some(Message { key: flight.key.clone(), id, body: flight.body.clone() })
    }

    fn mark_sent(&mut self, id: u64, now: Duration) {
        if let Some(flight) = self.flights.get_mut(&id) {
            flight.attempts += 1;
            flight.sent = now;
            let deadline = now + self.rtt.timeout(flight.attempts);
            flight.deadline = Some(deadline);
            self.deadlines.insert((deadline, id));
        }
    }
}

impl Flight {
    fn finish(self, outcome: Outcome, now: Duration) -> Finished {
        let latency = now.saturating_sub(self.intended);
        Finished { kind: self.kind, inserts: self.inserts, latency, outcome }
    }
}

/// Whether a store may answer `request` with `reply`.
fn answers(request: &Body, reply: &Body) -> bool {
    match reply {
        Body::Found(_) => matches!(request, Body::Get),
        Body::Stored => !matches!(request, Body::Get),
        Body::Missing => !matches!(request, Body::Put(_)),
        Body::Failed(_) => true,
        Body::Get | Body::Put(_) | Body::Update { .. } | Body::Delete => false,
    }
}

#[cfg(test)]
mod tests;
