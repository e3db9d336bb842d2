//! Acceptance of TCP connections.

use super::TcpConnection;
use crate::CaladanRuntime;
use crate::bindings::TcpQueue;
use crate::failure::failed;
use crate::places;
use bertha_core::{Addr, Error, Listener, Properties, Runtime};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Time to wait for tasks to end when there are too many for another connection.
const PAUSE: Duration = Duration::from_millis(20);

/// A listener for TCP connections. Dropping it ends the connections that were not accepted. While there is no
/// room for the tasks of another connection, accepting pauses.
pub struct TcpListener {
    queue: TcpQueue,
    largest: usize,
}

impl TcpListener {
    pub(super) fn new(queue: TcpQueue, largest: usize) -> Self {
        Self { queue, largest }
    }

    fn try_accept(&self) -> Poll<Result<TcpConnection, Error>> {
        match self.queue.accept() {
            Ok(socket) => Poll::Ready(Ok(TcpConnection::new(Arc::new(socket), self.largest))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            Err(error) => Poll::Ready(Err(failed(error, "accept"))),
        }
    }
}

impl Listener for TcpListener {
    type Connection = TcpConnection;

    async fn accept(&self) -> Result<TcpConnection, Error> {
        while !places::has_room() {
            tracing::warn!(local = %self.queue.local(), tasks = places::taken(), "accepting pauses");
            CaladanRuntime.sleep_until(CaladanRuntime.now() + PAUSE).await;
        }
        poll_fn(|cx| {
            let accepted = self.try_accept();
            if accepted.is_ready() {
                return accepted;
            }
            self.queue.events().wait_to_read(cx);
            self.try_accept()
        })
        .await
    }

    fn local_addr(&self) -> Addr {
        SocketAddr::V4(self.queue.local()).into()
    }

    fn properties(&self) -> Option<Properties> {
        Some(Properties::STREAM)
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpListener").field("local", &self.queue.local()).finish_non_exhaustive()
    }
}
