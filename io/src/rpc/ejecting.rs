//! An address that is not used for a while after it has failed.

use super::EncodedCall;
use super::ejection::Ejection;
use bertha_chunnels::rpc::{Failure, FailureKind};
use bertha_core::{BoxFuture, Runtime};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tower_service::Service;

/// A service that is not ready for a while after five failures in a row: calls that were disconnected, that
/// timed out, or for which the server had no room. `Balance` passes it over during that time.
///
/// The first time it is out for half a second to one and a half, later for up to half a minute; a successful
/// call resets the time.
pub struct Ejecting<S, R> {
    service: S,
    runtime: R,
    ejection: Arc<Mutex<Ejection>>,
    /// The wait until the service is back.
    waiting: Option<BoxFuture<'static, ()>>,
}

impl<S, R: Runtime> Ejecting<S, R> {
    /// Makes an ejecting service around `service`; `runtime` is the runtime of its connection.
    pub fn new(service: S, runtime: R) -> Self {
        Self { service, runtime, ejection: Arc::new(Mutex::new(Ejection::new())), waiting: None }
    }
}

impl<S, R> Service<EncodedCall> for Ejecting<S, R>
where
    S: Service<EncodedCall, Error = Failure, Future: Send + 'static>,
    R: Runtime,
{
    type Response = S::Response;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<S::Response, Failure>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(cx));
                self.waiting = None;
            }
            match self.ejection.lock().out_until(self.runtime.now()) {
                Some(until) => self.waiting = Some(Box::pin(self.runtime.sleep_until(until))),
                None => return self.service.poll_ready(cx),
            }
        }
    }

    fn call(&mut self, call: EncodedCall) -> Self::Future {
        let calling = self.service.call(call);
        let runtime = self.runtime.clone();
        let ejection = self.ejection.clone();
        Box::pin(async move {
            let outcome = calling.await;
            match outcome.as_ref().map_err(Failure::kind) {
                Err(FailureKind::Disconnected | FailureKind::TimedOut | FailureKind::Overloaded) => {
                    ejection.lock().on_failure(runtime.now(), runtime.random());
                }
                // Any other result shows that the service has answered.
                _ => ejection.lock().on_success(),
            }
            outcome
        })
    }
}

impl<S: fmt::Debug, R> fmt::Debug for Ejecting<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ejecting").field("service", &self.service).finish_non_exhaustive()
    }
}
