//! A service as a carrier of calls.

use super::EncodedCall;
use bertha_chunnels::rpc::{Answer, Caller, Encode, Failure, FailureKind, Metadata, Method, ResponseParts};
use bertha_core::Buf;
use std::convert::Infallible;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;
use tower_service::Service;

/// Typed calls by a service of tower: `Client::over(ServiceCaller::new(service))`. Each call takes a clone of
/// the service; `tower::buffer` makes a service cloneable.
///
/// The service answers with an `Answer`, or with a `Buf` without trailers.
///
/// Calls with a stream of responses fail: layers of tower handle one response.
#[derive(Debug, Clone)]
pub struct ServiceCaller<S> {
    service: S,
}

impl<S> ServiceCaller<S> {
    /// Makes a caller from this service.
    pub fn new(service: S) -> Self {
        Self { service }
    }
}

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
        poll_fn(|cx| service.poll_ready(cx)).await.map_err(failed)?;
        service.call(call).await.map(Into::into).map_err(failed)
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
