//! A server, whose clients are accepted in a task of the process.

use crate::failure::Failure;
use crate::runtime;
use crate::waiting::Waiting;
use bertha::ErrorKind;
use bertha_named::{AnyConnection, Freed, Listened};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Poll, Waker};
use tokio::task::AbortHandle;

/// Most clients that wait for an operation; further ones wait in the backlog of the datapath.
const WAITING: usize = 16;

/// A server.
pub(crate) struct Server {
    pub(crate) address: String,
    clients: Arc<Clients>,
    accepting: AbortHandle,
    numbers: AtomicU64,
    freed: Freed,
}

#[derive(Default)]
struct Clients {
    state: Mutex<State>,
    waiting: Waiting,
    taken: tokio::sync::Notify,
}

#[derive(Default)]
struct State {
    there: VecDeque<Arc<dyn AnyConnection>>,
    end: Option<Failure>,
}

impl Server {
    /// Begins to accept.
    ///
    /// # Errors
    /// Errors of the runtime.
    pub(crate) fn begin(listened: Listened) -> Result<Arc<Self>, Failure> {
        let address = listened.0.to_string();
        let clients = Arc::<Clients>::default();
        let (in_use, freed) = Freed::after_use();
        let accepting = in_use.by(accept(listened, clients.clone()));
        let accepting = runtime::handle()?.spawn(accepting).abort_handle();
        Ok(Arc::new(Self { address, clients, accepting, numbers: AtomicU64::new(0), freed }))
    }

    /// Returns the number of another operation.
    pub(crate) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Relaxed)
    }

    /// # Errors
    /// `Closed` once the server is closed; `Io` if it has failed.
    pub(crate) fn poll(
        &self,
        number: u64,
        waker: Option<&Waker>,
    ) -> Poll<Result<Arc<dyn AnyConnection>, Failure>> {
        if let Some(waker) = waker {
            self.clients.waiting.enter(number, waker);
        }
        let outcome = {
            let mut state = self.clients.state.lock();
            match (state.there.pop_front(), &state.end) {
                (Some(client), _) => Ok(client),
                (None, Some(end)) => Err(end.clone()),
                (None, None) => return Poll::Pending,
            }
        };
        self.clients.taken.notify_one();
        self.clients.waiting.leave(number);
        Poll::Ready(outcome)
    }

    /// Ends the operation of this number, which takes nothing.
    pub(crate) fn give_up(&self, number: u64) {
        self.clients.waiting.leave(number);
    }

    /// Stops to listen. Clients that wait are given up.
    pub(crate) fn close(&self) {
        self.accepting.abort();
        let there = self.clients.end(Failure::new(ErrorKind::Closed, "the listener was closed"), true);
        drop(there);
    }

    /// Waits for a moment until the address of a closed server is free.
    pub(crate) fn until_free(&self) {
        self.freed.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !runtime::is_forked() {
            self.close();
        }
    }
}

impl Clients {
    fn end(&self, end: Failure, gives_up: bool) -> VecDeque<Arc<dyn AnyConnection>> {
        let mut state = self.state.lock();
        state.end.get_or_insert(end);
        let there = if gives_up { std::mem::take(&mut state.there) } else { VecDeque::new() };
        drop(state);
        self.waiting.wake_all();
        there
    }

    async fn has_room(&self) {
        while self.state.lock().there.len() >= WAITING {
            self.taken.notified().await;
        }
    }
}

/// Accepts clients until the listener fails.
async fn accept(listened: Listened, clients: Arc<Clients>) {
    let (_, mut incoming, _registration) = listened;
    while let Some(client) = incoming.next().await {
        clients.has_room().await;
        clients.state.lock().there.push_back(client);
        clients.waiting.wake_all();
    }
    clients.end(Failure::new(ErrorKind::Io, "the listener has failed"), false);
}
