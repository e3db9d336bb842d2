//! A call that was not made yet.

use super::{Attached, Caller, Client, Responses};
use crate::rpc::encode::{Encoded, decode};
use crate::rpc::{Failure, Metadata, Method};
use crate::serialize::Codec;
use bertha_core::BoxFuture;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// A call to be made, by [`Client::call`]. Nothing is sent before it is awaited.
///
/// If its future is dropped, the call is cancelled: the server drops its handler.
///
/// Awaiting it allocates its future; [`response`](Self::response) does not.
#[must_use = "nothing is sent before it is awaited"]
pub struct Call<'a, T, K, Q, R> {
    pub(super) client: &'a Client<T, K>,
    pub(super) method: Method,
    pub(super) request: &'a Q,
    pub(super) deadline: Option<Duration>,
    pub(super) attached: Attached,
    response: PhantomData<fn() -> R>,
}

impl<'a, T, K, Q, R> Call<'a, T, K, Q, R> {
    #[inline]
    pub(super) fn new(client: &'a Client<T, K>, method: Method, request: &'a Q) -> Self {
        let Client { deadline, attached, .. } = client;
        let (deadline, attached) = (*deadline, attached.clone());
        Self { client, method, request, deadline, attached, response: PhantomData }
    }

    /// Gives it this long, from the moment at which it is sent. The server learns how long that is.
    pub fn deadline(mut self, within: Duration) -> Self {
        self.deadline = Some(within);
        self
    }

    /// Adds an entry to the [metadata](Metadata) of the call, behind the entries of the client. The call fails before it
    /// is sent if the entry is none that [`Metadata::add`] takes.
    pub fn metadata(mut self, key: &str, value: impl AsRef<[u8]>) -> Self {
        self.attached.add(key, value.as_ref());
        self
    }
}

impl<T, K, Q, R> Call<'_, T, K, Q, R>
where
    T: Caller,
    K: Codec<Q> + Codec<R>,
    Q: Sync,
{
    /// Makes the call, and waits for its response.
    ///
    /// # Errors
    /// See [`FailureKind`](crate::rpc::FailureKind).
    #[inline]
    pub async fn response(self) -> Result<R, Failure> {
        let Self { client: Client { caller, codec, .. }, method, request, deadline, attached, .. } = self;
        let answer =
            caller.ask(method, deadline, attached.metadata()?, &Encoded::new(codec, request)).await?;
        decode(codec, &answer.response).map_err(Failure::after_running)
    }

    /// Makes the call, and waits for its response and the metadata that the server sends with it. The trailers of a
    /// failure are [in the failure](Failure::trailers).
    ///
    /// # Errors
    /// See [`FailureKind`](crate::rpc::FailureKind).
    pub async fn response_and_trailers(self) -> Result<(R, Metadata), Failure> {
        let Self { client: Client { caller, codec, .. }, method, request, deadline, attached, .. } = self;
        let answer =
            caller.ask(method, deadline, attached.metadata()?, &Encoded::new(codec, request)).await?;
        Ok((decode(codec, &answer.response).map_err(Failure::after_running)?, answer.trailers))
    }

    /// Makes the call, to a method with a stream of responses. The deadline holds for all of them together.
    ///
    /// # Errors
    /// The errors of sending; later errors come with the stream.
    pub async fn responses(self) -> Result<Responses<T::Parts, K, R>, Failure> {
        let Self { client: Client { caller, codec, .. }, method, request, deadline, attached, .. } = self;
        let parts =
            caller.open(method, deadline, attached.metadata()?, &Encoded::new(codec, request)).await?;
        Ok(Responses::new(parts, codec.clone()))
    }
}

/// # Errors
/// See [`FailureKind`](crate::rpc::FailureKind).
impl<'a, T, K, Q, R> IntoFuture for Call<'a, T, K, Q, R>
where
    T: Caller,
    K: Codec<Q> + Codec<R>,
    Q: Sync,
    R: 'a,
{
    type Output = Result<R, Failure>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.response())
    }
}

impl<T, K, Q, R> fmt::Debug for Call<'_, T, K, Q, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, deadline, .. } = self;
        f.debug_struct("Call").field("method", method).field("deadline", deadline).finish_non_exhaustive()
    }
}
