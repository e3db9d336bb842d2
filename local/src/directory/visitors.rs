//! Sockets of clients that a service was handed, until their connections ask for them.

use super::key::Key;
use super::protocol::{RegistrationId, Token};
use bertha_runtime::tokio::descriptors::close_aside;
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Visitors that no connection has asked for, at most.
const WAITING: usize = 64;

/// Visitors of one user, at most. Those of the own user may take all places, unless others come.
const OF_USER: usize = 8;

/// The time for which a connection waits for its visitor, and a visitor for its connection.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A client's socket.
#[derive(Debug)]
pub(crate) struct Visitor {
    /// `None` once the socket was taken out of the visitor.
    socket: Option<OwnedFd>,
    /// The service that the client looked for.
    pub(crate) service: Key,
    /// The user whose process has the other end.
    pub(crate) user: u32,
    /// The registration by which the visitor has come.
    pub(crate) registration: RegistrationId,
}

impl Visitor {
    pub(super) fn new(socket: OwnedFd, service: Key, user: u32, registration: RegistrationId) -> Self {
        Self { socket: Some(socket), service, user, registration }
    }

    /// The socket, to keep.
    pub(crate) fn into_socket(mut self) -> Option<OwnedFd> {
        self.socket.take()
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        // A client may have sent descriptors over it.
        self.socket.take().into_iter().for_each(close_aside);
    }
}

/// Visitors, and the connections that wait for one, by their tokens.
#[derive(Debug, Default)]
pub(super) struct Visitors {
    state: Mutex<VisitorsState>,
}

#[derive(Debug, Default)]
struct VisitorsState {
    /// The oldest first.
    waiting: VecDeque<Waiting>,
    wanted: HashMap<Token, oneshot::Sender<Visitor>>,
}

#[derive(Debug)]
struct Waiting {
    token: Token,
    since: Instant,
    visitor: Visitor,
}

impl Visitors {
    /// A visitor has come. Where it is one too many, the oldest of the user with the most makes room.
    pub(super) fn put(&self, token: Token, visitor: Visitor) {
        self.sweep(Instant::now());
        let mut state = self.state.lock();
        if let Some(wanted) = state.wanted.remove(&token) {
            // A connection that has given up does not take it.
            drop(wanted.send(visitor));
            return;
        }
        let user = visitor.user;
        state.waiting.push_back(Waiting { token, since: Instant::now(), visitor });
        state.make_room(user);
    }

    /// Drops visitors that have waited too long, and those whose client is gone. Returns true if some are left.
    pub(super) fn sweep(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        let gone = are_gone(&state.waiting);
        let mut gone = gone.into_iter();
        state.waiting.retain(|it| {
            let is_gone = gone.next().unwrap_or(false);
            !is_gone && now.saturating_duration_since(it.since) < TIMEOUT
        });
        !state.waiting.is_empty()
    }

    /// Waits for the visitor with this token, for five seconds.
    pub(super) async fn take(&self, token: Token) -> Option<Visitor> {
        let receiver = {
            let mut state = self.state.lock();
            if let Some(at) = state.waiting.iter().position(|it| it.token == token) {
                return state.waiting.remove(at).map(|it| it.visitor);
            }
            let (sender, receiver) = oneshot::channel();
            state.wanted.insert(token, sender);
            receiver
        };
        let taken = timeout(TIMEOUT, receiver).await.ok().and_then(Result::ok);
        if taken.is_none() {
            self.state.lock().wanted.remove(&token);
        }
        taken
    }
}

impl VisitorsState {
    /// Keeps the limits, after a visitor of this user has come.
    fn make_room(&mut self, user: u32) {
        let mut counts = HashMap::<u32, usize>::new();
        for it in &self.waiting {
            *counts.entry(it.visitor.user).or_default() += 1;
        }
        let is_own = user == rustix::process::geteuid().as_raw();
        let leaves = if !is_own && counts.get(&user).is_some_and(|count| *count > OF_USER) {
            Some(user)
        } else if self.waiting.len() > WAITING {
            counts.into_iter().max_by_key(|(_, count)| *count).map(|(user, _)| user)
        } else {
            None
        };
        if let Some(user) = leaves
            && let Some(oldest) = self.waiting.iter().position(|it| it.visitor.user == user)
        {
            self.waiting.remove(oldest);
        }
    }
}

/// For each visitor true if its client has closed the other end.
fn are_gone(waiting: &VecDeque<Waiting>) -> Vec<bool> {
    let sockets = waiting.iter().filter_map(|it| it.visitor.socket.as_ref());
    let mut polled: Vec<_> = sockets.map(|socket| PollFd::new(socket, PollFlags::empty())).collect();
    if let Err(error) = poll(&mut polled, Some(&Timespec::default())) {
        tracing::debug!(%error, "visitors are not looked at");
    }
    polled.iter().map(|it| it.revents().contains(PollFlags::HUP)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn visitor(user: u32) -> (UnixStream, Visitor) {
        let (client, service) = UnixStream::pair().unwrap();
        (client, Visitor::new(service.into(), Key::from("cart"), user, [0; 32]))
    }

    fn token(number: usize) -> Token {
        let mut token = [0; 32];
        token[..8].copy_from_slice(&number.to_ne_bytes());
        token
    }

    fn users(visitors: &Visitors) -> Vec<u32> {
        visitors.state.lock().waiting.iter().map(|it| it.visitor.user).collect()
    }

    #[tokio::test]
    async fn a_user_has_few_places_and_takes_none_of_others() {
        let (visitors, own) = (Visitors::default(), rustix::process::geteuid().as_raw());
        let mut clients = Vec::new();
        for number in 0..20 {
            let (client, visitor) = visitor(own + 1);
            visitors.put(token(number), visitor);
            clients.push(client);
        }
        assert_eq!(users(&visitors), [own + 1; OF_USER]);
        assert!(visitors.take(token(19)).await.is_some(), "the newest stays");
        for number in 100..300 {
            let (client, visitor) = visitor(own);
            visitors.put(token(number), visitor);
            clients.push(client);
        }
        let left = users(&visitors);
        let others = left.iter().filter(|user| **user != own).count();
        assert_eq!((left.len(), others), (WAITING, OF_USER - 1));
        assert!(visitors.take(token(299)).await.is_some());
    }

    #[test]
    fn visitors_whose_time_is_up_or_whose_client_is_gone_leave() {
        let visitors = Visitors::default();
        let (stays, first) = visitor(7);
        let (goes, second) = visitor(7);
        visitors.put(token(1), first);
        visitors.put(token(2), second);
        drop(goes);
        assert!(visitors.sweep(Instant::now()));
        assert_eq!(visitors.state.lock().waiting[0].token, token(1));
        assert_eq!(users(&visitors), [7]);
        assert!(!visitors.sweep(Instant::now() + TIMEOUT));
        drop(stays);
    }
}
