//! The connections at a Unix socket that have not yet said what they want.

use bertha_program::Crowd;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::time::sleep;

/// Time that a connection has in any case, so that those who come at once with something to say are not given up for each other.
const GRACE: Duration = Duration::from_millis(50);

/// The connections at a Unix socket that have not yet said what they want, by their users. Clones are the same.
///
/// The number of places is fixed. A newcomer has the place of the one that has waited longest, of the user with most of them: so those who say
/// nothing keep nobody out, and take no descriptors that others need.
#[derive(Debug, Clone)]
pub(crate) struct Lobby(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    waiting: Mutex<Crowd<One>>,
    /// Tells that a connection has left.
    left: Notify,
}

/// A connection that waits.
#[derive(Debug)]
struct One {
    user: u32,
    since: Instant,
    given_up: Arc<Notify>,
}

impl One {
    /// Returns the time until which it is not given up.
    fn stays_until(&self) -> Instant {
        self.since + GRACE
    }

    /// Tells the connection that it is given up. Returns its user.
    fn give_up(self) -> u32 {
        self.given_up.notify_one();
        self.user
    }
}

/// A connection in a lobby, which it leaves when this is dropped, at the latest.
#[derive(Debug)]
pub(crate) struct Visitor {
    lobby: Lobby,
    number: u64,
    given_up: Arc<Notify>,
}

impl Lobby {
    /// Makes room for so many connections.
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Inner { waiting: Mutex::new(Crowd::new(most)), left: Notify::new() }))
    }

    /// Waits until there is room, or a connection to give up that has had its time.
    pub(crate) async fn has_room(&self) {
        loop {
            let Some(left) = self.until_room(Instant::now()) else { return };
            tokio::select! {
                () = sleep(left) => {}
                () = self.0.left.notified() => {}
            }
        }
    }

    /// Returns the time that is left to the connection that is given up next, if there is no room without it.
    fn until_room(&self, now: Instant) -> Option<Duration> {
        let waiting = self.0.waiting.lock();
        let next = if waiting.is_full() { waiting.first()? } else { return None };
        next.stays_until().checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// Takes a connection of a user in. Returns the user whose connection was given up for it, if there was no room.
    pub(crate) fn enter(&self, user: u32) -> (Visitor, Option<u32>) {
        let given_up = Arc::new(Notify::new());
        let one = One { user, since: Instant::now(), given_up: Arc::clone(&given_up) };
        let (number, gone) = self.0.waiting.lock().add(user, one);
        (Visitor { lobby: self.clone(), number, given_up }, gone.map(One::give_up))
    }

    /// Gives the connection up that has waited longest, of the user with most, if it has had its time. Returns the user.
    pub(crate) fn give_up(&self, now: Instant) -> Option<u32> {
        let mut waiting = self.0.waiting.lock();
        if now < waiting.first()?.stays_until() {
            return None;
        }
        waiting.pop().map(One::give_up)
    }
}

impl Visitor {
    /// Leaves the lobby: the connection has said what it wants, and is not given up for a newcomer from now on.
    pub(crate) fn leave(&self) {
        let Inner { waiting, left } = &*self.lobby.0;
        if waiting.lock().remove(self.number).is_some() {
            left.notify_one();
        }
    }

    /// Waits until the connection is given up. Tells it once.
    pub(crate) async fn given_up(&self) {
        self.given_up.notified().await;
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    /// Returns the connections that were given up since the last look.
    fn given_up(visitors: &[Visitor]) -> Vec<usize> {
        let is_given_up = |at: &usize| visitors[*at].given_up().now_or_never().is_some();
        (0..visitors.len()).filter(is_given_up).collect()
    }

    #[test]
    fn a_newcomer_has_the_place_of_the_longest_silent_of_the_user_with_most() {
        let lobby = Lobby::new(4);
        let mut visitors: Vec<_> = [7, 5, 5, 6].map(|user| lobby.enter(user).0).into();
        assert!(given_up(&visitors).is_empty());
        let (newcomer, instead_of) = lobby.enter(8);
        visitors.push(newcomer);
        assert_eq!((instead_of, given_up(&visitors)), (Some(5), vec![1]));
        // All have one, and that of the newcomer's user counts as two.
        let (newcomer, instead_of) = lobby.enter(6);
        visitors.push(newcomer);
        assert_eq!((instead_of, given_up(&visitors)), (Some(6), vec![3]));
        let now = Instant::now();
        assert_eq!(lobby.give_up(now), None, "it has just come, and is about to speak");
        assert_eq!((lobby.give_up(now + GRACE), given_up(&visitors)), (Some(7), vec![0]));
    }

    #[tokio::test]
    async fn a_connection_has_its_time_and_one_that_leaves_makes_room_at_once() {
        let lobby = Lobby::new(2);
        let first = lobby.enter(5).0;
        assert!(lobby.has_room().now_or_never().is_some());
        let _second = lobby.enter(5).0;
        assert!(lobby.has_room().now_or_never().is_none());
        lobby.has_room().await;
        assert!(first.given_up().now_or_never().is_none(), "none is given up without a newcomer");
        let third = lobby.enter(5).0;
        drop(third);
        assert!(lobby.has_room().now_or_never().is_some());
    }

    #[test]
    fn one_that_has_said_what_it_wants_is_not_given_up_and_makes_room() {
        let lobby = Lobby::new(2);
        let visitors = [lobby.enter(5).0, lobby.enter(5).0];
        visitors[0].leave();
        visitors[0].leave();
        let (last, instead_of) = lobby.enter(6);
        assert_eq!(
            (instead_of, lobby.give_up(Instant::now() + GRACE), given_up(&visitors)),
            (None, Some(5), vec![1])
        );
        drop((last, visitors));
        assert!(lobby.0.waiting.lock().first().is_none(), "nothing is kept of those who have gone");
    }
}
