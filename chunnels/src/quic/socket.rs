//! The connection below, as a socket that `quinn` can use.
//!
//! A socket is polled and sends without waiting; a connection is awaited. So packets wait in two bounded queues, and one task
//! moves them between the queues and the connection. A client whose address has changed makes further [paths](Path) to itself,
//! each with an address that stands for it in `quinn`, which decides on the path to use.

use super::TARGET;
use super::path::{Outgoing, Path, QUEUE, SEGMENTS};
use super::runtime::Tasks;
use crate::task_end::runtime_ended;
use bertha_core::{Addr, Base, Buf, Connection, DropCounter, Error, ErrorKind, debug_fields};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use std::any::Any;
use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use tokio::sync::Notify;

/// Number of packets received from below at a time.
const BURST: usize = 64;

/// Maximum number of further paths whose connections below have not ended. A path ends when it is idle.
const FURTHER: usize = 3;

/// The address of both ends for `quinn`. The connection below knows the address of its only peer.
pub(super) const PEER: SocketAddr = address(1);

/// The port from which on a path leads to another host than the first path.
const OTHER_HOST: u16 = 16;

/// Returns the address that stands for the path with this port. To `quinn` a path to another host is new in all respects, while
/// a path to another port has the same capacity (RFC 9000, section 9.4).
const fn address(port: u16) -> SocketAddr {
    let host = if port < OTHER_HOST { 1 } else { port as u8 };
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, host)), port)
}

/// Returns true if both connections have the same host as their peer.
fn have_one_host<Inner: Connection>(one: &Inner, other: &Inner) -> bool {
    let host = |inner: &Inner| match inner.base().peer_addr() {
        Addr::Ip(address) => Some(address.ip()),
        _ => None,
    };
    host(one) == host(other)
}

/// A connection as a socket.
pub(super) struct Socket<Inner: Connection> {
    first: Path<Inner>,
    further: Mutex<Vec<Arc<Path<Inner>>>>,
    /// The tasks of the connection, for those of further paths.
    tasks: Weak<TasksOf<Inner>>,
    /// The headroom of the layers below.
    below: usize,
    incoming: Mutex<Incoming>,
    /// Notified when there is capacity for received packets.
    capacity: Notify,
    /// Counts packets that are too long for the buffers of `quinn`. `quinn` does not report the packets that
    /// it drops itself.
    too_long: DropCounter,
    /// The bursts that the connection below refused, and survived.
    not_sent: DropCounter,
}

type TasksOf<Inner> = Tasks<<<Inner as Connection>::Base as Base>::Runtime>;

#[derive(Default)]
struct Incoming {
    /// The packets, each with the port of its path.
    packets: VecDeque<(u16, Buf)>,
    waiting: Option<Waker>,
    /// The error that ended the connection below.
    end: Option<(ErrorKind, String)>,
}

/// A socket to which paths can be added.
pub(super) trait TakesPaths: Send + Sync {
    /// Adds a path over `inner`, a connection of the type below. Returns false if it is not taken.
    fn take_path(self: Arc<Self>, inner: Box<dyn Any + Send>) -> bool;
}

impl<Inner: Connection<Data = Buf>> Socket<Inner> {
    pub(super) fn new(
        inner: Inner,
        below: usize,
        tasks: &Arc<TasksOf<Inner>>,
        too_long: DropCounter,
        not_sent: DropCounter,
    ) -> Arc<Self> {
        Arc::new(Self {
            first: Path::new(inner, PEER.port()),
            further: Mutex::default(),
            tasks: Arc::downgrade(tasks),
            below,
            incoming: Mutex::default(),
            capacity: Notify::new(),
            too_long,
            not_sent,
        })
    }

    /// Returns the connection below that the two ends have agreed on.
    pub(super) fn inner(&self) -> &Inner {
        &self.first.inner
    }

    /// Returns the error that ended the connection below, if it has ended.
    pub(super) fn end(&self) -> Option<Error> {
        let incoming = self.incoming.lock();
        incoming.end.as_ref().map(|(kind, what)| Error::new(*kind, what.clone()).ending_connection())
    }

    /// Starts the task of the first path.
    pub(super) fn start(self: &Arc<Self>, tasks: &Arc<TasksOf<Inner>>) {
        let [running, ended] = [self.clone(), self.clone()];
        let running = async move { running.run_path(&running.first).await };
        tasks.spawn_watched(self.inner().base().runtime(), running, move || ended.on_path_end(&ended.first));
    }

    /// Waits until the connection below has taken all packets.
    pub(super) async fn flush(&self) {
        loop {
            let is_flushed = |path: &Path<Inner>| path.has_ended() || path.outgoing.lock().packets.is_empty();
            let is_empty = is_flushed(&self.first) && self.further.lock().iter().all(|path| is_flushed(path));
            if is_empty || self.end().is_some() {
                return;
            }
            self.first.pause().await;
        }
    }

    /// Closes the connection below, on all paths.
    pub(super) async fn close(&self) -> Result<(), Error> {
        let further = std::mem::take(&mut *self.further.lock());
        for path in further {
            let _ = path.inner.close().await;
        }
        self.first.inner.close().await
    }

    /// Moves packets of a path until its connection below ends.
    async fn run_path(&self, path: &Path<Inner>) {
        let sending = pin!(path.send(&self.not_sent));
        let receiving = pin!(self.receive(path));
        let (Either::Left((error, _)) | Either::Right((error, _))) = select(sending, receiving).await;
        path.end();
        tracing::debug!(target: TARGET, peer = %path.inner.base().peer_addr(), %error, "a path has ended");
        // A path that has gone silent leaves the connection to the others.
        if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Reset) || self.have_all_ended() {
            self.on_end(&error);
        }
    }

    fn have_all_ended(&self) -> bool {
        self.first.has_ended() && self.further.lock().iter().all(|path| path.has_ended())
    }

    /// Handles that the task of a path has ended, by itself or with its runtime.
    fn on_path_end(&self, path: &Path<Inner>) {
        path.end();
        if self.have_all_ended() {
            self.on_end(&runtime_ended());
        }
    }

    /// Ends the socket, unless it has ended already.
    fn on_end(&self, error: &Error) {
        let mut incoming = self.incoming.lock();
        incoming.end.get_or_insert_with(|| (error.kind(), error.context().to_owned()));
        incoming.waiting.take().into_iter().for_each(Waker::wake);
        self.first.outgoing.lock().wake();
    }

    async fn receive(&self, path: &Path<Inner>) -> Error {
        let mut packets = Vec::with_capacity(BURST);
        loop {
            match path.inner.recv_batch(&mut packets, BURST).await {
                Ok(_) => {}
                Err(error) if !error.ends_connection() => path.pause().await,
                Err(error) => return error,
            }
            let is_full = {
                let mut incoming = self.incoming.lock();
                incoming.packets.extend(packets.drain(..).map(|packet| (path.port, packet)));
                incoming.waiting.take().into_iter().for_each(Waker::wake);
                incoming.packets.len() >= QUEUE
            };
            if is_full {
                self.capacity.notified().await;
            }
        }
    }

    /// Puts the packets of a call of `quinn` into the queue of a path.
    fn queue(&self, outgoing: &mut Outgoing, transmit: &Transmit<'_>) -> io::Result<()> {
        let size = transmit.segment_size.unwrap_or(transmit.contents.len()).max(1);
        for packet in transmit.contents.chunks(size) {
            // This is the only copy: `quinn` writes into a buffer of its own.
            outgoing.packets.push_back(Buf::copy_of(packet, self.below).map_err(io::Error::other)?);
        }
        Ok(())
    }

    /// Sends on a further path. Packets for a path that has ended, or is full, are lost: `quinn` waits for the first path alone.
    #[cold]
    fn send_further(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let port = transmit.destination.port();
        let path = self.further.lock().iter().find(|path| path.port == port).cloned();
        let Some(path) = path.filter(|path| !path.has_ended()) else { return Ok(()) };
        let mut outgoing = path.outgoing.lock();
        if outgoing.is_full() {
            self.not_sent.add(1);
            return Ok(());
        }
        self.queue(&mut outgoing, transmit)?;
        path.to_send.notify_one();
        Ok(())
    }
}

impl<Inner: Connection<Data = Buf>> TakesPaths for Socket<Inner> {
    fn take_path(self: Arc<Self>, inner: Box<dyn Any + Send>) -> bool {
        let Ok(inner) = inner.downcast::<Inner>() else { return false };
        let Some(tasks) = self.tasks.upgrade() else { return false };
        let mut further = self.further.lock();
        if self.end().is_some() {
            return false;
        }
        further.retain(|path| !path.has_ended());
        let is_free = |number: &u16| further.iter().all(|path| path.port % OTHER_HOST != *number);
        let Some(number) = (PEER.port() + 1..).take(FURTHER).find(is_free) else { return false };
        let offset = if have_one_host(self.inner(), &*inner) { 0 } else { OTHER_HOST };
        let path = Arc::new(Path::new(*inner, number + offset));
        further.push(path.clone());
        drop(further);
        let [peer, before] = [&path.inner, self.inner()].map(|inner| inner.base().peer_addr());
        tracing::debug!(target: TARGET, %peer, %before, "the client sends from another address");
        let runtime = path.inner.base().runtime().clone();
        let ended = (self.clone(), path.clone());
        let running = async move { self.run_path(&path).await };
        tasks.spawn_watched(&runtime, running, move || ended.0.on_path_end(&ended.1));
        true
    }
}

impl<Inner: Connection<Data = Buf>> AsyncUdpSocket for Socket<Inner> {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller(self))
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        if transmit.destination.port() != PEER.port() {
            return self.send_further(transmit);
        }
        let mut outgoing = self.first.outgoing.lock();
        if outgoing.is_full() {
            // The packets of a path that has ended are lost.
            return if self.first.has_ended() { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) };
        }
        self.queue(&mut outgoing, transmit)?;
        self.first.to_send.notify_one();
        Ok(())
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut incoming = self.incoming.lock();
        if incoming.packets.is_empty() {
            if let Some((_, what)) = &incoming.end {
                return Poll::Ready(Err(io::Error::other(what.clone())));
            }
            incoming.waiting = Some(context.waker().clone());
            return Poll::Pending;
        }
        let mut count = 0;
        for (buf, meta) in bufs.iter_mut().zip(meta) {
            let Some((port, packet)) = incoming.packets.pop_front() else { break };
            // A packet longer than the buffer is not from the peer; its first part fails authentication.
            let len = packet.len().min(buf.len());
            if len < packet.len() {
                self.too_long.add(1);
            }
            buf[..len].copy_from_slice(&packet[..len]);
            *meta = RecvMeta { addr: address(port), len, stride: len.max(1), ecn: None, dst_ip: None };
            count += 1;
        }
        self.capacity.notify_one();
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(PEER)
    }

    fn max_transmit_segments(&self) -> usize {
        SEGMENTS
    }
}

/// Waits for capacity to send.
struct Poller<Inner: Connection>(Arc<Socket<Inner>>);

impl<Inner: Connection<Data = Buf>> UdpPoller for Poller<Inner> {
    fn poll_writable(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let first = &self.0.first;
        let mut outgoing = first.outgoing.lock();
        if !outgoing.is_full() || first.has_ended() {
            return Poll::Ready(Ok(()));
        }
        if !outgoing.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            outgoing.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}

debug_fields!(Socket<Inner: Connection> {});

debug_fields!(Poller<Inner: Connection> {});
