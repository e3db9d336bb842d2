//! Calls over a connection as a service.

use super::EncodedCall;
use bertha_chunnels::rpc::{Answer, Caller, Failure};
use bertha_core::BoxFuture;
use std::task::{Context, Poll};
use tower_service::Service;

/// Calls with one response, over a connection or a reconnecting connection, as a service of tower. It is
/// always ready: calls beyond the limit of the connection fail at once.
#[derive(Debug, Clone)]
pub struct CallService<T> {
    caller: T,
}

impl<T: Caller> CallService<T> {
    /// Makes a service from the calls of a `Multiplexer` or `Reconnecting`.
    pub fn new(caller: T) -> Self {
        Self { caller }
    }
}

impl<T: Caller> Service<EncodedCall> for CallService<T> {
    type Response = Answer;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<Answer, Failure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: EncodedCall) -> Self::Future {
        let caller = self.caller.clone();
        Box::pin(
            async move { caller.ask(call.method(), call.deadline(), call.metadata(), call.request()).await },
        )
    }
}
