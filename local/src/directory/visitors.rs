//! Sockets of clients that a service was handed, until their connections ask for them.

use super::protocol::Token;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Visitors that no service has asked for, at most; the oldest are dropped.
const WAITING: usize = 1024;

/// How long a visitor is waited for.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Clients' sockets, and the requests that wait for one, by their tokens.
#[derive(Debug, Default)]
pub(super) struct Visitors {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<Token, OwnedFd>,
    order: VecDeque<Token>,
    wanted: HashMap<Token, oneshot::Sender<OwnedFd>>,
}

impl Visitors {
    /// A visitor has come.
    pub(super) fn put(&self, token: Token, socket: OwnedFd) {
        let mut state = self.state.lock();
        if let Some(wanted) = state.wanted.remove(&token) {
            // A client that has given up does not take it.
            drop(wanted.send(socket));
            return;
        }
        if state.waiting.insert(token, socket).is_none() {
            state.order.push_back(token);
        }
        while state.order.len() > WAITING {
            if let Some(oldest) = state.order.pop_front() {
                state.waiting.remove(&oldest);
            }
        }
    }

    /// Waits for the visitor with this token, for five seconds.
    pub(super) async fn take(&self, token: Token) -> Option<OwnedFd> {
        let receiver = {
            let mut state = self.state.lock();
            if let Some(socket) = state.waiting.remove(&token) {
                state.order.retain(|it| *it != token);
                return Some(socket);
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
