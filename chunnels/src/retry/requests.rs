//! Requests that wait for a reply, without I/O.

use super::timeout::RequestTimeout;
use super::window::Window;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

/// The bounds of requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of requests in flight; the congestion window stays within it.
    pub window: usize,
    /// Number of times that a request is sent before it is given up; at least one.
    pub attempts: u32,
    /// Time to wait for a reply before there is a sample of the round-trip time.
    pub initial_timeout: Duration,
    /// Minimum time to wait for a reply beyond the smoothed round trip.
    pub min_timeout: Duration,
    /// Maximum time to wait for a reply, however often the time-out was doubled.
    pub max_timeout: Duration,
}

impl Default for Limits {
    /// Returns 256 requests; 10 attempts; time-outs of 100 ms at first, 10 ms beyond the round trip at least,
    /// and 1 s at most.
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

/// Requests in flight, each with a `T` that its owner needs to send it again.
///
/// It does no I/O and reads no clock: `now` is the time since any fixed moment and never runs backwards. Each
/// request ends in exactly one of [`on_reply`](Self::on_reply), [`poll`](Self::poll) and
/// [`abandon`](Self::abandon).
///
/// A request that timed out is taken to have left the network. It waits for a place in the window like new
/// requests, and goes before them; so an overloaded server receives fewer requests, not the same requests
/// again.
#[derive(Debug)]
pub struct Requests<T> {
    limits: Limits,
    timeout: RequestTimeout,
    window: Window,
    in_flight: HashMap<u64, InFlight<T>>,
    /// The requests that are in the network, by their time-outs.
    deadlines: BTreeSet<(Duration, u64)>,
    /// The requests that are to be sent again, oldest first; some ids may belong to requests that a late
    /// reply has ended.
    lost: VecDeque<u64>,
    resent: u64,
    given_up: u64,
    /// The time of the last sample of the round trip. The next sample comes from a request that is sent
    /// later.
    sampled: Duration,
}

#[derive(Debug)]
struct InFlight<T> {
    request: T,
    sent: Duration,
    attempts: u32,
    /// The time-out; `None` while the request is in `lost`.
    deadline: Option<Duration>,
}

impl<T> Requests<T> {
    /// Makes an empty set of requests.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            timeout: RequestTimeout::new(limits.initial_timeout, limits.min_timeout, limits.max_timeout),
            window: Window::new(limits.window),
            in_flight: HashMap::new(),
            deadlines: BTreeSet::new(),
            lost: VecDeque::new(),
            resent: 0,
            given_up: 0,
            sampled: Duration::ZERO,
        }
    }

    /// Returns the number of requests that may be sent now.
    pub fn room(&self) -> usize {
        if !self.lost.is_empty() {
            return 0;
        }
        let congestion = self.window.size().saturating_sub(self.deadlines.len());
        congestion.min(self.limits.window.max(1).saturating_sub(self.in_flight.len()))
    }

    /// Records that a request is sent. No other request in flight may have its id; the caller has checked
    /// [`room`](Self::room).
    pub fn on_send(&mut self, id: u64, request: T, now: Duration) {
        self.in_flight.insert(id, InFlight { request, sent: now, attempts: 0, deadline: None });
        self.mark_sent(id, now);
    }

    /// Returns the request in flight with this id.
    pub fn get(&self, id: u64) -> Option<&T> {
        self.in_flight.get(&id).map(|waiting| &waiting.request)
    }

    /// Records a reply to this id. Returns the request that the reply ends; `None` for a second reply, or a
    /// stray reply.
    pub fn on_reply(&mut self, id: u64, now: Duration) -> Option<T> {
        let in_network = self.deadlines.len();
        let answered = self.remove(id)?;
        self.window.on_reply(in_network);
        // By Karn's rule, only requests that were sent once are sampled, and once per round trip.
        if answered.attempts == 1 && answered.sent >= self.sampled {
            self.timeout.sample(now.saturating_sub(answered.sent));
            self.sampled = now;
        }
        Some(answered.request)
    }

    /// Records that a request could not be sent. Returns the request, if it is in flight.
    pub fn forget(&mut self, id: u64) -> Option<T> {
        self.remove(id).map(|forgotten| forgotten.request)
    }

    /// Finds the requests that have timed out by `now`: calls `send` for each request that is to be sent
    /// again, and `give_up` for each request that was sent often enough. It has to be called after replies
    /// were recorded, and at [`next_deadline`](Self::next_deadline).
    pub fn poll(&mut self, now: Duration, mut send: impl FnMut(u64, &T), mut give_up: impl FnMut(u64, T)) {
        while let Some(&(deadline, id)) = self.deadlines.first() {
            if deadline > now {
                break;
            }
            self.deadlines.pop_first();
            let Some(late) = self.in_flight.get_mut(&id) else { continue };
            late.deadline = None;
            if self.window.on_loss(late.sent, now) {
                self.timeout.back_off();
            }
            if late.attempts < self.limits.attempts {
                self.lost.push_back(id);
            } else if let Some(late) = self.in_flight.remove(&id) {
                self.given_up += 1;
                give_up(id, late.request);
            }
        }
        while let Some(&id) = self.lost.front() {
            if self.in_flight.contains_key(&id) {
                if self.deadlines.len() >= self.window.size() {
                    break;
                }
                self.mark_sent(id, now);
                self.resent += 1;
                if let Some(again) = self.in_flight.get(&id) {
                    send(id, &again.request);
                }
            }
            self.lost.pop_front();
        }
    }

    /// Returns the time at which [`poll`](Self::poll) has to be called at the latest, if no reply arrives
    /// before.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.deadlines.first().map(|(deadline, _)| *deadline)
    }

    /// Gives up all requests in flight, for when the connection has ended.
    pub fn abandon(&mut self) -> impl Iterator<Item = T> {
        self.deadlines.clear();
        self.lost.clear();
        self.in_flight.drain().map(|(_, abandoned)| abandoned.request)
    }

    /// Returns the number of requests in flight.
    pub fn len(&self) -> usize {
        self.in_flight.len()
    }

    /// Returns true if no request is in flight.
    pub fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Returns the number of requests that were sent again so far.
    pub fn resent(&self) -> u64 {
        self.resent
    }

    /// Returns the number of requests that were given up so far, since they were sent often enough.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Returns the number of requests that may be in the network at once.
    pub fn window(&self) -> usize {
        self.window.size()
    }

    /// Returns the smoothed round-trip time, if there has been a sample.
    pub fn round_trip(&self) -> Option<Duration> {
        self.timeout.smoothed()
    }

    fn remove(&mut self, id: u64) -> Option<InFlight<T>> {
        let mut removed = self.in_flight.remove(&id)?;
        if let Some(deadline) = removed.deadline.take() {
            self.deadlines.remove(&(deadline, id));
        }
        Some(removed)
    }

    fn mark_sent(&mut self, id: u64, now: Duration) {
        if let Some(sent) = self.in_flight.get_mut(&id) {
            sent.attempts += 1;
            sent.sent = now;
            let deadline = now + self.timeout.of_attempt(sent.attempts);
            sent.deadline = Some(deadline);
            self.deadlines.insert((deadline, id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    proptest! {
        #[test]
        fn the_network_holds_no_more_than_the_window_and_every_request_ends(
            lost in proptest::collection::vec(any::<bool>(), 1..40),
            count in 1_u64..60,
            attempts in 1_u32..6,
            window in 1_usize..20,
        ) {
            let mut requests = Requests::new(Limits { attempts, window, ..Limits::default() });
            let mut lost = lost.into_iter().cycle();
            let (mut now, mut next, mut ended) = (Duration::ZERO, 0, 0);
            let mut arriving: BTreeSet<(Duration, u64)> = BTreeSet::new();
            while ended < count {
                let mut sent = Vec::new();
                requests.poll(now, |id, ()| sent.push(id), |_, ()| ended += 1);
                while next < count && requests.room() > 0 {
                    requests.on_send(next, (), now);
                    sent.push(next);
                    next += 1;
                }
                prop_assert!(requests.len() <= window);
                prop_assert!(requests.deadlines.len() <= requests.window().max(window));
                for id in sent {
                    if lost.next() == Some(false) {
                        arriving.insert((now + 20 * MS, id));
                    }
                }
                let reply = arriving.first().copied();
                match (requests.next_deadline(), reply) {
                    (Some(deadline), reply) if reply.is_none_or(|(at, _)| deadline < at) => now = now.max(deadline),
                    (_, Some((at, id))) => {
                        arriving.pop_first();
                        now = now.max(at);
                        ended += u64::from(requests.on_reply(id, now).is_some());
                    }
                    (Some(deadline), None) => now = now.max(deadline),
                    (None, None) => prop_assert!(requests.is_empty()),
                }
            }
            prop_assert!(requests.is_empty());
        }
    }

    #[test]
    fn a_forgotten_request_is_not_sent_again() {
        let mut requests = Requests::new(Limits::default());
        requests.on_send(1, 'a', MS);
        assert_eq!(requests.get(1), Some(&'a'));
        assert_eq!((requests.forget(1), requests.forget(1)), (Some('a'), None));
        assert_eq!((requests.next_deadline(), requests.on_reply(1, 2 * MS)), (None, None));
        assert!(requests.is_empty());
    }
}
