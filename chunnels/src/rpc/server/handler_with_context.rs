//! A service of one method, by a function that sees the circumstances of its call.

use super::{Context, Reply, Request, Service};
use crate::rpc::encode::encode;
use crate::rpc::{Failure, Method};
use crate::serialize::{Codec, Postcard};
use std::fmt;
use std::marker::PhantomData;

/// A service of one method, which a function answers that gets the [`Context`]: by [`handler_with_context`].
pub struct HandlerWithContext<F, Q, R, K = Postcard> {
    method: Method,
    codec: K,
    answer: F,
    types: PhantomData<fn(Q) -> R>,
}

/// Returns a service of one method, which sees who calls. [`Context`] has an example.
pub fn handler_with_context<F, A, Q, R>(method: Method, answer: F) -> HandlerWithContext<F, Q, R>
where
    F: Fn(Context, Q) -> A + Send + Sync + 'static,
    A: Future<Output = Result<R, Failure>> + Send,
{
    HandlerWithContext { method, codec: Postcard, answer, types: PhantomData }
}

impl<F, Q, R, K> HandlerWithContext<F, Q, R, K> {
    /// Makes a handler in the format of another codec, which has to be the codec of the client.
    pub fn codec<L>(self, codec: L) -> HandlerWithContext<F, Q, R, L> {
        HandlerWithContext { method: self.method, codec, answer: self.answer, types: PhantomData }
    }
}

impl<F, A, Q, R, K> Service for HandlerWithContext<F, Q, R, K>
where
    F: Fn(Context, Q) -> A + Send + Sync + 'static,
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
        let context = request.context();
        // Large, and not needed while the function runs.
        drop(request);
        (self.answer)(context, question).await.map(Reply::One).map_err(Failure::after_running)
    }

    fn encode(&self, response: &R, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        encode(&self.codec, response, into)
    }

    fn limit(&self) -> usize {
        Codec::<R>::limit(&self.codec)
    }
}

impl<F, Q, R, K> fmt::Debug for HandlerWithContext<F, Q, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HandlerWithContext").field(&self.method).finish()
    }
}
