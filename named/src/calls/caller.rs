//! Callers over any datapath, with any stack, as one type.

use super::{AnyResponses, RequestsToSend};
use bertha::core::BoxFuture;
use bertha::rpc::{Answer, Caller, Failure, Message, Metadata, Method, Multiplexer};
use bertha::{Addr, Connection, Error, Negotiated};
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
    /// Closes the connection. Calls under way, and later ones, fail with
    /// [`Disconnected`](bertha::rpc::FailureKind::Disconnected).
    fn close(&self) -> BoxFuture<'static, Result<(), Error>>;
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
pub(super) struct Known<C: Connection>(pub(super) Multiplexer<Negotiated<C>>);

impl<C: Connection<Data = Message>> AnyCaller for Known<C> {
    fn ask(&self, call: AnyCall) -> BoxFuture<'static, Result<Answer, Failure>> {
        let caller = self.0.clone();
        Box::pin(async move {
            let AnyCall { method, deadline, metadata, request, requests } = call;
            match requests {
                None => caller.ask(method, deadline, &metadata, &request[..]).await,
                Some(requests) => {
                    let requests = requests.into_stream();
                    caller.ask_with_requests(method, deadline, &metadata, &request[..], requests).await
                }
            }
        })
    }

    fn open(&self, call: AnyCall) -> BoxFuture<'static, Result<AnyResponses, Failure>> {
        let caller = self.0.clone();
        Box::pin(async move {
            let AnyCall { method, deadline, metadata, request, requests } = call;
            let parts = match requests {
                None => caller.open(method, deadline, &metadata, &request[..]).await,
                Some(requests) => {
                    let requests = requests.into_stream();
                    caller.open_with_requests(method, deadline, &metadata, &request[..], requests).await
                }
            };
            parts.map(AnyResponses::new)
        })
    }

    fn close(&self) -> BoxFuture<'static, Result<(), Error>> {
        let caller = self.0.clone();
        Box::pin(async move { caller.close().await })
    }

    fn explain(&self) -> String {
        self.0.connection().explain().to_string()
    }

    fn statistics(&self) -> String {
        let mut statistics = self.0.connection().statistics();
        statistics.add("Calls", self.0.statistics());
        statistics.to_string()
    }

    fn peer_address(&self) -> Addr {
        self.0.connection().peer_addr()
    }

    fn local_address(&self) -> Addr {
        self.0.connection().local_addr()
    }

    fn peer_identity(&self) -> Option<String> {
        self.0.connection().peer_identity().map(|identity| identity.to_string())
    }
}
