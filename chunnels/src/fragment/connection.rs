//! The connection that cuts and puts together.

use super::Fragment;
use super::assembly::{Assembly, Contradiction};
use super::discovery::{self, Discovery};
use super::piece::{self, Arrived, LEAST_PIECE, PIECE_HEADER, WHOLE};
use super::pieces::Pieces;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use tokio::sync::Semaphore;

/// What [`Fragment`](super::Fragment) makes of a connection that carries bytes.
///
/// Loss and backpressure are those of the connection below. A `send` whose future is dropped may have sent some pieces,
/// which the receiver keeps until it needs their room. Dropping the future of `recv` loses nothing.
///
/// # Errors
/// Those of the connection below. `send` fails with [`TooLarge`](ErrorKind::TooLarge) beyond the limit; `recv` with
/// [`Malformed`](ErrorKind::Malformed) for good once the peer's pieces have contradicted each other.
pub struct FragmentConnection<Inner: Connection> {
    /// Shared with the task that probes the path.
    inner: Arc<Inner>,
    limit: u32,
    /// The limit, with the headroom that was reserved when this layer was made.
    mtu: usize,
    piece: usize,
    /// What the layers below put in front of each message.
    below: usize,
    next: AtomicU32,
    /// One message in pieces at a time, which bounds what the receiver has to keep. Whole messages need no permit.
    turn: Semaphore,
    /// Locked for one piece at a time, never while waiting.
    assembly: Mutex<State>,
    malformed: AtomicU64,
    /// The number of a probe that has to be answered, with a bit in front; the latest if there are several.
    unanswered: AtomicU64,
    discovery: Option<Arc<Discovery>>,
    /// Ends probing with the connection.
    _task: Option<<<Inner::Base as Base>::Runtime as Runtime>::Task>,
}

/// Stands before the number of a probe that has to be answered.
const UNANSWERED: u64 = 1 << 32;

struct State {
    assembly: Assembly,
    refused: Option<Contradiction>,
}

impl<Inner: Connection<Data = Buf>> FragmentConnection<Inner> {
    pub(super) fn new(inner: Inner, settings: &Fragment) -> Self {
        let Fragment { limit, piece, spare, discovers } = *settings;
        let below = inner.base().reserved();
        inner.base().reserve(1);
        let assembly = Mutex::new(State { assembly: Assembly::new(limit, spare), refused: None });
        let mtu = limit as usize + inner.base().reserved();
        let inner = Arc::new(inner);
        let (next, malformed, unanswered) = Default::default();
        let lower = inner.base();
        let discovery = (discovers && !lower.properties().reliable).then(|| {
            let most = inner.mtu().min(piece + PIECE_HEADER + below);
            Arc::new(Discovery::new(most, below, lower.runtime()))
        });
        let probing = discovery.clone().map(|discovery| discovery::run(discovery, inner.clone()));
        let _task = probing.map(|probing| lower.runtime().spawn(probing));
        let turn = Semaphore::new(1);
        Self {
            inner,
            limit,
            mtu,
            piece,
            below,
            next,
            turn,
            assembly,
            malformed,
            unanswered,
            discovery,
            _task,
        }
    }

    /// What the path carries, as far as is known: the largest message below the layers that put something in front of it, in
    /// bytes. Nothing without [`discover_path`](super::Fragment::discover_path), or over a stream.
    pub fn path_mtu(&self) -> Option<usize> {
        self.discovery.as_ref().map(|discovery| discovery.size())
    }

    /// How many messages were given up before all of their pieces came, to make room for others.
    pub fn abandoned(&self) -> u64 {
        self.assembly.lock().assembly.abandoned
    }

    /// How many messages were dropped since they were neither whole messages nor pieces.
    pub fn malformed(&self) -> u64 {
        self.malformed.load(Relaxed)
    }

    /// What the connection below carries at the moment.
    fn room(&self) -> usize {
        self.bound(self.inner.mtu()).saturating_sub(self.below)
    }

    /// `mtu`, or what the path carries, if that is less.
    fn bound(&self, mtu: usize) -> usize {
        self.discovery.as_ref().map_or(mtu, |discovery| mtu.min(discovery.size()))
    }

    /// Whether a message goes as one piece: then one byte stands in front of it, and else fifteen in front of each piece.
    fn fits(&self, message: &[u8]) -> bool {
        message.len() < self.room().min(self.piece + PIECE_HEADER)
    }

    /// The message behind the byte that says that it is whole.
    fn whole(&self, mut message: Buf) -> Result<Buf, Error> {
        if message.headroom() == 0 {
            // Made elsewhere than by this connection's base.
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
        // Buffers have headroom for all layers, those above as well.
        let inner = self.inner.base();
        let room = self.inner.mtu().saturating_sub(inner.reserved());
        let room = room.min(self.room()).saturating_sub(PIECE_HEADER);
        let size = self.piece.min(room);
        if size < LEAST_PIECE {
            let what =
                format!("pieces of {room} bytes are all that fits below, at least {LEAST_PIECE} are needed");
            return Err(Error::new(ErrorKind::TooLarge, what).at("Fragment"));
        }
        // Never closed, so this waits for its turn and does not fail.
        let _turn = self.turn.acquire().await.ok();
        let mut failed = None;
        let number = self.next.fetch_add(1, Relaxed);
        let pieces = Pieces::new(inner, &message, number, size, &mut failed);
        self.inner.send_batch(pieces).await?;
        failed.map_or(Ok(()), Err)
    }

    /// Takes what comes from below, and returns the message that it is or completes.
    fn take(&self, bytes: Buf) -> Option<Buf> {
        match piece::read(bytes) {
            Some(Arrived::Whole(message)) => Some(message),
            Some(Arrived::Piece(piece, bytes)) => {
                let mut state = self.assembly.lock();
                match state.assembly.insert(piece, &bytes) {
                    Ok(message) => message,
                    Err(contradiction) => {
                        state.refused.get_or_insert(contradiction);
                        None
                    }
                }
            }
            Some(Arrived::Probe(number)) => {
                self.unanswered.store(UNANSWERED | u64::from(number), Relaxed);
                None
            }
            Some(Arrived::Word(number)) => {
                self.discovery.iter().for_each(|discovery| discovery.arrived(number, self.runtime()));
                None
            }
            None => {
                self.malformed.fetch_add(1, Relaxed);
                None
            }
        }
    }

    fn runtime(&self) -> &<Inner::Base as Base>::Runtime {
        self.inner.base().runtime()
    }

    /// Tells the peer that its probe arrived. Before the next message is waited for, so that none is in hand: dropping this
    /// future, or an error, costs the peer an answer and nothing else.
    async fn answer(&self) {
        // Nearly always there is none.
        if self.unanswered.load(Relaxed) == 0 {
            return;
        }
        let number = self.unanswered.swap(0, Relaxed);
        if number & UNANSWERED != 0
            && let Ok(word) = piece::word(number as u32, self.below)
            && let Err(error) = self.inner.send(word).await
        {
            tracing::debug!(%error, "a probe of the path was not answered");
        }
    }

    /// Receives one message from below.
    async fn arrival(&self) -> Result<Buf, Error> {
        self.answer().await;
        let _listening = self.discovery.as_ref().map(|discovery| discovery.listen());
        self.inner.recv().await
    }

    fn check(&self) -> Result<(), Error> {
        match self.assembly.lock().refused {
            None => Ok(()),
            Some(contradiction) => {
                let what = format!("the peer's pieces can't be put together: {contradiction}");
                Err(Error::new(ErrorKind::Malformed, what).at("Fragment"))
            }
        }
    }
}

impl<Inner: Connection<Data = Buf>> Connection for FragmentConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.mtu
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        if let Some(discovery) = &self.discovery {
            discovery.sending(message.len());
        }
        if self.fits(&message) {
            self.inner.send(self.whole(message)?).await
        } else {
            self.send_in_pieces(message).await
        }
    }

    async fn send_batch(&self, mut messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        // Messages that fit go on as one burst, up to the next one that has to be cut.
        loop {
            let (mut large, mut failed) = (None, None);
            let whole = messages.by_ref().map_while(|message| {
                if let Some(discovery) = &self.discovery {
                    discovery.sending(message.len());
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
            let arrived = self.arrival().await?;
            if let Some(message) = self.take(arrived) {
                return Ok(message);
            }
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let mut whole = Whole { connection: self, into, count: 0 };
        // A burst of pieces that complete no message is no burst.
        while whole.count == 0 && limit > 0 {
            self.check()?;
            self.answer().await;
            let _listening = self.discovery.as_ref().map(|discovery| discovery.listen());
            self.inner.recv_batch(&mut whole, limit).await?;
        }
        Ok(whole.count)
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

/// Takes what comes from below, and hands on whole messages.
struct Whole<'a, Inner: Connection, Into> {
    connection: &'a FragmentConnection<Inner>,
    into: &'a mut Into,
    count: usize,
}

impl<Inner: Connection<Data = Buf>, Into: Extend<Buf>> Extend<Buf> for Whole<'_, Inner, Into> {
    fn extend<I: IntoIterator<Item = Buf>>(&mut self, arrived: I) {
        let Self { connection, into, count } = self;
        into.extend(arrived.into_iter().filter_map(|bytes| {
            let message = connection.take(bytes);
            *count += usize::from(message.is_some());
            message
        }));
    }
}

impl<Inner: Connection> fmt::Debug for FragmentConnection<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FragmentConnection")
            .field("limit", &self.limit)
            .field("piece", &self.piece)
            .finish_non_exhaustive()
    }
}
