//! A trait of every kind of method becomes a client and a server.

use bertha::rpc::{self, Caller, Context, Failure, Responses, Service};
use futures_util::stream::iter;
use futures_util::{Stream, StreamExt};

#[bertha::service]
pub trait Store {
    /// Nothing in, nothing out.
    async fn flush(&self);
    /// Several arguments, and a failure of its own.
    #[idempotent]
    async fn put(&self, key: String, value: Vec<u8>) -> Result<u64, String>;
    /// Many responses.
    fn keys(&self, prefix: String) -> impl Stream<Item = String>;
    /// The circumstances of the call, between arguments with names of the macro's own variables.
    async fn erase(&self, request: String, context: &Context, item: u8) -> Result<u64, rpc::Failure>;
    /// Responses that borrow from the circumstances of the call.
    fn entries(&self, context: &rpc::Context) -> impl Stream<Item = Result<String, rpc::Failure>>;
    /// A stream of requests, behind an argument and the circumstances of the call.
    async fn load(&self, name: String, context: &Context, rows: rpc::Requests<(u8, String)>) -> u64;
    /// Streams both ways.
    fn watch(&self, keys: rpc::Requests<String>) -> impl Stream<Item = Result<u64, rpc::Failure>>;
    /// Responses that borrow from the circumstances of the call, and take requests.
    fn relay(&self, context: &Context, keys: bertha::rpc::Requests<u8>) -> impl Stream<Item = String>;
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

    async fn erase(&self, _: String, context: &Context, _: u8) -> Result<u64, rpc::Failure> {
        context.add_trailer("erased", "1")?;
        Ok(1)
    }

    fn entries(&self, context: &Context) -> impl Stream<Item = Result<String, rpc::Failure>> {
        iter(context.metadata().iter().map(|(key, _)| Ok(key.to_owned())))
    }

    async fn load(&self, _: String, _: &Context, mut rows: rpc::Requests<(u8, String)>) -> u64 {
        rows.next().await.is_some().into()
    }

    fn watch(&self, keys: rpc::Requests<String>) -> impl Stream<Item = Result<u64, rpc::Failure>> {
        keys.map(|key| Ok(key?.len() as u64))
    }

    fn relay(&self, context: &Context, keys: rpc::Requests<u8>) -> impl Stream<Item = String> {
        keys.map(|_| context.peer_addr().to_string())
    }
}

#[allow(dead_code)]
async fn calls<C: Caller>(store: StoreClient<C>) -> Result<(), Failure> {
    store.flush().await?;
    let put: Result<u64, String> = store.put("key".into(), vec![1]).await?;
    let mut keys: Responses<C::Parts, _, String> = store.keys("k".into()).await?;
    let store = store.metadata("token", "secret");
    let erased: u64 = store.erase("key".into(), 1).await?;
    let mut entries: Responses<C::Parts, _, String> = store.entries().await?;
    let (loaded, trailers): (u64, rpc::Metadata) =
        store.load_and_trailers("all".into(), iter([(1, "one".to_owned())])).await?;
    let mut watch: Responses<C::Parts, _, u64> = store.watch(iter(["key".to_owned()])).await?;
    let _ = (put, keys.next().await, erased, entries.next().await);
    let _ = (loaded, trailers, watch.next().await, store.relay(iter([1])).await?);
    Ok(())
}

fn answers(_: impl Service) {}

fn main() {
    answers(StoreServer::new(Empty));
}
