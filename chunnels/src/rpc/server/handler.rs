//! A service of one method, by a function.

use super::{Reply, Request, Service};
use crate::rpc::encode::encode;
use crate::rpc::{Failure, Method};
use crate::serialize::{Codec, Postcard};
use std::fmt;
use std::marker::PhantomData;

/// A service of one method, which a function answers: by [`handler`].
pub struct Handler<F, Q, R, K = Postcard> {
    method: Method,
    codec: K,
    answer: F,
    types: PhantomData<fn(Q) -> R>,
}

/// Returns a service of one method.
///
/// ```
/// use bertha_chunnels::rpc::{Method, handler, serve};
/// const LENGTH: Method = Method::new("length");
/// # async fn example(connection: impl bertha_core::Connection<Data = bertha_chunnels::rpc::Message>) {
/// let serving = serve(connection, handler(LENGTH, async |text: String| Ok(text.len() as u64)));
/// # drop(serving);
/// # }
/// ```
pub fn handler<F, A, Q, R>(method: Method, answer: F) -> Handler<F, Q, R>
where
    F: Fn(Q) -> A + Send + Sync + 'static,
    A: Future<Output = Result<R, Failure>> + Send,
{
    Handler { method, codec: Postcard, answer, types: PhantomData }
}

impl<F, Q, R, K> Handler<F, Q, R, K> {
    /// Makes a handler in the format of another codec, which has to be the codec of the client.
    pub fn codec<L>(self, codec: L) -> Handler<F, Q, R, L> {
        Handler { method: self.method, codec, answer: self.answer, types: PhantomData }
    }
}

impl<F, A, Q, R, K> Service for Handler<F, Q, R, K>
where
    F: Fn(Q) -> A + Send + Sync + 'static,
    A: Future<Output = Result<R, Failure>> + Send,
    Q: Send + 'static,
    R: Send + Sync + 'static,
    K: Codec<Q> + Codec<R>,
{
    type Response = R;

    async fn call(&self, request: Request<'_>) -> Result<Reply<'_, R>, Failure> {
        if !request.is(self.method) {
            return Err(request.unknown());
        }
        let question = request.decode(&self.codec)?;
        // Large, and not needed while the function runs.
        drop(request);
        (self.answer)(question).await.map(Reply::One).map_err(Failure::after_running)
    }

    fn encode(&self, response: &R, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        encode(&self.codec, response, into)
    }

    fn limit(&self) -> usize {
        Codec::<R>::limit(&self.codec)
    }
}

impl<F, Q, R, K> fmt::Debug for Handler<F, Q, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handler").field(&self.method).finish()
    }
}
