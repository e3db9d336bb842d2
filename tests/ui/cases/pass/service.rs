//! A trait of every kind of method becomes a client and a server.

use bertha::rpc::{Caller, Failure, Responses, Service};
use futures_util::Stream;
use futures_util::stream::iter;

#[bertha::service]
pub trait Store {
    /// Nothing in, nothing out.
    async fn flush(&self);
    /// Several arguments, and a failure of its own.
    #[idempotent]
    async fn put(&self, key: String, value: Vec<u8>) -> Result<u64, String>;
    /// Many responses.
    fn keys(&self, prefix: String) -> impl Stream<Item = String>;
}

struct Empty;

impl Store for Empty {
    async fn flush(&self) {}

    async fn put(&self, key: String, _: Vec<u8>) -> Result<u64, String> {
        Err(key)
    }

    fn keys(&self, prefix: String) -> impl Stream<Item = String> {
        iter([prefix])
    }
}

#[allow(dead_code)]
async fn calls<C: Caller>(store: StoreClient<C>) -> Result<(), Failure> {
    store.flush().await?;
    let put: Result<u64, String> = store.put("key".into(), vec![1]).await?;
    let mut keys: Responses<C::Parts, _, String> = store.keys("k".into()).await?;
    let _ = (put, keys.next().await);
    Ok(())
}

fn answers(_: impl Service) {}

fn main() {
    answers(StoreServer::new(Empty));
}
