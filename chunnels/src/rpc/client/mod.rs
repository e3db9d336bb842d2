//! The end that calls.

mod attached;
mod call;
mod call_with_requests;
mod caller;
mod calls;
mod multiplexer;
mod reconnecting;
mod responses;
mod room;
mod statistics;

use super::{Message, Method};
use crate::serialize::{Codec, Postcard};
use attached::Attached;
use bertha_core::Connection;
pub use call::Call;
pub use call_with_requests::CallWithRequests;
pub use caller::{Answer, Caller, ResponseParts};
pub use multiplexer::{MultiplexedParts, Multiplexer};
pub use reconnecting::Reconnecting;
pub use responses::Responses;
pub use statistics::CallStatistics;
use std::time::Duration;

/// Makes typed calls, each with a request and a response or a stream of them, encoded by the codec `K`.
///
/// Clones are cheap and share the connection.
#[derive(Debug, Clone)]
pub struct Client<T, K = Postcard> {
    caller: T,
    codec: K,
    deadline: Option<Duration>,
    attached: Attached,
}

impl<C: Connection<Data = Message>> Client<Multiplexer<C>> {
    /// Calls over a connection of [`Rpc`](super::Rpc), within its runtime. At most 1,024 calls are under way at a time, further ones
    /// wait; see [`Multiplexer::with_limit`]. Responses that wait for their callers have at most 1 GiB in all clients of the
    /// process together; see [`Multiplexer::waiting_with`].
    pub fn new(connection: C) -> Self {
        Self::over(Multiplexer::new(connection))
    }
}

impl<T: Caller> Client<T> {
    /// Calls by whatever carries encoded ones.
    pub fn over(caller: T) -> Self {
        Self { caller, codec: Postcard, deadline: None, attached: Attached::default() }
    }
}

impl<T: Caller, K> Client<T, K> {
    /// Returns a client whose calls have the format of another codec, which has to be the codec of the service. The ends
    /// compare the codec that [`Rpc::codec`](super::Rpc::codec) names.
    pub fn codec<L>(self, codec: L) -> Client<T, L> {
        Client { caller: self.caller, codec, deadline: self.deadline, attached: self.attached }
    }

    /// Gives each call that has no deadline of its own this long.
    #[must_use]
    pub fn deadline(mut self, within: Duration) -> Self {
        self.deadline = Some(within);
        self
    }

    /// Adds an entry to the [metadata](super::Metadata) of each call. Calls fail before they are sent if the entry is none that
    /// [`Metadata::add`](super::Metadata::add) takes.
    #[must_use]
    pub fn metadata(mut self, key: &str, value: impl AsRef<[u8]>) -> Self {
        self.attached.add(key, value.as_ref());
        self
    }

    /// Returns the carrier of encoded calls.
    pub fn caller(&self) -> &T {
        &self.caller
    }

    /// Returns a call, to be awaited; or with [`Call::responses`] a stream of responses, and with [`Call::requests`] a
    /// call with a stream of requests.
    ///
    /// ```
    /// use bertha_chunnels::rpc::{Caller, Client, Failure, Method};
    /// use std::time::Duration;
    ///
    /// const LENGTH: Method = Method::new("length").idempotent();
    /// # async fn example(client: Client<impl Caller>) -> Result<(), Failure> {
    /// let length: u64 = client.call(LENGTH, &"hello".to_owned()).deadline(Duration::from_secs(1)).await?;
    /// # let _ = length;
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn call<'a, Q, R>(&'a self, method: Method, request: &'a Q) -> Call<'a, T, K, Q, R>
    where
        K: Codec<Q> + Codec<R>,
    {
        Call::new(self, method, request)
    }
}
