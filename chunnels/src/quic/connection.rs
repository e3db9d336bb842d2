//! The connection that applications hold.

use super::frame::LARGEST;
use super::runtime::Tasks;
use super::socket::Socket;
use super::stream::{self, DONE, Outgoing, Phase, QUEUE, Shared};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind};
use futures_util::future::{Either, select};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc, oneshot};

/// What [`Quic`](super::Quic) makes of a connection that carries datagrams.
///
/// `send` is ready once the message waits to be sent, and waits itself while 256 do. Dropping the future of `send` or `recv`
/// loses nothing. Dropping the connection drops what waits; `close` first to be sure that it arrives. `close` is ready once the
/// peer has everything and has said all itself; what arrives meanwhile is dropped. A peer that does not receive keeps it waiting.
///
/// # Errors
/// `send` fails with [`TooLarge`](ErrorKind::TooLarge) beyond 64 KiB, or what fits in a message below. All calls fail with
/// [`Closed`](ErrorKind::Closed) once either end has closed, [`TimedOut`](ErrorKind::TimedOut) from a silent peer,
/// [`Malformed`](ErrorKind::Malformed) or [`Reset`](ErrorKind::Reset) if one end broke the protocol, and otherwise as the connection
/// below does.
pub struct QuicConnection<Inner: Connection> {
    socket: Arc<Socket<Inner>>,
    /// The largest message.
    most: usize,
    shared: Arc<Shared>,
    outgoing: mpsc::Sender<Outgoing>,
    /// Locked while waiting for a message: several may wait, and each message goes to one of them.
    incoming: Mutex<mpsc::Receiver<Buf>>,
    connection: quinn::Connection,
    /// Keeps the socket in use.
    _endpoint: quinn::Endpoint,
    /// Ends the tasks with the connection.
    _tasks: Arc<Tasks<<Inner::Base as Base>::Runtime>>,
}

impl<Inner: Connection<Data = Buf>> QuicConnection<Inner> {
    pub(super) fn new(
        socket: Arc<Socket<Inner>>,
        endpoint: quinn::Endpoint,
        connection: quinn::Connection,
        tasks: Arc<Tasks<<Inner::Base as Base>::Runtime>>,
    ) -> Self {
        let base = socket.inner.base();
        let most = socket.inner.mtu().saturating_sub(base.reserved()).min(LARGEST);
        let shared = Arc::new(Shared::new());
        let (outgoing, to_write) = mpsc::channel(QUEUE);
        let (read, incoming) = mpsc::channel(QUEUE);
        let (ended, writer, quic) = (shared.clone(), shared.clone(), connection.clone());
        let writing = async move { stream::write(&writer, &quic, to_write).await };
        tasks.spawn_watched(base.runtime(), writing, move || ended.on_writer_end());
        let (ended, reader, quic) = (shared.clone(), shared.clone(), connection.clone());
        let reading = async move { stream::read(&reader, &quic, read).await };
        tasks.spawn_watched(base.runtime(), reading, move || ended.on_reader_end());
        let (incoming, _endpoint, _tasks) = (Mutex::new(incoming), endpoint, tasks);
        Self { socket, most, shared, outgoing, incoming, connection, _endpoint, _tasks }
    }

    /// The certificate that the peer has shown and what leads to its root, in DER; nothing from a client that was not asked.
    pub fn peer_certificates(&self) -> Option<Vec<Vec<u8>>> {
        let shown = self.connection.peer_identity()?;
        let chain = shown.downcast::<Vec<quinn::rustls::pki_types::CertificateDer<'static>>>().ok()?;
        Some(chain.iter().map(|certificate| certificate.to_vec()).collect())
    }

    #[cold]
    fn ended(&self) -> Error {
        if *self.shared.phase.borrow() == Phase::Closed {
            return Error::new(ErrorKind::Closed, "this end closed the connection").at("Quic");
        }
        let end = self.shared.end();
        match (end, self.socket.end()) {
            // Why QUIC ended says more than that the connection below has.
            (Some((kind @ (ErrorKind::Closed | ErrorKind::Malformed), what)), _) => Error::new(kind, what),
            (_, Some(below)) => below,
            (Some((kind, what)), None) => Error::new(kind, what),
            (None, None) => Error::new(ErrorKind::Closed, "the connection has ended"),
        }
        .at("Quic")
    }

    async fn closed(&self) {
        // Fails only without a sender, which is here.
        let _ = self.shared.phase.subscribe().wait_for(|phase| *phase == Phase::Closed).await;
    }
}

#[cold]
fn too_large(len: usize, most: usize) -> Error {
    let what = format!("message of {len} bytes, at most {most} fit; put Fragment above to split messages");
    Error::new(ErrorKind::TooLarge, what).at("Quic")
}

impl<Inner: Connection<Data = Buf>> Connection for QuicConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.socket.inner.base()
    }

    fn mtu(&self) -> usize {
        self.socket.inner.mtu()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        if message.len() > self.most {
            return Err(too_large(message.len(), self.most));
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
        // Whoever waits already gets the rest.
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
        self.socket.flushed().await;
        self.socket.inner.drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        self.shared.advance(Phase::Closed);
        // As above.
        let _ = self.shared.running.subscribe().wait_for(|running| *running == 0).await;
        let end = self.shared.end();
        self.connection.close(DONE, b"");
        self.socket.flushed().await;
        let below = self.socket.inner.close().await;
        match end {
            None | Some((ErrorKind::Closed, _)) => below,
            Some((kind, what)) => Err(Error::new(kind, what).at("Quic")),
        }
    }
}

impl<Inner: Connection> fmt::Debug for QuicConnection<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuicConnection").finish_non_exhaustive()
    }
}
