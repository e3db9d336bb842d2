//! A service of one method, by a function.

use super::{Context, Reply, Request, Service};
use crate::rpc::encode::encode;
use crate::rpc::{Failure, Method};
use crate::serialize::{Codec, Postcard};
use std::fmt;
use std::marker::PhantomData;

/// A service of one method, which a function answers: by [`handler`] or [`handler_with_context`].
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
pub fn handler<F, A, Q, R>(method: Method, answer: F) -> Handler<OfRequest<F>, Q, R>
where
    F: Fn(Q) -> A + Send + Sync + 'static,
    A: Future<Output = Result<R, Failure>> + Send,
{
    Handler { method, codec: Postcard, answer: OfRequest(answer), types: PhantomData }
}

/// Returns a service of one method, which sees who calls. [`Context`] has an example.
pub fn handler_with_context<F, A, Q, R>(method: Method, answer: F) -> Handler<OfContextAndRequest<F>, Q, R>
where
    F: Fn(Context, Q) -> A + Send + Sync + 'static,
    A: Future<Output = Result<R, Failure>> + Send,
{
    Handler { method, codec: Postcard, answer: OfContextAndRequest(answer), types: PhantomData }
}

/// A function that answers requests `Q` by responses `R`.
pub trait Function<Q, R>: Send + Sync + 'static {
    type Answer: Future<Output = Result<R, Failure>> + Send;

    /// Begins an answer to the decoded request.
    fn answer(&self, request: &Request<'_>, decoded: Q) -> Self::Answer;
}

/// A function of the request alone, whose call makes no context.
#[derive(Debug)]
pub struct OfRequest<F>(F);

impl<F, A, Q, R> Function<Q, R> for OfRequest<F>
where
    F: Fn(Q) -> A + Send + Sync + 'static,
    A: Future<Output = Result<R, Failure>> + Send,
{
    type Answer = A;

    #[inline]
    fn answer(&self, _: &Request<'_>, decoded: Q) -> A {
        (self.0)(decoded)
    }
}

/// A function that sees the circumstances of its call.
#[derive(Debug)]
pub struct OfContextAndRequest<F>(F);

impl<F, A, Q, R> Function<Q, R> for OfContextAndRequest<F>
where
    F: Fn(Context, Q) -> A + Send + Sync + 'static,
    A: Future<Output = Result<R, Failure>> + Send,
{
    type Answer = A;

    fn answer(&self, request: &Request<'_>, decoded: Q) -> A {
        (self.0)(request.context(), decoded)
    }
}

impl<F, Q, R, K> Handler<F, Q, R, K> {
    /// Makes a handler in the format of another codec, which has to be the codec of the client.
    pub fn codec<L>(self, codec: L) -> Handler<F, Q, R, L> {
        Handler { method: self.method, codec, answer: self.answer, types: PhantomData }
    }
}

impl<F, Q, R, K> Service for Handler<F, Q, R, K>
where
    F: Function<Q, R>,
    Q: Send + 'static,
    R: Send + Sync + 'static,
    K: Codec<Q> + Codec<R>,
{
    type Response = R;

    async fn call(&self, request: Request<'_>) -> Result<Reply<'_, R>, Failure> {
        if !request.is(self.method) {
            return Err(request.unknown());
        }
        let answering = self.answer.answer(&request, request.decode(&self.codec)?);
        // Large, and not needed while the function runs.
        drop(request);
        answering.await.map(Reply::One).map_err(Failure::after_running)
    }

    fn encode(&self, response: &R, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        encode(&self.codec, response, into)
    }

    fn limit(&self) -> usize {
        Codec::<R>::limit(&self.codec)
    }

    fn methods(&self) -> &[Method] {
        std::slice::from_ref(&self.method)
    }
}

impl<F, Q, R, K> fmt::Debug for Handler<F, Q, R, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Handler").field(&self.method).finish()
    }
}
