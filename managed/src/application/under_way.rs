//! The calls on which a server works.

use super::Incoming;
use super::handle::Handle;
use super::spans;
use super::turns::Turns;
use crate::Party;
use crate::method::Service;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::task::{AbortHandle, JoinError, JoinSet, yield_now};
use tokio::time::timeout;

/// Calls, each in a task of its own, and those that wait for one. The daemon bounds the number of calls that a server has.
#[derive(Debug)]
pub(super) struct UnderWay<S, H> {
    handler: Arc<H>,
    turns: Turns<Incoming<S>>,
    /// The runtime gets its turn, or had it meanwhile.
    yields: bool,
    tasks: JoinSet<u64>,
    running: HashMap<u64, AbortHandle>,
}

impl<S: Service, H: Handle<S>> UnderWay<S, H> {
    pub(super) fn new(handler: Arc<H>) -> Self {
        let (tasks, running) = Default::default();
        Self { handler, turns: Turns::new(), yields: false, tasks, running }
    }

    /// Begins a call, or lets it wait until another has ended or its turn has come.
    pub(super) fn begin(&mut self, call: Incoming<S>) {
        if let Some(call) = self.turns.come(Party::of(call.number()), call) {
            self.start(call);
        }
    }

    /// Starts the task of a call.
    fn start(&mut self, call: Incoming<S>) {
        let (number, within, handler) = (call.number(), call.within(), Arc::clone(&self.handler));
        let (method, trace) = (call.method(), call.trace());
        let task = self.tasks.spawn(async move {
            let answer = spans::handling::<S, _>(method, trace, handler.handle(call));
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
        match self.running.get(&number) {
            Some(task) => task.abort(),
            None => self.turns.retain(Party::of(number), |call| call.number() != number),
        }
    }

    /// Waits until a call ends or a turn is over, and begins those that may then. Without a call under way, the future never ends. It is
    /// cancellation-safe.
    pub(super) async fn ended(&mut self) {
        if self.turns.is_over() {
            // A future that is dropped here has given the runtime its turn.
            if !std::mem::replace(&mut self.yields, true) {
                yield_now().await;
            }
            self.yields = false;
            self.turns.renew();
        } else {
            match self.tasks.join_next().await {
                Some(ended) => self.on_end(ended),
                None => std::future::pending().await,
            }
        }
        while let Some(ended) = self.tasks.try_join_next() {
            self.on_end(ended);
        }
        while let Some(next) = self.turns.next() {
            self.start(next);
        }
    }

    fn on_end(&mut self, ended: Result<u64, JoinError>) {
        let Self { turns, running, .. } = self;
        match ended {
            Ok(number) => {
                if running.remove(&number).is_some() {
                    turns.end(Party::of(number));
                }
            }
            // The call was cancelled, or its handler has panicked; others may have ended too.
            Err(_) => running.retain(|number, task| {
                let has_ended = task.is_finished();
                if has_ended {
                    turns.end(Party::of(*number));
                }
                !has_ended
            }),
        }
    }
}
