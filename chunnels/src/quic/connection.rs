//! The connection as the layer above sees it.

use super::TARGET;
use super::agreement::Agreed;
use super::frame::LARGEST;
use super::runtime::Tasks;
use super::socket::Socket;
use super::stream::{self, DONE, DROPPED, Outgoing, Phase, QUEUE, StreamShared};
use bertha_core::{Addr, Base, Buf, Connection, DropCounter, Error, ErrorKind};
use futures_util::future::{Either, select};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc, oneshot};

/// The connection of [`Quic`](super::Quic) over a connection that carries datagrams.
///
/// `send` is ready once the message is queued, and waits while 256 messages are. Dropping the future of `send` or `recv`
/// loses nothing. Dropping the connection drops queued messages, and the peer gets [`Reset`](ErrorKind::Reset); `close` delivers them
/// first. `close` is ready once the
/// peer has every message and has closed as well; messages that arrive meanwhile are dropped. A peer that does not receive keeps it
/// waiting. [`drain`](Connection::drain) is ready once the peer has every message.
///
/// # Errors
/// `send` fails with [`TooLarge`](ErrorKind::TooLarge) beyond 64 KiB, or beyond the largest message below. All calls fail with
/// [`Closed`](ErrorKind::Closed) once either end has closed or the connection's runtime has ended, with
/// [`TimedOut`](ErrorKind::TimedOut) if the peer is silent, with [`Malformed`](ErrorKind::Malformed) or [`Reset`](ErrorKind::Reset) if
/// one end broke the protocol, and otherwise as the connection below does.
pub struct QuicConnection<Inner: Connection<Data = Buf>> {
    socket: Arc<Socket<Inner>>,
    /// The largest message.
    max: usize,
    shared: Arc<StreamShared>,
    outgoing: mpsc::Sender<Outgoing>,
    /// Locked across the wait for a message, so that each message goes to one `recv`.
    incoming: Mutex<mpsc::Receiver<Buf>>,
    /// Keeps the socket in use.
    endpoint: quinn::Endpoint,
    /// Ends the tasks with the connection.
    tasks: Arc<Tasks<<Inner::Base as Base>::Runtime>>,
}

impl<Inner: Connection<Data = Buf>> QuicConnection<Inner> {
    pub(super) fn new(
        socket: Arc<Socket<Inner>>,
        endpoint: quinn::Endpoint,
        connection: quinn::Connection,
        agreed: Agreed,
        tasks: Arc<Tasks<<Inner::Base as Base>::Runtime>>,
        after_end: DropCounter,
    ) -> Self {
        let Agreed { outgoing: sends, incoming: receives, .. } = agreed;
        let base = socket.inner().base();
        let max = socket.inner().mtu().saturating_sub(base.reserved()).min(LARGEST);
        let (outgoing, to_write) = mpsc::channel(QUEUE);
        let (read, incoming) = mpsc::channel(QUEUE);
        let shared = StreamShared::new(connection.clone(), outgoing.downgrade(), read.downgrade(), after_end);
        let shared = Arc::new(shared);
        let ended = shared.clone();
        let writer = shared.clone();
        let quic = connection.clone();
        let writing = async move { stream::write(&writer, &quic, sends, to_write).await };
        tasks.spawn_watched(base.runtime(), writing, move || ended.on_writer_end());
        let (ended, reader, quic, below) = (shared.clone(), shared.clone(), connection, socket.clone());
        let reading = async move {
            stream::read(&reader, &quic, receives, read).await;
            tell_end(&quic, &below.inner().base().peer_addr());
            part(&reader, &quic, &below).await;
        };
        tasks.spawn_watched(base.runtime(), reading, move || ended.on_reader_end());
        Self { socket, max, shared, outgoing, incoming: Mutex::new(incoming), endpoint, tasks }
    }

    /// Returns the state that the [statistics](bertha_core::statistics) show.
    pub(super) fn observed(&self) -> &Arc<StreamShared> {
        &self.shared
    }

    #[cold]
    fn ended(&self) -> Error {
        if *self.shared.phase.borrow() == Phase::Closed {
            return Error::new(ErrorKind::Closed, "this end closed the connection").at("Quic");
        }
        self.end().unwrap_or_else(|| Error::new(ErrorKind::Closed, "the connection has ended").at("Quic"))
    }

    /// Returns the reason for the end of the connection, if this end did not cause it.
    fn end(&self) -> Option<Error> {
        let end = match (self.shared.end(), self.socket.end()) {
            // QUIC's reason is more precise than the error of the connection below.
            (Some((kind @ (ErrorKind::Closed | ErrorKind::Malformed), what)), _) => Error::new(kind, what),
            (_, Some(below)) => below,
            (Some((kind, what)), None) => Error::new(kind, what),
            (None, None) => return None,
        };
        Some(end.at("Quic").ending_connection())
    }

    async fn closed(&self) {
        // The wait never fails, since the sender is here.
        let _ = self.shared.phase.subscribe().wait_for(|phase| *phase == Phase::Closed).await;
    }
}

#[cold]
fn too_large(len: usize, max: usize) -> Error {
    let what = format!("message of {len} bytes, at most {max} fit; put Fragment above to split messages");
    Error::new(ErrorKind::TooLarge, what).at("Quic")
}

impl<Inner: Connection<Data = Buf>> Connection for QuicConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.socket.inner().base()
    }

    fn mtu(&self) -> usize {
        self.socket.inner().mtu()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        if message.len() > self.max {
            return Err(too_large(message.len(), self.max));
        }
        if *self.shared.phase.borrow() != Phase::Open {
            return Err(self.ended());
        }
        self.outgoing.send(Outgoing::Message(message)).await.map_err(|_| self.ended())
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let received = pin!(async { self.incoming.lock().await.recv().await });
        match select(pin!(self.closed()), received).await {
            Either::Left(_) => Err(self.ended()),
            Either::Right((received, _)) => received.ok_or_else(|| self.ended()),
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        into.extend([self.recv().await?]);
        let mut count = 1;
        // Another waiting `recv` gets the rest.
        if let Ok(mut incoming) = self.incoming.try_lock() {
            while count < limit
                && let Ok(message) = incoming.try_recv()
            {
                into.extend([message]);
                count += 1;
            }
        }
        Ok(count)
    }

    async fn drain(&self) -> Result<(), Error> {
        let (drained, is_drained) = oneshot::channel();
        self.outgoing.send(Outgoing::Drain(drained)).await.map_err(|_| self.ended())?;
        is_drained.await.map_err(|_| self.ended())?;
        self.socket.flush().await;
        self.socket.inner().drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        self.shared.advance(Phase::Closed);
        // The wait never fails, since the sender is here.
        let _ = self.shared.running.subscribe().wait_for(|running| *running == 0).await;
        // A waiting `recv` holds the lock only until it is polled, and then another call gets the queue.
        if let Ok(mut incoming) = self.incoming.try_lock() {
            while incoming.try_recv().is_ok() {
                self.shared.after_end.add(1);
            }
        }
        // Only QUIC's own end counts: the end of the connection below does not show that the peer has every
        // message.
        let is_delivered = matches!(self.shared.end(), None | Some((ErrorKind::Closed, _)));
        let end = self.end();
        self.shared.connection.close(DONE, b"");
        self.socket.flush().await;
        let below = self.socket.close().await;
        match end {
            Some(end) if !is_delivered => Err(end),
            _ => below,
        }
    }
}

impl<Inner: Connection<Data = Buf>> Drop for QuicConnection<Inner> {
    /// Says that this end did not close. Behind the close of a peer whose messages have all arrived, the reading task closes this end as
    /// well, so that the peer learns that they have.
    fn drop(&mut self) {
        if *self.shared.phase.borrow() == Phase::Closed {
            return;
        }
        if !self.shared.has_peer_closed() {
            tell_end(&self.shared.connection, &self.base().peer_addr());
            return self.shared.connection.close(DROPPED, b"dropped");
        }
        self.shared.leave(Box::new((self.endpoint.clone(), self.tasks.clone())));
    }
}

/// Tells the end of the connection, or of what the peer sends, with the statistics of its path.
#[cold]
fn tell_end(connection: &quinn::Connection, peer: &Addr) {
    let path = connection.stats().path;
    tracing::debug!(
        target: TARGET,
        %peer,
        reason = connection.close_reason().map(tracing::field::display),
        sent = path.sent_packets,
        lost = path.lost_packets,
        congestion_events = path.congestion_events,
        window = path.cwnd,
        rtt = ?path.rtt,
        mtu = path.current_mtu,
        black_holes = path.black_holes_detected,
        "the connection ends"
    );
}

/// Closes an end that was dropped behind the peer's close. Returns at once if it was closed.
async fn part<Inner>(shared: &StreamShared, connection: &quinn::Connection, socket: &Socket<Inner>)
where
    Inner: Connection<Data = Buf>,
{
    let Some(kept) = shared.left().await else { return };
    connection.close(DONE, b"");
    socket.flush().await;
    // Nobody is left to tell of an error.
    let _ = socket.close().await;
    drop(kept);
}

impl<Inner: Connection<Data = Buf>> fmt::Debug for QuicConnection<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicConnection").finish_non_exhaustive()
    }
}
