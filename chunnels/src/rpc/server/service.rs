//! The answers of a server to calls.

mod or;

use super::open_calls::OpenCalls;
use super::{Context, Requests};
use crate::rpc::encode::decode;
use crate::rpc::message::CallId;
use crate::rpc::{Failure, FailureKind, Metadata, Method};
use crate::serialize::Codec;
use bertha_core::Buf;
use futures_util::stream::{BoxStream, Stream, StreamExt};
pub use or::Or;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A call that has arrived.
pub struct Request<'a> {
    pub(super) call: CallId,
    pub(super) method: u32,
    pub(super) body: Buf,
    pub(super) deadline: Option<Instant>,
    pub(super) metadata: Metadata,
    pub(super) open: &'a OpenCalls<'a>,
}

impl Request<'_> {
    /// Returns the circumstances of the call: the identity of the caller, the metadata, and a place for metadata that goes
    /// back. The first call allocates.
    pub fn context(&self) -> Context {
        self.open.context(self.call, self.deadline, &self.metadata)
    }

    /// Returns the requests behind this one, for a method with a stream of them, and lets the client send. A second call
    /// returns a stream that fails. If the client has made the call without such a stream, the call fails at the client.
    /// A client whose stream no handler asks for sends none of it.
    pub fn requests<T, K: Codec<T>>(&self, codec: &K) -> Requests<T> {
        Requests::new(self.open.requests(self.call, self.body.len()), codec)
    }

    /// Returns the metadata that the caller has sent.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Returns the number of the method, [`Method::id`].
    pub fn method(&self) -> u32 {
        self.method
    }

    /// Returns true if it is a call of this method.
    pub fn is(&self, method: Method) -> bool {
        self.method == method.id()
    }

    /// Returns the time, by the clock of the connection's runtime, at which the client gives up. The call is then cancelled here, too.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the encoded request.
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the encoded request, in the buffer in which it has arrived.
    pub fn into_body(self) -> Buf {
        self.body
    }

    /// Returns the request.
    ///
    /// # Errors
    /// [`FailureKind::Malformed`] if it is no encoding of a `Q`.
    pub fn decode<Q, K: Codec<Q>>(&self, codec: &K) -> Result<Q, Failure> {
        decode(codec, &self.body)
    }

    /// Returns the failure of a service that has no such method.
    #[cold]
    pub fn unknown(&self) -> Failure {
        let what = format!("the service has no method with the number {:#010x}", self.method);
        Failure::of(FailureKind::UnknownMethod, what)
    }
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, deadline, metadata, .. } = self;
        f.debug_struct("Request")
            .field("method", method)
            .field("deadline", deadline)
            .field("metadata", metadata)
            .finish_non_exhaustive()
    }
}

/// The reply of a service: one response, or a stream of them.
pub enum Reply<'a, R> {
    /// The response.
    One(R),
    /// Several, up to the end or the first failure. The stream is polled only while the client takes more.
    Several(BoxStream<'a, Result<R, Failure>>),
}

impl<'a, R: 'a> Reply<'a, R> {
    /// Returns a response for each item of a stream.
    pub fn each<T: 'a>(items: impl Stream<Item = T> + Send + 'a, response: fn(T) -> R) -> Self {
        Self::Several(Box::pin(items.map(move |item| Ok(response(item)))))
    }

    /// Returns a response for each item of a stream, up to the first failure.
    pub fn each_until<T: 'a>(
        items: impl Stream<Item = Result<T, Failure>> + Send + 'a,
        response: fn(T) -> R,
    ) -> Self {
        Self::Several(Box::pin(items.map(move |item| item.map(response))))
    }
}

impl<'a, R: 'a> Reply<'a, R> {
    /// Converts each response.
    fn map<T: 'a>(self, convert: fn(R) -> T) -> Reply<'a, T> {
        match self {
            Self::One(response) => Reply::One(convert(response)),
            Self::Several(responses) => Reply::each_until(responses, convert),
        }
    }
}

impl<R> fmt::Debug for Reply<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One(_) => "One",
            Self::Several(_) => "Several",
        })
    }
}

/// Answers calls. `#[bertha::service]` implements it for a trait of typed methods.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not answer calls",
    label = "not a service of `rpc`",
    note = "`#[bertha::service]` on a trait `Greeter` makes `GreeterServer`, which takes what implements `Greeter`"
)]
pub trait Service: Send + Sync + 'static {
    /// A response, to be encoded.
    type Response: Send + Sync + 'static;

    /// Answers a call. The future is dropped if the client cancels, or once its deadline has passed.
    ///
    /// The futures of one connection run in turn, in one task; one that computes for long should do so in a task of its own.
    ///
    /// # Errors
    /// Whatever the client is to learn.
    fn call(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Reply<'_, Self::Response>, Failure>> + Send;

    /// Writes a response at the start of `into`, and returns how many bytes it takes; `None` if `into` is too small.
    ///
    /// # Errors
    /// [`FailureKind::Malformed`] if there is no encoding of it.
    fn encode(&self, response: &Self::Response, into: &mut [u8]) -> Result<Option<usize>, Failure>;

    /// Returns the most bytes of a response that the client decodes.
    fn limit(&self) -> usize {
        usize::MAX
    }

    /// Returns the most bytes that the client decodes of this response, where [responses differ](Self::or) in it.
    fn limit_of(&self, _response: &Self::Response) -> usize {
        self.limit()
    }

    /// Returns the methods, by which [`or`](Self::or) finds the service of a call, and which
    /// [`Reflection`](crate::rpc::Reflection) tells. The default returns none.
    fn methods(&self) -> &[Method] {
        &[]
    }

    /// Returns a service that has the methods of both, for several services on one connection. A call of a method that
    /// this service [lists](Self::methods) is answered by this service, any other call by `other`: so a service that lists
    /// no methods stands last, and of two methods with one [number](Method::id) the first answers. Both are warned of.
    ///
    /// ```
    /// # use bertha_chunnels::rpc::{Message, Service, serve};
    /// # use bertha_core::Connection;
    /// # fn example(connection: impl Connection<Data = Message>, orders: impl Service, stock: impl Service, users: impl Service) {
    /// let serving = serve(connection, orders.or(stock).or(users));
    /// # drop(serving);
    /// # }
    /// ```
    fn or<S: Service>(self, other: S) -> Or<Self, S>
    where
        Self: Sized,
    {
        Or::new(self, other)
    }
}

impl<S: Service> Service for Arc<S> {
    type Response = S::Response;

    fn call(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Reply<'_, Self::Response>, Failure>> + Send {
        (**self).call(request)
    }

    fn encode(&self, response: &Self::Response, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        (**self).encode(response, into)
    }

    fn limit(&self) -> usize {
        (**self).limit()
    }

    fn limit_of(&self, response: &Self::Response) -> usize {
        (**self).limit_of(response)
    }

    fn methods(&self) -> &[Method] {
        (**self).methods()
    }
}
