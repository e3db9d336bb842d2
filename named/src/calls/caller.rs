//! Callers over any datapath, with any stack, as one type.

use super::{AnyResponses, RequestsToSend};
use crate::until_closed::UntilClosed;
use bertha::core::BoxFuture;
use bertha::rpc::{Answer, Caller, Failure, FailureKind, Message, Metadata, Method, Multiplexer};
use bertha::{Addr, Connection, Error, Negotiated};
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

/// A call to be made.
#[derive(Debug)]
pub struct AnyCall {
    /// The method, by [`method`](super::method()).
    pub method: Method,
    /// The time after which the call fails; without limit if there is none.
    pub deadline: Option<Duration>,
    /// Names and values beside the request.
    pub metadata: Metadata,
    /// The encoded request.
    pub request: Vec<u8>,
    /// Further requests, for a method that takes a stream of them.
    pub requests: Option<RequestsToSend>,
}

impl AnyCall {
    /// Returns a call without deadline, metadata and further requests.
    pub fn new(method: Method, request: Vec<u8>) -> Self {
        Self { method, deadline: None, metadata: Metadata::new(), request, requests: None }
    }
}

/// Makes calls over a connection of any datapath, with any stack.
///
/// Calls under way are at most 1,024 at a time; further ones wait, in turn and up to their deadlines. A future that is dropped
/// cancels its call. All futures may go on in a task.
pub trait AnyCaller: Send + Sync {
    /// Makes a call with one response.
    fn ask(&self, call: AnyCall) -> BoxFuture<'static, Result<Answer, Failure>>;
    /// Makes a call with a stream of responses.
    fn open(&self, call: AnyCall) -> BoxFuture<'static, Result<AnyResponses, Failure>>;
    /// Closes the connection, and gives back what it holds of the system. Calls under way, and later ones, fail with
    /// [`Disconnected`](bertha::rpc::FailureKind::Disconnected), and texts are those of the end.
    fn close(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>>;
    /// Returns the stack in use, and the reasons for it.
    fn explain(&self) -> String;
    /// Returns the state of each layer, a line for each, and of the calls.
    fn statistics(&self) -> String;
    /// Returns the address of the server.
    fn peer_address(&self) -> Addr;
    /// Returns the address of this end.
    fn local_address(&self) -> Addr;
    /// Returns the identity that the server has proved.
    fn peer_identity(&self) -> Option<String>;
}

/// Calls over a connection of a known type.
pub(super) struct Known<C: Connection>(UntilClosed<Calls<C>, Remains>);

type Calls<C> = Multiplexer<Negotiated<C>>;

/// The texts of a caller that was closed.
struct Remains {
    explanation: String,
    statistics: String,
    peer_address: Addr,
    local_address: Addr,
    peer_identity: Option<String>,
}

impl<C: Connection<Data = Message>> Known<C> {
    pub(super) fn new(connection: Negotiated<C>) -> Self {
        Self(UntilClosed::new(Multiplexer::new(connection)))
    }

    fn calls(&self) -> Result<Calls<C>, Failure> {
        let closed =
            || Failure::of(FailureKind::Disconnected, "this end has closed the connection").before_running();
        self.0.get().ok_or_else(closed)
    }
}

fn remains<C: Connection<Data = Message>>(calls: &Calls<C>) -> Remains {
    Remains {
        explanation: explanation(calls),
        statistics: statistics(calls),
        peer_address: calls.connection().peer_addr(),
        local_address: calls.connection().local_addr(),
        peer_identity: peer_identity(calls),
    }
}

fn explanation<C: Connection<Data = Message>>(calls: &Calls<C>) -> String {
    calls.connection().explain().to_string()
}

fn statistics<C: Connection<Data = Message>>(calls: &Calls<C>) -> String {
    let mut statistics = calls.connection().statistics();
    statistics.add("Calls", calls.statistics());
    statistics.to_string()
}

fn peer_identity<C: Connection<Data = Message>>(calls: &Calls<C>) -> Option<String> {
    calls.connection().peer_identity().map(|identity| identity.to_string())
}

impl<C: Connection<Data = Message>> AnyCaller for Known<C> {
    fn ask(&self, call: AnyCall) -> BoxFuture<'static, Result<Answer, Failure>> {
        let calls = self.calls();
        Box::pin(async move {
            let calls = calls?;
            let AnyCall { method, deadline, metadata, request, requests } = call;
            match requests {
                None => calls.ask(method, deadline, &metadata, &request[..]).await,
                Some(requests) => {
                    let requests = requests.into_stream();
                    calls.ask_with_requests(method, deadline, &metadata, &request[..], requests).await
                }
            }
        })
    }

    fn open(&self, call: AnyCall) -> BoxFuture<'static, Result<AnyResponses, Failure>> {
        let calls = self.calls();
        Box::pin(async move {
            let calls = calls?;
            let AnyCall { method, deadline, metadata, request, requests } = call;
            let parts = match requests {
                None => calls.open(method, deadline, &metadata, &request[..]).await,
                Some(requests) => {
                    let requests = requests.into_stream();
                    calls.open_with_requests(method, deadline, &metadata, &request[..], requests).await
                }
            };
            parts.map(AnyResponses::new)
        })
    }

    fn close(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>> {
        let Some(calls) = self.0.get() else { return Box::pin(ready(Ok(()))) };
        Box::pin(async move {
            let closed = calls.close().await;
            self.0.give_back(remains(&calls));
            closed
        })
    }

    fn explain(&self) -> String {
        self.0.look(explanation, |closed| closed.explanation.clone())
    }

    fn statistics(&self) -> String {
        self.0.look(statistics, |closed| closed.statistics.clone())
    }

    fn peer_address(&self) -> Addr {
        self.0.look(|calls| calls.connection().peer_addr(), |closed| closed.peer_address.clone())
    }

    fn local_address(&self) -> Addr {
        self.0.look(|calls| calls.connection().local_addr(), |closed| closed.local_address.clone())
    }

    fn peer_identity(&self) -> Option<String> {
        self.0.look(peer_identity, |closed| closed.peer_identity.clone())
    }
}
