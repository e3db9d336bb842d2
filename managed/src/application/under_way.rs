//! The calls on which a server works.

use super::Incoming;
use super::handle::Handle;
use crate::method::Service;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

/// Number of calls of a server that are under way at once.
const UNDER_WAY: usize = 1024;

/// Calls, each in a task of its own, and those that wait for one. The daemon bounds the number of calls that a server has.
#[derive(Debug)]
pub(super) struct UnderWay<S, H> {
    handler: Arc<H>,
    waiting: VecDeque<Incoming<S>>,
    tasks: JoinSet<u64>,
    running: HashMap<u64, AbortHandle>,
}

impl<S: Service, H: Handle<S>> UnderWay<S, H> {
    pub(super) fn new(handler: H) -> Self {
        let (waiting, tasks, running) = Default::default();
        Self { handler: Arc::new(handler), waiting, tasks, running }
    }

    /// Begins a call, or lets it wait until another has ended.
    pub(super) fn begin(&mut self, call: Incoming<S>) {
        if self.running.len() >= UNDER_WAY {
            self.waiting.push_back(call);
            return;
        }
        let (number, within, handler) = (call.number(), call.within(), Arc::clone(&self.handler));
        let task = self.tasks.spawn(async move {
            match within {
                // A call that is late is dropped, and its caller hears of it.
                Some(within) => drop(timeout(within, handler.handle(call)).await),
                None => handler.handle(call).await,
            }
            number
        });
        self.running.insert(number, task);
    }

    /// Drops a call that nobody waits for any more.
    pub(super) fn cancel(&mut self, number: u64) {
        match self.running.get(&number) {
            Some(task) => task.abort(),
            None => self.waiting.retain(|call| call.number() != number),
        }
    }

    /// Waits until a call ends, and begins the next. Without a call under way, the future never ends. It is cancellation-safe.
    pub(super) async fn ended(&mut self) {
        match self.tasks.join_next().await {
            Some(Ok(number)) => drop(self.running.remove(&number)),
            // The call was cancelled, or its handler has panicked; others may have ended too.
            Some(Err(_)) => self.running.retain(|_, task| !task.is_finished()),
            None => std::future::pending().await,
        }
        if let Some(next) = self.waiting.pop_front() {
            self.begin(next);
        }
    }
}
