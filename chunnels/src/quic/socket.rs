//! The connection below, as a socket that `quinn` can use.
//!
//! A socket is polled and sends without waiting; a connection is awaited. So packets wait in two bounded queues, and one task
//! moves them between the queues and the connection.

use bertha_core::{Base, Buf, Connection, DropCounter, Error, ErrorKind, Runtime, debug_fields};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};
use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::Notify;

/// Maximum number of packets that wait in each direction.
const QUEUE: usize = 1024;

/// Maximum number of packets that `quinn` sends in one call.
const SEGMENTS: usize = 32;

/// Number of packets received from below at a time.
const BURST: usize = 64;

/// Pause after a temporary error of the connection below.
const PAUSE: Duration = Duration::from_millis(1);

/// The address of both ends for `quinn`. The connection below knows the address of its only peer.
pub(super) const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// A connection as a socket.
pub(super) struct Socket<Inner> {
    pub(super) inner: Inner,
    /// The headroom of the layers below.
    below: usize,
    outgoing: Mutex<Outgoing>,
    /// Notified when there is a packet to send.
    to_send: Notify,
    incoming: Mutex<Incoming>,
    /// Notified when there is capacity for received packets.
    capacity: Notify,
    /// Counts packets that are too long for the buffers of `quinn`. `quinn` does not report the packets that
    /// it drops itself.
    too_long: DropCounter,
    /// The bursts that the connection below refused, and survived.
    not_sent: DropCounter,
}

#[derive(Default)]
struct Outgoing {
    packets: VecDeque<Buf>,
    /// Tasks that wait for capacity.
    waiting: Vec<Waker>,
}

#[derive(Default)]
struct Incoming {
    packets: VecDeque<Buf>,
    waiting: Option<Waker>,
    /// The error that ended the connection below.
    end: Option<(ErrorKind, String)>,
}

impl<Inner: Connection<Data = Buf>> Socket<Inner> {
    pub(super) fn new(inner: Inner, below: usize, too_long: DropCounter, not_sent: DropCounter) -> Arc<Self> {
        let (outgoing, incoming) = Default::default();
        let [to_send, capacity] = [Notify::new(), Notify::new()];
        Arc::new(Self { inner, below, outgoing, to_send, incoming, capacity, too_long, not_sent })
    }

    /// Returns the error that ended the connection below, if it has ended.
    pub(super) fn end(&self) -> Option<Error> {
        let incoming = self.incoming.lock();
        incoming.end.as_ref().map(|(kind, what)| Error::new(*kind, what.clone()).ending_connection())
    }

    /// Waits until the connection below has taken all packets.
    pub(super) async fn flush(&self) {
        loop {
            let is_empty = self.outgoing.lock().packets.is_empty();
            if is_empty || self.end().is_some() {
                return;
            }
            let runtime = self.inner.base().runtime();
            runtime.sleep_until(runtime.now() + PAUSE).await;
        }
    }

    /// Moves packets until the connection below ends.
    pub(super) async fn run(self: Arc<Self>) {
        let sending = pin!(self.send());
        let receiving = pin!(self.receive());
        let (Either::Left((error, _)) | Either::Right((error, _))) = select(sending, receiving).await;
        self.on_end(&error);
    }

    /// Ends the socket, unless it has ended already.
    pub(super) fn on_end(&self, error: &Error) {
        let mut incoming = self.incoming.lock();
        incoming.end.get_or_insert_with(|| (error.kind(), error.context().to_owned()));
        incoming.waiting.take().into_iter().for_each(Waker::wake);
        self.outgoing.lock().wake();
    }

    async fn send(&self) -> Error {
        loop {
            let packets = std::iter::from_fn(|| self.outgoing.lock().packets.pop_front());
            match self.inner.send_batch(packets).await {
                Ok(()) => {}
                // The packets are lost, and repeated by QUIC.
                Err(error) if !error.ends_connection() => {
                    tracing::debug!(%error, "packets were not sent");
                    self.not_sent.add(1);
                    self.pause().await;
                }
                Err(error) => return error,
            }
            let has_more = {
                let mut outgoing = self.outgoing.lock();
                outgoing.wake();
                !outgoing.packets.is_empty()
            };
            // A burst that was refused leaves packets behind, whose notification was taken.
            if !has_more {
                self.to_send.notified().await;
            }
        }
    }

    async fn receive(&self) -> Error {
        let mut packets = Vec::with_capacity(BURST);
        loop {
            match self.inner.recv_batch(&mut packets, BURST).await {
                Ok(_) => {}
                Err(error) if !error.ends_connection() => self.pause().await,
                Err(error) => return error,
            }
            let is_full = {
                let mut incoming = self.incoming.lock();
                incoming.packets.extend(packets.drain(..));
                incoming.waiting.take().into_iter().for_each(Waker::wake);
                incoming.packets.len() >= QUEUE
            };
            if is_full {
                self.capacity.notified().await;
            }
        }
    }

    async fn pause(&self) {
        let runtime = self.inner.base().runtime();
        runtime.sleep_until(runtime.now() + PAUSE).await;
    }
}

impl Outgoing {
    fn is_full(&self) -> bool {
        self.packets.len() + SEGMENTS > QUEUE
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

impl<Inner: Connection<Data = Buf>> AsyncUdpSocket for Socket<Inner> {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller(self))
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let mut outgoing = self.outgoing.lock();
        if outgoing.is_full() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let size = transmit.segment_size.unwrap_or(transmit.contents.len()).max(1);
        for packet in transmit.contents.chunks(size) {
            // This is the only copy: `quinn` writes into a buffer of its own.
            outgoing.packets.push_back(Buf::copy_of(packet, self.below).map_err(io::Error::other)?);
        }
        self.to_send.notify_one();
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
            let Some(packet) = incoming.packets.pop_front() else { break };
            // A packet longer than the buffer is not from the peer; its first part fails authentication.
            let len = packet.len().min(buf.len());
            if len < packet.len() {
                self.too_long.add(1);
            }
            buf[..len].copy_from_slice(&packet[..len]);
            *meta = RecvMeta { addr: PEER, len, stride: len.max(1), ecn: None, dst_ip: None };
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
struct Poller<Inner>(Arc<Socket<Inner>>);

impl<Inner: Connection<Data = Buf>> UdpPoller for Poller<Inner> {
    fn poll_writable(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut outgoing = self.0.outgoing.lock();
        if !outgoing.is_full() {
            return Poll::Ready(Ok(()));
        }
        if !outgoing.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
            outgoing.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }
}

debug_fields!(Socket<Inner> {});

debug_fields!(Poller<Inner> {});
