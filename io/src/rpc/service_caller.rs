//! A service as a carrier of calls.

use super::EncodedCall;
use bertha_chunnels::rpc::{Answer, Caller, Encode, Failure, FailureKind, Metadata, Method, ResponseParts};
use bertha_core::{BoxFuture, Buf, Runtime, debug_fields};
use std::convert::Infallible;
use std::fmt::Debug;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tower_service::Service;

/// Typed calls by a service of tower: `Client::over(ServiceCaller::new(service))`. Each call takes a clone of
/// the service; `tower::buffer` makes a service cloneable.
///
/// The service answers with an `Answer`, or with a `Buf` without trailers.
///
/// The deadline of a call is given to the service. With [`deadlines`](Self::deadlines), it bounds the time until the
/// service is ready, too.
///
/// Calls with a stream of responses or of requests fail: layers of tower handle one request and one response.
#[derive(Clone)]
pub struct ServiceCaller<S> {
    service: S,
    sleep: Option<Sleep>,
}

/// Waits by the clock of a runtime.
type Sleep = Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

impl<S> ServiceCaller<S> {
    /// Makes a caller from this service.
    pub fn new(service: S) -> Self {
        Self { service, sleep: None }
    }

    /// Fails each call once its deadline has passed by the clock of `runtime`, also while the service is not ready. Such a
    /// call costs a timer.
    #[must_use]
    pub fn deadlines(self, runtime: impl Runtime) -> Self {
        let sleep: Sleep = Arc::new(move |time| Box::pin(runtime.sleep_until(runtime.now() + time)));
        Self { sleep: Some(sleep), ..self }
    }
}

debug_fields!(ServiceCaller<S: Debug> { service });

impl<S> Caller for ServiceCaller<S>
where
    S: Service<EncodedCall, Response: Into<Answer>> + Clone + Send + Sync + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
    S::Future: Send,
{
    type Parts = NoParts;

    async fn ask<E: Encode + ?Sized>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
    ) -> Result<Answer, Failure> {
        let call = EncodedCall::new(method, deadline, metadata, request)?;
        let mut service = self.service.clone();
        let mut has_begun = false;
        let calling = async {
            poll_fn(|cx| service.poll_ready(cx)).await.map_err(failed)?;
            has_begun = true;
            service.call(call).await.map(Into::into).map_err(failed)
        };
        let (Some(sleep), Some(deadline)) = (&self.sleep, deadline) else { return calling.await };
        let outcome = {
            let (mut calling, mut expired) = (pin!(calling), sleep(deadline));
            poll_fn(|cx| match calling.as_mut().poll(cx) {
                Poll::Pending => expired.as_mut().poll(cx).map(|()| None),
                outcome => outcome.map(Some),
            })
            .await
        };
        match outcome {
            Some(outcome) => outcome,
            None if has_begun => Err(late("no response before the deadline")),
            None => Err(late("the service was not ready before the deadline").before_running()),
        }
    }

    async fn open<E: Encode + ?Sized>(
        &self,
        _: Method,
        _: Option<Duration>,
        _: &Metadata,
        _: &E,
    ) -> Result<NoParts, Failure> {
        let what = "a service of tower's has one response to a call; make this one over a connection";
        Err(Failure::of(FailureKind::UnknownMethod, what))
    }
}

#[cold]
fn late(text: &'static str) -> Failure {
    Failure::of(FailureKind::TimedOut, text)
}

/// Converts the failure of the service itself, or of a layer above it, which may have begun the call.
#[cold]
fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    let error = error.into();
    // Buffer wraps the errors of its service once more.
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&*error);
    while let Some(cause) = next {
        if let Some(failure) = cause.downcast_ref::<Failure>() {
            return failure.clone();
        }
        next = cause.source();
    }
    Failure::new(format!("a layer above the connections: {error}"))
}

/// A stream of responses, of which there is none.
#[derive(Debug)]
pub struct NoParts(Infallible);

impl ResponseParts for NoParts {
    fn poll_part(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Buf, Failure>>> {
        match self.0 {}
    }
}
