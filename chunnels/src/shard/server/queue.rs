//! The queue of a shard of this process, and the path of its replies.

use bertha_core::{DropCounter, Error, ErrorKind, debug_fields};
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A request, and the path of its replies.
pub(super) type Request<T> = (T, ReplyTo<T>);

/// The requests of one shard, from all clients. It belongs to the thread or task that is the shard.
///
/// It works on any executor.
pub struct ShardQueue<T> {
    requests: mpsc::Receiver<Request<T>>,
}

impl<T> ShardQueue<T> {
    pub(super) fn new(requests: mpsc::Receiver<Request<T>>) -> Self {
        Self { requests }
    }

    /// Waits for at least one request, then appends the requests in the queue to `into`, at most `limit`, and
    /// returns their number. Cancellation-safe.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed) once every request was taken, and neither the
    /// [`LocalShards`](super::LocalShards) nor a connection that routes to them exists any more.
    pub async fn recv_batch(
        &mut self,
        into: &mut Vec<(T, ReplyTo<T>)>,
        limit: usize,
    ) -> Result<usize, Error> {
        match self.requests.recv_many(into, limit).await {
            0 if limit > 0 => Err(Error::new(ErrorKind::Closed, "no server routes to this shard any more")),
            count => Ok(count),
        }
    }
}

impl<T> fmt::Debug for ShardQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ShardQueue({} requests)", self.requests.len())
    }
}

/// The path of replies to the client that sent a request. It is cheap to clone.
pub struct ReplyTo<T> {
    client: Arc<Replies<T>>,
}

struct Replies<T> {
    queue: mpsc::Sender<T>,
    dropped: DropCounter,
}

impl<T> ReplyTo<T> {
    /// Makes a client's queue for `capacity` replies.
    pub(super) fn new(capacity: usize, dropped: DropCounter) -> (Self, mpsc::Receiver<T>) {
        let (queue, replies) = mpsc::channel(capacity);
        (Self { client: Arc::new(Replies { queue, dropped }) }, replies)
    }

    /// Sends a reply to the client without waiting, so that a client that does not receive its replies delays
    /// no other client. If its queue is full, the reply is dropped and counted
    /// ([`dropped`](super::ServerShardConnection::dropped)); if the client has gone, the reply is dropped as
    /// well.
    pub fn send(&self, reply: T) {
        if self.client.queue.try_send(reply).is_err() {
            self.client.dropped.add(1);
        }
    }
}

impl<T> Clone for ReplyTo<T> {
    fn clone(&self) -> Self {
        Self { client: self.client.clone() }
    }
}

debug_fields!(ReplyTo<T> {});
