//! The room for calls, for which callers wait in turn.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tokio::sync::Semaphore;

/// The calls that may begin. The limit is the client's own, until the server tells a smaller one.
#[derive(Debug)]
pub(super) struct Room {
    places: Semaphore,
    limit: AtomicUsize,
    /// The places in use that are beyond a limit which was lowered meanwhile.
    excess: AtomicUsize,
    /// The callers that wait for a place.
    waiting: AtomicUsize,
}

/// A caller that waits, until the value is dropped.
struct WaitingCaller<'a>(&'a AtomicUsize);

impl Drop for WaitingCaller<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Room {
    pub(super) fn new(limit: usize) -> Self {
        let places = Semaphore::new(limit);
        let limit = AtomicUsize::new(limit);
        Self { places, limit, excess: AtomicUsize::new(0), waiting: AtomicUsize::new(0) }
    }

    /// Returns the number of places.
    pub(super) fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    /// Returns the number of callers that wait for a place.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// Takes a place if there is one for which nobody waits. Returns true also once the room is [closed](Self::close).
    #[inline]
    pub(super) fn try_take(&self) -> bool {
        match self.places.try_acquire() {
            Ok(place) => {
                place.forget();
                true
            }
            Err(_) => self.places.is_closed(),
        }
    }

    /// Takes a place, in turn. Cancellation-safe.
    pub(super) async fn take(&self) {
        self.waiting.fetch_add(1, Relaxed);
        let _waiting = WaitingCaller(&self.waiting);
        if let Ok(place) = self.places.acquire().await {
            place.forget();
        }
    }

    #[inline]
    pub(super) fn give_back(&self) {
        let is_excess = self.excess.load(Relaxed) > 0
            && self.excess.fetch_update(Relaxed, Relaxed, |excess| excess.checked_sub(1)).is_ok();
        if !is_excess {
            self.places.add_permits(1);
        }
    }

    /// Keeps to this many places from now on, at least one, if that is fewer than before.
    pub(super) fn lower(&self, limit: usize) {
        let limit = limit.max(1);
        let before = self.limit.fetch_min(limit, Relaxed);
        if let Some(fewer) = before.checked_sub(limit).filter(|fewer| *fewer > 0) {
            let unused = self.places.forget_permits(fewer);
            self.excess.fetch_add(fewer - unused, Relaxed);
        }
    }

    /// Lets all that wait go on: their calls fail since the connection has ended.
    pub(super) fn close(&self) {
        self.places.close();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn those_that_wait_go_on_in_turn() {
        let room = Room::new(1);
        assert!(room.try_take() && !room.try_take());
        let [mut first, mut second] = [room.take(), room.take()].map(Box::pin);
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        room.give_back();
        // Not by one that comes later.
        assert!(!room.try_take());
        assert!((&mut second).now_or_never().is_none());
        assert!((&mut first).now_or_never().is_some());
        room.give_back();
        assert!((&mut second).now_or_never().is_some());
    }

    #[test]
    fn a_lower_limit_holds_once_the_calls_beyond_it_have_ended() {
        let room = Room::new(4);
        assert!((0..3).all(|_| room.try_take()));
        room.lower(2);
        // A higher one is that of the server alone.
        room.lower(3);
        assert!(!room.try_take());
        room.give_back();
        assert!(!room.try_take());
        room.give_back();
        assert!(room.try_take() && !room.try_take());
        room.lower(0);
        room.give_back();
        room.give_back();
        assert!(room.try_take() && !room.try_take());
    }

    #[test]
    fn nobody_waits_for_a_connection_that_has_ended() {
        let room = Room::new(1);
        assert!(room.try_take());
        let mut waiting = Box::pin(room.take());
        assert!((&mut waiting).now_or_never().is_none());
        room.close();
        assert!(waiting.now_or_never().is_some() && room.try_take());
    }
}
