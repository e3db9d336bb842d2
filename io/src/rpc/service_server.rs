//! A service of tower that answers calls.

use bertha_chunnels::rpc::{Context, Encode, Failure, Reply, Request, Service as Answers};
use bertha_core::Buf;
use std::future::poll_fn;
use std::time::Instant;
use tower_service::Service;

/// A call that has arrived, for layers of tower.
#[derive(Debug)]
pub struct EncodedRequest {
    /// The number of the method, `Method::id`.
    pub method: u32,
    /// The time at which the client gives up, by the clock of the connection's runtime.
    pub deadline: Option<Instant>,
    /// The encoded request.
    pub body: Buf,
    /// The circumstances of the call, for a server [with contexts](ServiceServer::with_contexts).
    pub context: Option<Context>,
}

/// Answers calls with a service of tower, for `rpc::serve`. Each call takes a clone of the service. The call
/// waits until the clone is ready, and is then under way: layers such as `tower::limit` and
/// `tower::load_shed` bound the number of calls further.
#[derive(Debug, Clone)]
pub struct ServiceServer<S> {
    service: S,
    has_contexts: bool,
}

impl<S> ServiceServer<S> {
    /// Makes a server from this service.
    pub fn new(service: S) -> Self {
        Self { service, has_contexts: false }
    }

    /// Gives each call its context: the identity of the peer, metadata, and a place for trailers. A call then costs an
    /// allocation more.
    #[must_use]
    pub fn with_contexts(self) -> Self {
        Self { has_contexts: true, ..self }
    }
}

impl<S> Answers for ServiceServer<S>
where
    S: Service<EncodedRequest, Response = Buf> + Clone + Send + Sync + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
    S::Future: Send,
{
    type Response = Buf;

    async fn call(&self, request: Request<'_>) -> Result<Reply<'_, Buf>, Failure> {
        let mut service = self.service.clone();
        poll_fn(|cx| service.poll_ready(cx)).await.map_err(failed)?;
        let method = request.method();
        let deadline = request.deadline();
        let context = self.has_contexts.then(|| request.context());
        let request = EncodedRequest { method, deadline, body: request.into_body(), context };
        service.call(request).await.map(Reply::One).map_err(failed)
    }

    fn encode(&self, response: &Buf, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        (**response).encode(into)
    }
}

#[cold]
fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Failure {
    let error = error.into();
    match error.downcast::<Failure>() {
        Ok(failure) => *failure,
        Err(error) => Failure::new(error.to_string()),
    }
}
