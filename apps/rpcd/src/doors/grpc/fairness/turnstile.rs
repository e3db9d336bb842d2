//! The turns of the connections of a peer, which share them.

use crate::parties::origin::Peer;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::task::{Context, Waker};
use tokio::task::yield_now;

/// Number of bytes of a turn. They hold some two hundred of the shortest calls, which take about a millisecond.
pub(crate) const TURN: usize = 8 << 10;

/// Number of connections that are woken for a turn. One may have nothing to read any more, or wait for its peer to read.
const WOKEN: usize = 4;

/// The turns of a peer: each time that all other tasks have run, its connections may read a turn together.
#[derive(Debug)]
pub(crate) struct Turnstile(Mutex<Turns>);

#[derive(Debug)]
struct Turns {
    /// Number of bytes that are left of the turn.
    left: usize,
    last: u64,
    /// The connections that wait for a turn, the longest first.
    waiting: BTreeMap<u64, Waker>,
    /// A task begins the next turn.
    is_tended: bool,
}

impl Default for Turnstile {
    fn default() -> Self {
        Self(Mutex::new(Turns { left: TURN, last: 0, waiting: BTreeMap::new(), is_tended: false }))
    }
}

impl Turnstile {
    /// Returns the number of bytes that a connection may read. For zero it waits with a ticket, and is woken.
    pub(crate) fn may_read(self: &Arc<Self>, ticket: &mut Option<u64>, context: &Context<'_>) -> usize {
        let mut turns = self.0.lock();
        if let Some(waker) = ticket.and_then(|ticket| turns.waiting.get_mut(&ticket)) {
            waker.clone_from(context.waker());
            return 0;
        }
        if turns.left == 0 {
            let next = turns.last + 1;
            // One that was woken, and came too late for the turn, has its place among the first.
            let number = *ticket.get_or_insert(next);
            turns.last = turns.last.max(number);
            turns.waiting.insert(number, context.waker().clone());
            if !std::mem::replace(&mut turns.is_tended, true) {
                tokio::spawn(Arc::clone(self).tend());
            }
        }
        turns.left
    }

    /// Notes that a connection has read so many bytes.
    pub(crate) fn has_read(&self, bytes: usize) {
        let mut turns = self.0.lock();
        turns.left = turns.left.saturating_sub(bytes);
    }

    /// Forgets a connection that waits.
    pub(crate) fn leave(&self, ticket: u64) {
        self.0.lock().waiting.remove(&ticket);
    }

    /// Begins turns, one for each time that others have run, until no connection waits.
    async fn tend(self: Arc<Self>) {
        loop {
            yield_now().await;
            let mut turns = self.0.lock();
            turns.left = TURN;
            for _ in 0..WOKEN {
                if let Some((_, waker)) = turns.waiting.pop_first() {
                    waker.wake();
                }
            }
            if turns.waiting.is_empty() {
                turns.is_tended = false;
                return;
            }
        }
    }
}

/// The turnstiles of all peers of a port.
#[derive(Debug, Default)]
pub(crate) struct Turnstiles(Mutex<HashMap<Option<Peer>, Weak<Turnstile>>>);

impl Turnstiles {
    /// Returns the turnstile of the peer at an address.
    pub(crate) fn of(&self, peer: SocketAddr) -> Arc<Turnstile> {
        let mut turnstiles = self.0.lock();
        turnstiles.retain(|_, turnstile| turnstile.strong_count() > 0);
        let slot = turnstiles.entry(Peer::of(&peer.into())).or_default();
        slot.upgrade().unwrap_or_else(|| {
            let turnstile = Arc::default();
            *slot = Arc::downgrade(&turnstile);
            turnstile
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_a_peer_have_one_turnstile_while_there_are_some() {
        let turnstiles = Turnstiles::default();
        let of = |peer: &str| turnstiles.of(peer.parse().unwrap());
        let one = of("127.0.0.1:1");
        assert!(Arc::ptr_eq(&one, &of("127.0.0.1:2")));
        assert!(!Arc::ptr_eq(&one, &of("127.0.0.2:1")));
        drop(one);
        let _other = of("127.0.0.3:1");
        assert_eq!(turnstiles.0.lock().len(), 1, "nothing is kept of those who have gone");
    }
}
