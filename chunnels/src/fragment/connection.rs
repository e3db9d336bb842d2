//! The connection that fragments and reassembles.

use super::TARGET;
use super::assembly::{Assembly, SharedBudget};
use super::discovery::{self, Discovery};
use super::piece::{self, Arrived, MIN_PIECE, PIECE_HEADER, WHOLE};
use super::pieces::Pieces;
use super::settings::FragmentSettings;
use super::statistics::FragmentState;
use crate::burst::Decoded;
use bertha_core::{Base, Buf, Connection, DropCounter, Error, ErrorKind, Runtime, debug_fields, forward};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use tokio::sync::Semaphore;

/// The connection of [`Fragment`](super::Fragment) over a connection that carries bytes.
///
/// Loss and backpressure are those of the connection below. A `send` whose future is dropped may have sent some pieces,
/// which the receiver keeps until they expire or it needs their memory. Dropping the future of `recv` loses nothing.
///
/// # Errors
/// The errors of the connection below. `send` fails with [`TooLarge`](ErrorKind::TooLarge) beyond the limit. Once the peer's pieces have
/// contradicted each other, `recv` fails with [`Malformed`](ErrorKind::Malformed), which ends the connection.
pub struct FragmentConnection<Inner: Connection> {
    /// The connection below, shared with the task that probes the path.
    inner: Arc<Inner>,
    limit: u32,
    /// The limit, with the headroom that was reserved when this layer was made.
    mtu: usize,
    piece: usize,
    /// The size of the headers of the layers below, in bytes.
    below: usize,
    next: AtomicU32,
    /// Permits one message in pieces at a time, which bounds the receiver's memory. Whole messages need no permit.
    turn: Semaphore,
    /// Locked for one piece at a time, never across an await.
    assembly: Arc<Mutex<Assembly>>,
    /// Set once a call has failed because the peer's pieces contradict each other: sends look at this alone.
    is_refused: AtomicBool,
    malformed: DropCounter,
    /// The number of the latest probe to acknowledge, behind the bit [`UNACKED`]; zero if there is none.
    unacked: AtomicU64,
    discovery: Option<Arc<Discovery>>,
    state: Arc<FragmentState>,
    /// Ends path discovery with the connection.
    _task: Option<<<Inner::Base as Base>::Runtime as Runtime>::Task>,
}

/// The counters of dropped messages.
pub(super) struct Drops {
    pub(super) malformed: DropCounter,
    pub(super) abandoned: DropCounter,
}

/// The bit in front of the number of a probe to acknowledge.
const UNACKED: u64 = 1 << 32;

impl<Inner: Connection<Data = Buf>> FragmentConnection<Inner> {
    pub(super) fn new(
        inner: Inner,
        settings: FragmentSettings,
        budget: &Arc<SharedBudget>,
        drops: Drops,
    ) -> Self {
        let FragmentSettings { limit, piece, discovers_path, .. } = settings;
        let below = inner.base().reserved();
        inner.base().reserve(1);
        let Drops { malformed, abandoned } = drops;
        let assembly = Assembly::new(settings, budget, abandoned);
        let mtu = limit as usize + inner.base().reserved();
        let inner = Arc::new(inner);
        let unacked = Default::default();
        let lower = inner.base();
        // The first number is random: over a topic another publisher's pieces may lie between ours, and
        // pieces of a publisher that was here before.
        let next = AtomicU32::new(lower.runtime().random() as u32);
        let discovery = (discovers_path && !lower.properties().reliable).then(|| {
            let max = inner.mtu().min(piece + PIECE_HEADER + below);
            Arc::new(Discovery::new(max, below, lower.peer_addr(), lower.runtime()))
        });
        let probing = discovery.clone().map(|discovery| discovery::run(discovery, inner.clone()));
        let _task = probing.map(|probing| lower.runtime().spawn(probing));
        let state = FragmentState { assembly: assembly.clone(), discovery: discovery.clone(), piece };
        let turn = Semaphore::new(1);
        let is_refused = AtomicBool::new(false);
        Self {
            inner,
            limit,
            mtu,
            piece,
            below,
            next,
            turn,
            assembly,
            is_refused,
            malformed,
            unacked,
            discovery,
            state: Arc::new(state),
            _task,
        }
    }

    /// Returns the state that the [statistics](bertha_core::statistics) show.
    pub(super) fn state(&self) -> &Arc<FragmentState> {
        &self.state
    }

    /// Returns the MTU of the path as discovered so far: the largest datagram, headers of the layers below
    /// included, in bytes. `None` without [`discover_path`](super::Fragment::discover_path), or over a
    /// stream.
    pub fn path_mtu(&self) -> Option<usize> {
        self.discovery.as_ref().map(|discovery| discovery.size())
    }

    /// Returns the number of incomplete messages that were dropped: to make room for other messages, or since
    /// they waited too long.
    pub fn abandoned(&self) -> u64 {
        self.assembly.lock().abandoned.get()
    }

    /// Returns the number of messages that were dropped as malformed.
    pub fn malformed(&self) -> u64 {
        self.malformed.get()
    }

    /// Returns the largest message that the connection below carries at the moment.
    fn max_below(&self) -> usize {
        self.bound(self.inner.mtu()).saturating_sub(self.below)
    }

    /// Returns `mtu`, or the MTU of the path if it is less.
    fn bound(&self, mtu: usize) -> usize {
        self.discovery.as_ref().map_or(mtu, |discovery| mtu.min(discovery.size()))
    }

    /// Returns true if a message is sent as one piece, with one byte in front of it; otherwise each piece has
    /// fifteen bytes in front.
    fn fits(&self, message: &[u8]) -> bool {
        message.len() < self.max_below().min(self.piece + PIECE_HEADER)
    }

    /// Returns the message behind the byte that says that it is whole.
    fn whole(&self, mut message: Buf) -> Result<Buf, Error> {
        if message.headroom() == 0 {
            // The message has no headroom, since it is not from this connection's base.
            message = Buf::copy_of(&message, 1 + self.below)?;
        }
        message.prepend(1)?[0] = WHOLE;
        Ok(message)
    }

    async fn send_in_pieces(&self, message: Buf) -> Result<(), Error> {
        if message.len() > self.limit as usize {
            let what = format!("message of {} bytes, at most {} fit", message.len(), self.limit);
            return Err(Error::new(ErrorKind::TooLarge, what).at("Fragment"));
        }
        // Buffers have headroom for all layers, including the layers above.
        let inner = self.inner.base();
        let max = self.inner.mtu().saturating_sub(inner.reserved());
        let max = max.min(self.max_below()).saturating_sub(PIECE_HEADER);
        let size = self.piece.min(max);
        if size < MIN_PIECE {
            let what = format!("pieces of at most {max} bytes fit below, at least {MIN_PIECE} are needed");
            return Err(Error::new(ErrorKind::TooLarge, what).at("Fragment"));
        }
        // The semaphore is never closed, so this does not fail.
        let _turn = self.turn.acquire().await.ok();
        let mut failed = None;
        let number = self.next.fetch_add(1, Relaxed);
        let pieces = Pieces::new(inner, &message, number, size, &mut failed);
        self.inner.send_batch(pieces).await?;
        failed.map_or(Ok(()), Err)
    }

    /// Handles a message from below, and returns the message that it is or completes.
    fn on_arrival(&self, bytes: Buf) -> Option<Buf> {
        match piece::decode(bytes) {
            Some(Arrived::Whole(message)) => Some(message),
            Some(Arrived::Piece(piece, bytes)) => {
                // A contradiction is remembered, and reported by `check`.
                Assembly::insert(&self.assembly, piece, bytes, || self.runtime().now()).unwrap_or_default()
            }
            Some(Arrived::Probe(number)) => {
                self.unacked.store(UNACKED | u64::from(number), Relaxed);
                None
            }
            Some(Arrived::ProbeAck(number)) => {
                self.discovery.iter().for_each(|discovery| discovery.on_ack(number, self.runtime()));
                None
            }
            None => {
                self.malformed.add(1);
                None
            }
        }
    }

    fn runtime(&self) -> &<Inner::Base as Base>::Runtime {
        self.inner.base().runtime()
    }

    /// Acknowledges the peer's probe. It is called before the next message is awaited, so that dropping this
    /// future, or an error, loses the acknowledgement alone.
    async fn acknowledge(&self) {
        if self.unacked.load(Relaxed) == 0 {
            return;
        }
        // Another call may have taken the number in the meantime.
        let number = self.unacked.swap(0, Relaxed);
        if number != 0
            && let Ok(ack) = piece::probe_ack(number as u32, self.below)
            && let Err(error) = self.inner.send(ack).await
        {
            tracing::debug!(target: TARGET, peer = %self.inner.base().peer_addr(), %error, "a probe of the path was not acknowledged");
        }
    }

    /// Receives one message from below.
    async fn recv_below(&self) -> Result<Buf, Error> {
        self.acknowledge().await;
        let _receiving = self.discovery.as_ref().map(|discovery| discovery.on_recv());
        self.inner.recv().await
    }

    /// Fails once a call has failed for good.
    fn check_sending(&self) -> Result<(), Error> {
        if self.is_refused.load(Relaxed) { self.check() } else { Ok(()) }
    }

    fn check(&self) -> Result<(), Error> {
        match self.assembly.lock().refused {
            None => Ok(()),
            Some(contradiction) => {
                self.is_refused.store(true, Relaxed);
                let what = format!("the peer's pieces can't be reassembled: {contradiction}");
                Err(Error::new(ErrorKind::Malformed, what).at("Fragment").ending_connection())
            }
        }
    }
}

impl<Inner: Connection<Data = Buf>> Connection for FragmentConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, drain, close);

    fn mtu(&self) -> usize {
        self.mtu
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.check_sending()?;
        if let Some(discovery) = &self.discovery {
            discovery.on_send(message.len());
        }
        if self.fits(&message) {
            self.inner.send(self.whole(message)?).await
        } else {
            self.send_in_pieces(message).await
        }
    }

    async fn send_batch(&self, mut messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.check_sending()?;
        // Messages that fit go on as one burst, up to the next one that has to be cut.
        loop {
            let mut large = None;
            let mut failed = None;
            let whole = messages.by_ref().map_while(|message| {
                if let Some(discovery) = &self.discovery {
                    discovery.on_send(message.len());
                }
                if !self.fits(&message) {
                    large = Some(message);
                    return None;
                }
                self.whole(message).map_err(|error| failed = Some(error)).ok()
            });
            self.inner.send_batch(whole.fuse()).await?;
            match (failed, large) {
                (Some(error), _) => return Err(error),
                (None, Some(message)) => self.send_in_pieces(message).await?,
                (None, None) => return Ok(()),
            }
        }
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            self.check()?;
            let arrived = self.recv_below().await?;
            if let Some(message) = self.on_arrival(arrived) {
                return Ok(message);
            }
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let decode = |message| self.on_arrival(message);
        let mut whole = Decoded { into, decode, count: 0 };
        // A burst of pieces that complete no message would return zero.
        while whole.count == 0 && limit > 0 {
            self.check()?;
            self.acknowledge().await;
            let _receiving = self.discovery.as_ref().map(|discovery| discovery.on_recv());
            self.inner.recv_batch(&mut whole, limit).await?;
        }
        Ok(whole.count)
    }
}

debug_fields!(FragmentConnection<Inner: Connection> { limit, piece });
