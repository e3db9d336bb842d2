//! Shards that are threads or tasks of this process.

use super::backends::Link;
use super::forward::forward;
use super::queue::Request;
use super::routed::Routed;
use super::{Backends, ReplyTo, ShardQueue};
use crate::shard::keyed::Own;
use crate::shard::parts::Parts;
use crate::shard::{Keyed, ShardMap, failure};
use bertha_core::{ConnectContext, Connection, Error, ErrorKind, Identity};
use futures_util::future::{Either, select};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Maximum number of messages that are forwarded at once. While a queue is full, up to this number wait
/// outside of it.
const BURST: usize = 64;

/// Maximum capacity of a queue.
const MAX_QUEUED: usize = 65_536;

/// The shards in this process, each with a bounded queue of requests. The value is cheap to clone.
///
/// A shard takes bursts of requests from its [`ShardQueue`], and answers each request by its [`ReplyTo`]:
///
/// ```
/// # use bertha_chunnels::shard::{LocalShards, ShardQueue};
/// let (shards, queues) = LocalShards::<String>::new(6, 1024);
/// async fn serve(mut queue: ShardQueue<String>) {
///     let mut requests = Vec::new();
///     while queue.recv_batch(&mut requests, 64).await.is_ok() {
///         for (request, client) in requests.drain(..) {
///             client.send(format!("you said {request}"));
///         }
///     }
/// }
/// # let _ = (shards, queues.into_iter().map(serve));
/// ```
///
/// A full queue of requests applies backpressure to the client; a full queue of replies drops replies.
#[derive(Identity)]
#[chunnel(parameter)]
pub struct LocalShards<T> {
    queues: Arc<[mpsc::Sender<Request<T>>]>,
    capacity: usize,
}

impl<T> LocalShards<T> {
    /// Makes `shards` shards, and a queue for each shard, in the order of the shard map. Each queue holds
    /// `capacity` requests, and each client's queue as many replies; the capacity is clamped to 1 to 65,536.
    pub fn new(shards: usize, capacity: usize) -> (Self, Vec<ShardQueue<T>>) {
        let capacity = capacity.clamp(1, MAX_QUEUED);
        let (queues, receivers): (Vec<_>, Vec<_>) = (0..shards).map(|_| mpsc::channel(capacity)).unzip();
        let shards = Self { queues: queues.into(), capacity };
        (shards, receivers.into_iter().map(ShardQueue::new).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.queues.len()
    }
}

impl<Inner: Connection<Data: Keyed>> Backends<Inner> for LocalShards<Inner::Data> {
    async fn link(
        &self,
        client: &Arc<Inner>,
        map: &ShardMap,
        _: ConnectContext<'_, Inner>,
        routed: &Arc<Routed>,
    ) -> Result<Link<Inner>, Error> {
        let (reply_to, queue) = ReplyTo::new(self.capacity, routed.dropped.clone());
        let requests = requests(client.clone(), self.clone(), map.clone(), reply_to, routed.clone());
        let replies = replies(client.clone(), queue, routed.clone());
        let routing = Box::pin(async move {
            match select(pin!(requests), pin!(replies)).await {
                Either::Left((error, _)) | Either::Right((error, _)) => error,
            }
        });
        Ok(Link { shards: Arc::new([]), routing })
    }
}

async fn requests<C>(
    client: Arc<C>,
    shards: LocalShards<C::Data>,
    map: ShardMap,
    reply_to: ReplyTo<C::Data>,
    routed: Arc<Routed>,
) -> Error
where
    C: Connection<Data: Keyed>,
{
    let mut parts = Parts::<_, Own>::new(map.clone());
    loop {
        if let Err(error) = client.recv_batch(&mut parts, BURST).await {
            return error;
        }
        while let Some((number, mut messages)) = parts.next_part() {
            routed.requests(number, messages.len());
            while messages.len() > 0 {
                // A burst may be larger than the queue.
                let burst = messages.len().min(shards.capacity);
                let Ok(permits) = shards.queues[number].reserve_many(burst).await else {
                    let gone = Error::new(ErrorKind::Closed, "its queue was dropped");
                    return failure::of_shard("ServerShard", number, &map.shards()[number], gone);
                };
                for (permit, message) in permits.zip(&mut messages) {
                    permit.send((message, reply_to.clone()));
                }
            }
        }
    }
}

async fn replies<C: Connection>(
    client: Arc<C>,
    mut queue: mpsc::Receiver<C::Data>,
    routed: Arc<Routed>,
) -> Error {
    let mut burst = Vec::new();
    // The number is zero only at the end, since this connection holds a sender.
    while queue.recv_many(&mut burst, BURST).await > 0 {
        routed.replies(burst.len());
        if let Err(error) = forward(&*client, burst.drain(..), &routed.dropped).await {
            return error;
        }
    }
    Error::new(ErrorKind::Closed, "no shard can reply any more").at("ServerShard")
}

impl<T> Clone for LocalShards<T> {
    fn clone(&self) -> Self {
        Self { queues: self.queues.clone(), capacity: self.capacity }
    }
}

impl<T> fmt::Debug for LocalShards<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} local shards", self.queues.len())
    }
}
