//! Streams of requests that a caller sends.

use super::pass_through::Body;
use futures_util::stream::{BoxStream, StreamExt, unfold};
use std::fmt;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Number of requests that wait for the server before the sender waits.
const WAITING: usize = 16;

/// Makes a stream of requests: one end for an [`AnyCall`](super::AnyCall), and one for the task that makes the requests.
pub fn requests() -> (RequestSender, RequestsToSend) {
    let (sender, receiver) = channel(WAITING);
    (RequestSender(sender), RequestsToSend(receiver))
}

/// The end of a stream of requests that takes them. Dropping its last clone ends the stream.
#[derive(Debug, Clone)]
pub struct RequestSender(Sender<Vec<u8>>);

impl RequestSender {
    /// Takes a request once there is room, and returns false if none is wanted: the call is over, or its handler takes no
    /// more. A future that is dropped has taken nothing.
    pub async fn send(&self, request: Vec<u8>) -> bool {
        self.0.send(request).await.is_ok()
    }

    /// Waits until there is room for a request, which it does not take, or none is wanted.
    pub async fn room(&self) {
        drop(self.0.reserve().await);
    }
}

/// The end of a stream of requests that goes with a call.
pub struct RequestsToSend(Receiver<Vec<u8>>);

impl RequestsToSend {
    pub(super) fn into_stream(self) -> BoxStream<'static, Body> {
        unfold(self.0, |mut requests| async move { Some((Body(requests.recv().await?), requests)) }).boxed()
    }
}

impl fmt::Debug for RequestsToSend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestsToSend").finish_non_exhaustive()
    }
}
