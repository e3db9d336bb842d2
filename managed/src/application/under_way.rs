//! The calls on which a server works.

use super::Incoming;
use super::handle::Handle;
use crate::Party;
use crate::method::Service;
use bertha_chunnels::rpc::spans;
use bertha_runtime::Shares;
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
    /// Parties share the places of calls under way: one whose calls never end leaves some to others.
    places: Shares<Party>,
    /// The calls for which their parties have no place, in the order in which they came.
    waiting: HashMap<Party, VecDeque<Incoming<S>>>,
    tasks: JoinSet<u64>,
    running: HashMap<u64, AbortHandle>,
}

impl<S: Service, H: Handle<S>> UnderWay<S, H> {
    pub(super) fn new(handler: Arc<H>) -> Self {
        let (waiting, tasks, running) = Default::default();
        Self { handler, places: Shares::new(UNDER_WAY), waiting, tasks, running }
    }

    /// Begins a call, or lets it wait until another has ended.
    pub(super) fn begin(&mut self, call: Incoming<S>) {
        let party = Party::of(call.number());
        if self.waiting.contains_key(&party) || !self.places.take(party) {
            self.waiting.entry(party).or_default().push_back(call);
        } else {
            self.start(call);
        }
    }

    /// Starts the task of a call, which has a place.
    fn start(&mut self, call: Incoming<S>) {
        let (number, within, handler) = (call.number(), call.within(), Arc::clone(&self.handler));
        let (method, trace) = (call.method(), call.trace());
        let task = self.tasks.spawn(async move {
            let answer = spans::handling(Some(S::NAME), method, trace, handler.handle(call));
            match within {
                // A call that is late is dropped, and its caller hears of it.
                Some(within) => drop(timeout(within, answer).await),
                None => answer.await,
            }
            number
        });
        self.running.insert(number, task);
    }

    /// Drops a call that nobody waits for any more.
    pub(super) fn cancel(&mut self, number: u64) {
        let party = Party::of(number);
        if let Some(task) = self.running.get(&number) {
            task.abort();
        } else if let Some(waiting) = self.waiting.get_mut(&party) {
            waiting.retain(|call| call.number() != number);
            if waiting.is_empty() {
                self.waiting.remove(&party);
            }
        }
    }

    /// Waits until a call ends, and begins those that may then. Without a call under way, the future never ends. It is cancellation-safe.
    pub(super) async fn ended(&mut self) {
        let Self { places, tasks, running, .. } = self;
        match tasks.join_next().await {
            Some(Ok(number)) => {
                if running.remove(&number).is_some() {
                    places.give_back(Party::of(number));
                }
            }
            // The call was cancelled, or its handler has panicked; others may have ended too.
            Some(Err(_)) => running.retain(|number, task| {
                let has_ended = task.is_finished();
                if has_ended {
                    places.give_back(Party::of(*number));
                }
                !has_ended
            }),
            None => std::future::pending().await,
        }
        while let Some(next) = self.next() {
            self.start(next);
        }
    }

    /// Takes the next call that has a place: of the waiting parties, the one with the fewest calls under way comes first.
    fn next(&mut self) -> Option<Incoming<S>> {
        let party = *self.waiting.keys().min_by_key(|party| self.places.of(party))?;
        if !self.places.take(party) {
            return None;
        }
        let waiting = self.waiting.get_mut(&party)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.waiting.remove(&party);
        }
        next
    }
}
