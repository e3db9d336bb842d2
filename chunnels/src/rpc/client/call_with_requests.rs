//! A call with a stream of requests, that was not made yet.

use super::{Answer, Call, Caller, Responses};
use crate::rpc::encode::{Encode, Encoded, decode, encode};
use crate::rpc::{Failure, Metadata};
use crate::serialize::Codec;
use bertha_core::BoxFuture;
use futures_util::{Stream, StreamExt};
use std::fmt;

/// A call with a stream of requests, to be made: by [`Call::requests`]. Nothing is sent before it is awaited.
///
/// A task of the connection's runtime takes the requests from the stream and sends them, at most 64 beyond those that the
/// server's handler has taken, and none before the call has arrived. The stream is dropped at its end, once the handler
/// takes no more requests, and with the call: when it has a response, when it fails, and when its future or its
/// [`Responses`] are dropped, which cancels it. A request that has no encoding fails the call.
///
/// Such a call is made once: it is never repeated, by any carrier of calls.
///
/// ```
/// use bertha_chunnels::rpc::{Caller, Client, Failure, Method};
/// use futures_util::stream;
///
/// const SUM: Method = Method::new("sum");
/// # async fn example(client: Client<impl Caller>) -> Result<(), Failure> {
/// let sum: u64 = client.call(SUM, &0_u64).requests(stream::iter(0..1_000_u64)).await?;
/// # let _ = sum;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is sent before it is awaited"]
pub struct CallWithRequests<'a, T, K, Q, R, S> {
    call: Call<'a, T, K, Q, R>,
    requests: S,
}

impl<'a, T, K, Q, R> Call<'a, T, K, Q, R> {
    /// Adds a stream of requests behind the first, for a method that [takes them](crate::rpc::Requests).
    pub fn requests<S>(self, requests: S) -> CallWithRequests<'a, T, K, Q, R, S> {
        CallWithRequests { call: self, requests }
    }
}

impl<T, K, Q, R, S> CallWithRequests<'_, T, K, Q, R, S>
where
    T: Caller,
    K: Codec<Q> + Codec<R> + Codec<S::Item>,
    Q: Sync,
    S: Stream<Item: Send + Sync + 'static> + Send + 'static,
{
    /// Makes the call, and waits for its response.
    ///
    /// # Errors
    /// See [`FailureKind`](crate::rpc::FailureKind).
    pub async fn response(self) -> Result<R, Failure> {
        Ok(self.response_and_trailers().await?.0)
    }

    /// Makes the call, and waits for its response and the metadata that the server sends with it. The trailers of a
    /// failure are [in the failure](Failure::trailers).
    ///
    /// # Errors
    /// See [`FailureKind`](crate::rpc::FailureKind).
    pub async fn response_and_trailers(self) -> Result<(R, Metadata), Failure> {
        let Call { client, method, request, deadline, attached, .. } = self.call;
        let requests = encoded(&client.codec, self.requests);
        let request = Encoded::new(&client.codec, request);
        let asking =
            client.caller.ask_with_requests(method, deadline, attached.metadata()?, &request, requests);
        let Answer { response, trailers } = asking.await?;
        Ok((decode(&client.codec, &response).map_err(Failure::after_running)?, trailers))
    }

    /// Makes the call, to a method with a stream of responses. The deadline holds for all of them together.
    ///
    /// # Errors
    /// The errors of sending the first request; later errors come with the stream.
    pub async fn responses(self) -> Result<Responses<T::Parts, K, R>, Failure> {
        let Call { client, method, request, deadline, attached, .. } = self.call;
        let requests = encoded(&client.codec, self.requests);
        let request = Encoded::new(&client.codec, request);
        let opening =
            client.caller.open_with_requests(method, deadline, attached.metadata()?, &request, requests);
        Ok(Responses::new(opening.await?, client.codec.clone()))
    }
}

/// A request of a stream, in the format of a codec.
struct StreamedRequest<K, V> {
    codec: K,
    value: V,
}

impl<K: Codec<V>, V: Sync> Encode for StreamedRequest<K, V> {
    fn encode(&self, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        encode(&self.codec, &self.value, into)
    }

    fn limit(&self) -> usize {
        self.codec.limit()
    }
}

fn encoded<K, S>(codec: &K, requests: S) -> impl Stream<Item = StreamedRequest<K, S::Item>> + Send + 'static
where
    K: Codec<S::Item>,
    S: Stream<Item: Send + Sync + 'static> + Send + 'static,
{
    let codec = codec.clone();
    requests.map(move |value| StreamedRequest { codec: codec.clone(), value })
}

/// # Errors
/// See [`FailureKind`](crate::rpc::FailureKind).
impl<'a, T, K, Q, R, S> IntoFuture for CallWithRequests<'a, T, K, Q, R, S>
where
    T: Caller,
    K: Codec<Q> + Codec<R> + Codec<S::Item>,
    Q: Sync,
    R: Send + 'a,
    S: Stream<Item: Send + Sync + 'static> + Send + 'static,
{
    type Output = Result<R, Failure>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.response())
    }
}

impl<T, K, Q, R, S> fmt::Debug for CallWithRequests<'_, T, K, Q, R, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CallWithRequests").field(&self.call).finish()
    }
}
