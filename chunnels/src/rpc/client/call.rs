//! A call that was not made yet.

use super::{Caller, Client, Responses};
use crate::rpc::encode::{Encoded, decode};
use crate::rpc::{Failure, Method};
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
    client: &'a Client<T, K>,
    method: Method,
    request: &'a Q,
    deadline: Option<Duration>,
    response: PhantomData<fn() -> R>,
}

impl<'a, T, K, Q, R> Call<'a, T, K, Q, R> {
    pub(super) fn new(client: &'a Client<T, K>, method: Method, request: &'a Q) -> Self {
        Self { client, method, request, deadline: client.deadline, response: PhantomData }
    }

    /// Gives it this long, from the moment at which it is sent. The server learns how long that is.
    pub fn deadline(mut self, within: Duration) -> Self {
        self.deadline = Some(within);
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
    pub async fn response(self) -> Result<R, Failure> {
        let Self { client: Client { caller, codec, .. }, method, request, deadline, .. } = self;
        let answer = caller.ask(method, deadline, &Encoded::new(codec, request)).await?;
        decode(codec, &answer).map_err(Failure::after_running)
    }

    /// Makes the call, to a method with a stream of responses. The deadline holds for all of them together.
    ///
    /// # Errors
    /// The errors of sending; later errors come with the stream.
    pub async fn responses(self) -> Result<Responses<T::Parts, K, R>, Failure> {
        let Self { client: Client { caller, codec, .. }, method, request, deadline, .. } = self;
        let parts = caller.open(method, deadline, &Encoded::new(codec, request)).await?;
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
