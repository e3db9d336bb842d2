//! A TCP connection.

use super::reader::Reader;
use super::writer::Writer;
use crate::CaladanBase;
use crate::CaladanRuntime;
use crate::bindings::TcpSocket;
use crate::failure::{failed, failure};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Properties, Runtime};
use parking_lot::Mutex;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

/// Time until a waiting writer tries again by itself: Caladan does not notify when it has repeated a segment,
/// and takes no data during the repetition.
const RETRY: Duration = Duration::from_millis(5);

/// A base connection over TCP and Caladan.
///
/// Closing or dropping the connection ends the stream; the peer then gets [`Closed`](ErrorKind::Closed) after
/// the last message.
pub struct TcpConnection {
    socket: Arc<TcpSocket>,
    base: CaladanBase,
    reader: Mutex<Reader>,
    writer: Mutex<Writer>,
    closed: AtomicBool,
    /// True if the stream has ended. Sending might still work until the peer drops the connection.
    ended: AtomicBool,
}

impl TcpConnection {
    pub(super) fn new(socket: Arc<TcpSocket>, largest: usize) -> Self {
        let [local, peer] = socket.addresses();
        let base = CaladanBase::new(Properties::STREAM, largest, local, peer);
        let reader = Mutex::new(Reader::new(largest));
        let writer = Mutex::default();
        Self { socket, base, reader, writer, closed: AtomicBool::new(false), ended: AtomicBool::new(false) }
    }

    fn check_open(&self) -> Result<(), Error> {
        // Acquire pairs with the release of `close`, which wakes afterwards.
        if self.closed.load(Ordering::Acquire) { Err(self.base.closed()) } else { Ok(()) }
    }

    /// Returns an error if nothing can be sent any more.
    fn check_sending(&self) -> Result<(), Error> {
        self.check_open()?;
        if self.ended.load(Ordering::Relaxed) {
            return Err(failure(ErrorKind::Closed, "the stream has ended"));
        }
        Ok(())
    }

    fn try_recv(&self) -> Poll<Result<Buf, Error>> {
        let mut received = self.check_open();
        let mut message = None;
        if received.is_ok() {
            received = self.reader.lock().next(&self.socket).map(|next| message = next);
        }
        match (received, message) {
            (Ok(()), Some(message)) => Poll::Ready(Ok(message)),
            (Ok(()), None) => Poll::Pending,
            (Err(error), _) => {
                if error.ends_connection() {
                    self.ended.store(true, Ordering::Relaxed);
                }
                Poll::Ready(Err(error))
            }
        }
    }

    /// An error of sending, which is the end of the stream unless Caladan lacks buffers for the moment.
    #[cold]
    fn not_sent(&self, error: io::Error) -> Error {
        let error = failed(error, "send");
        if error.kind() == ErrorKind::Exhausted {
            return error;
        }
        self.ended.store(true, Ordering::Relaxed);
        error.ending_connection()
    }

    /// Runs `operation` until it does not block.
    async fn when_writable<T: Send>(
        &self,
        mut operation: impl FnMut(&mut Writer) -> io::Result<T> + Send,
    ) -> Result<T, Error> {
        loop {
            let mut attempt = || match operation(&mut self.writer.lock()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
                done => Poll::Ready(done.map_err(|error| self.not_sent(error))),
            };
            if let Poll::Ready(done) = attempt() {
                return done;
            }
            let mut retry = pin!(CaladanRuntime.sleep_until(CaladanRuntime.now() + RETRY));
            let done = poll_fn(|cx| {
                self.socket.events().wait_to_write(cx);
                match attempt() {
                    Poll::Ready(done) => Poll::Ready(Some(done)),
                    Poll::Pending => retry.as_mut().poll(cx).map(|()| None),
                }
            });
            if let Some(done) = done.await {
                return done;
            }
        }
    }
}

impl Connection for TcpConnection {
    type Data = Buf;
    type Base = CaladanBase;

    fn base(&self) -> &CaladanBase {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.check_sending()?;
        if message.len() > self.base.mtu() {
            return Err(self.base.too_large(message.len()));
        }
        let mark = self.when_writable(|writer| writer.write(&self.socket, &message)).await?;
        // The stream may have taken a part of the message: the writer has the rest, and any call that drives
        // it goes on.
        self.when_writable(|writer| writer.pass(&self.socket, mark)).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        poll_fn(|cx| {
            let received = self.try_recv();
            if received.is_ready() {
                return received;
            }
            self.socket.events().wait_to_read(cx);
            self.try_recv()
        })
        .await
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        into.extend(Some(self.recv().await?));
        let mut received = 1;
        while received < limit {
            // The lock is not held while `into` runs.
            let Some(message) = self.reader.lock().next_read() else { break };
            into.extend(Some(message));
            received += 1;
        }
        Ok(received)
    }

    /// Writes the rest of a message whose `send` was cancelled.
    async fn drain(&self) -> Result<(), Error> {
        self.when_writable(|writer| writer.flush(&self.socket)).await
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Release);
        self.socket.events().wake_all();
        self.when_writable(|writer| writer.flush(&self.socket)).await?;
        self.socket.shut_down().map_err(|error| failed(error, "close"))
    }
}

impl fmt::Debug for TcpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpConnection").field("peer", &self.base.peer_addr()).finish_non_exhaustive()
    }
}
