//! Calls over a connection as a service.

use super::EncodedCall;
use bertha_chunnels::rpc::{Answer, Caller, Failure};
use bertha_core::BoxFuture;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use tower_service::Service;

/// Calls with one response, over a connection or a reconnecting connection, as a service of tower. The service is
/// ready while there is room among the calls under way. Being ready takes no room: of clones that are ready at the
/// same time, some may have calls that wait, in turn and up to their deadlines. No call fails for lack of room.
pub struct CallService<T> {
    caller: T,
    /// The wait for room. The lock is never taken: it lets clones be shared between threads.
    waiting: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl<T: Caller> CallService<T> {
    /// Makes a service from the calls of a `Multiplexer` or `Reconnecting`.
    pub fn new(caller: T) -> Self {
        Self { caller, waiting: Mutex::default() }
    }
}

impl<T: Caller> Service<EncodedCall> for CallService<T> {
    type Response = Answer;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<Answer, Failure>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let waiting = self.waiting.get_mut().unwrap_or_else(PoisonError::into_inner);
        if waiting.is_none() && self.caller.has_room() {
            return Poll::Ready(Ok(()));
        }
        let caller = &self.caller;
        let wait = waiting.get_or_insert_with(|| {
            let caller = caller.clone();
            Box::pin(async move { caller.room().await })
        });
        ready!(wait.as_mut().poll(cx));
        *waiting = None;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: EncodedCall) -> Self::Future {
        let caller = self.caller.clone();
        Box::pin(
            async move { caller.ask(call.method(), call.deadline(), call.metadata(), call.request()).await },
        )
    }
}

/// A clone has not begun to wait.
impl<T: Clone> Clone for CallService<T> {
    fn clone(&self) -> Self {
        Self { caller: self.caller.clone(), waiting: Mutex::default() }
    }
}

impl<T: fmt::Debug> fmt::Debug for CallService<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallService").field("caller", &self.caller).finish_non_exhaustive()
    }
}
