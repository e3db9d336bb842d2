//! A client that always has a fixed number of requests in flight, without I/O.

use crate::harness::Recorder;
use crate::{Error, ErrorKind};
use bertha_kvstore::{Body, Message};
use std::time::{Duration, Instant};

/// Number of consecutive times that everything in flight is sent again; then the server counts as gone.
const ATTEMPTS: u32 = 25;

/// The requests in flight.
#[derive(Debug)]
pub(crate) struct ClosedLoop {
    /// The slots. The request in slot `s` has an id that is `s` modulo the number of slots.
    slots: Vec<Slot>,
    requests: u64,
    issued: u64,
    completed: u64,
    completed_before: u64,
    silent: u32,
    resent: u64,
    timeout: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    id: u64,
    position: u64,
    sent: Instant,
    waiting: bool,
}

/// A request to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Number of the request.
    pub(crate) id: u64,
    /// Position of the request in the script.
    pub(crate) position: u64,
}

impl ClosedLoop {
    /// Creates a loop with this number of requests in flight, at least one. After `timeout` without a single
    /// reply, all of them count as lost.
    pub(crate) fn new(outstanding: usize, timeout: Duration) -> Self {
        let sent = Instant::now();
        let slots = (0..outstanding.max(1) as u64).map(|id| Slot { id, position: 0, sent, waiting: false });
        let slots = slots.collect();
        Self {
            slots,
            requests: 0,
            issued: 0,
            completed: 0,
            completed_before: 0,
            silent: 0,
            resent: 0,
            timeout,
        }
    }

    /// Begins a run of this number of requests. Earlier requests in flight are forgotten, and late replies to
    /// them ignored.
    pub(crate) fn begin(&mut self, requests: u64) {
        (self.requests, self.issued, self.completed) = (requests, 0, 0);
        (self.completed_before, self.silent) = (0, 0);
        self.slots.iter_mut().for_each(|slot| slot.waiting = false);
    }

    /// Returns the next of the requests with which the run begins; `None` once all slots are taken.
    pub(crate) fn fill(&mut self, now: Instant) -> Option<Due> {
        let slot = usize::try_from(self.issued).ok().filter(|slot| *slot < self.slots.len())?;
        self.renew(slot, now)
    }

    /// Takes a reply and records its latency. Returns the request that takes its place, if there is one.
    ///
    /// # Errors
    /// [`ErrorKind::Codec`] if the store refused the request.
    #[inline]
    pub(crate) fn reply(
        &mut self,
        reply: &Message,
        now: Instant,
        latency: &mut Recorder,
    ) -> Result<Option<Due>, Error> {
        let number = (reply.id % self.slots.len() as u64) as usize;
        let slot = &self.slots[number];
        if !slot.waiting || slot.id != reply.id {
            return Ok(None);
        }
        if !matches!(reply.body, Body::Found(_) | Body::Stored) {
            let refusal = format!("the store answered {:?} for key {}", reply.body, reply.key);
            return Err(Error::new(ErrorKind::Codec, refusal));
        }
        latency.record(now - slot.sent);
        self.completed += 1;
        Ok(self.renew(number, now))
    }

    /// Returns true if every request was answered.
    pub(crate) fn is_over(&self) -> bool {
        self.completed >= self.requests
    }

    /// Returns the time after which to ask for [lost](Self::lost) requests.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Records that the [time-out](Self::timeout) has passed. Returns the requests that have to be sent
    /// again: none, if replies came meanwhile.
    ///
    /// # Errors
    /// [`ErrorKind::Stalled`] if no reply has come for too long.
    pub(crate) fn lost(&mut self) -> Result<impl Iterator<Item = Due>, Error> {
        self.silent = if self.completed == self.completed_before { self.silent + 1 } else { 0 };
        self.completed_before = self.completed;
        if self.silent == ATTEMPTS {
            return Err(Error::new(ErrorKind::Stalled, "the key-value store stopped answering"));
        }
        let Self { slots, silent, resent, .. } = self;
        let waiting = slots.iter().filter(|slot| *silent > 0 && slot.waiting);
        Ok(waiting.inspect(|_| *resent += 1).map(|slot| Due { id: slot.id, position: slot.position }))
    }

    /// Returns the number of requests that were sent again.
    pub(crate) fn resent(&self) -> u64 {
        self.resent
    }

    /// Uses a slot for the next request, under the slot's next number.
    #[inline]
    fn renew(&mut self, number: usize, now: Instant) -> Option<Due> {
        let step = self.slots.len() as u64;
        let slot = &mut self.slots[number];
        slot.waiting = self.issued < self.requests;
        if !slot.waiting {
            return None;
        }
        *slot = Slot { id: slot.id + step, position: self.issued, sent: now, waiting: true };
        self.issued += 1;
        Some(Due { id: slot.id, position: slot.position })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(200);

    fn reply(id: u64) -> Message {
        Message::get(id, "").reply(Body::Stored)
    }

    #[test]
    fn each_reply_makes_room_for_one_request_until_all_are_made() {
        let (mut window, mut latency, now) =
            (ClosedLoop::new(2, TIMEOUT), Recorder::new().unwrap(), Instant::now());
        window.begin(3);
        let first: Vec<_> = std::iter::from_fn(|| window.fill(now)).collect();
        assert_eq!(first, [Due { id: 2, position: 0 }, Due { id: 3, position: 1 }]);
        let mut take = |id| window.reply(&reply(id), now, &mut latency).unwrap();
        assert_eq!(take(3), Some(Due { id: 5, position: 2 }));
        assert_eq!(take(3), None, "a second reply changes nothing");
        assert_eq!(take(2), None, "there are no more requests");
        assert!(!window.is_over());
        assert_eq!(window.reply(&reply(5), now, &mut latency).unwrap(), None);
        assert!(window.is_over());
        assert_eq!(latency.count(), 3);
    }

    #[test]
    fn requests_are_sent_again_after_silence_alone() {
        let (mut window, mut latency, now) =
            (ClosedLoop::new(2, TIMEOUT), Recorder::new().unwrap(), Instant::now());
        window.begin(3);
        while window.fill(now).is_some() {}
        window.reply(&reply(2), now, &mut latency).unwrap();
        assert_eq!(window.lost().unwrap().count(), 0);
        assert_eq!(window.lost().unwrap().count(), 2);
        assert_eq!(window.resent(), 2);
        let last = (0..ATTEMPTS).find_map(|_| window.lost().err()).unwrap();
        assert_eq!(last.kind(), ErrorKind::Stalled);
    }

    #[test]
    fn a_refusal_is_an_error() {
        let (mut window, mut latency, now) =
            (ClosedLoop::new(1, TIMEOUT), Recorder::new().unwrap(), Instant::now());
        window.begin(1);
        window.fill(now);
        let refusal = Message { key: "k".into(), id: 1, body: Body::Missing };
        assert_eq!(window.reply(&refusal, now, &mut latency).unwrap_err().kind(), ErrorKind::Codec);
    }
}
