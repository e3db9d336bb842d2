//! A connection through shared memory.

use crate::address::NAME;
use crate::base::ShmBase;
use crate::bell::Bell;
use crate::handshake::SharedMemory;
use crate::mapping::Mapping;
use crate::ring::{Broken, Consumer, Direction, Layout, Producer, Ring};
use crate::{Credentials, ShmStatistics, Waiting};
use arrayvec::ArrayVec;
use bertha_core::{Addr, Base, Buf, Connection, Error, ErrorKind, Statistics};
use bertha_runtime::polling::{Spin, SpinHistory};
use bertha_runtime::tokio::descriptors::Aside;
use parking_lot::Mutex;
use std::fmt;
use std::future::poll_fn;
use std::hint::spin_loop;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use tokio::net::UnixStream;
use tokio::task::coop::consume_budget;
use tokio::task::yield_now;

/// Number of messages that are moved at a time under a lock.
const BURST: usize = 32;

/// Largest number of bursts that a call receives.
const BURSTS: usize = 32;

/// Number of waiting messages that statistics count, since the lock is held meanwhile.
const MOST_COUNTED: u64 = 1_024;

/// Number of looks of a spinning call before it lets other tasks run: they wait for a few microseconds.
const LOOKS: u32 = 64;

/// A base connection of [`Shm`](crate::Shm): reliable and in order.
///
/// * **Backpressure.** `send` waits while the ring is full.
/// * **The end.** Closing it ends the connection; the peer receives what was sent before, and then [`Closed`](ErrorKind::Closed). If this
///   end is dropped without a close, or its process dies, the peer receives what was sent before, and then [`Reset`](ErrorKind::Reset); so
///   it does at once if this end breaks the rules of the [ring](crate::ring).
/// * **Cancellation.** A message lies in the ring whole or not at all, so dropped futures lose nothing.
pub struct ShmConnection {
    memory: Mapping,
    layout: Layout,
    outgoing: Direction,
    incoming: Direction,
    /// Several tasks may send, and the ring has a single producer. The lock is held while messages are
    /// copied, and never while a call waits.
    producer: Mutex<Producer>,
    /// Several tasks may receive, and the ring has a single consumer. The lock is held while messages are
    /// copied, and for a few microseconds while a task spins.
    consumer: Mutex<Consumer>,
    bell: Bell,
    base: ShmBase,
    peer: Credentials,
    waiting: Waiting,
    spin_history: SpinHistory,
    closed: AtomicBool,
}

impl ShmConnection {
    pub(crate) fn new(
        socket: Aside<UnixStream>,
        shared: SharedMemory,
        outgoing: Direction,
        settings: At,
    ) -> io::Result<Self> {
        let SharedMemory { memory, layout, peer } = shared;
        let incoming = match outgoing {
            Direction::FromClient => Direction::FromServer,
            Direction::FromServer => Direction::FromClient,
        };
        let At { waiting, local, peer: peer_addr } = settings;
        Ok(Self {
            memory,
            layout,
            outgoing,
            incoming,
            producer: Mutex::default(),
            consumer: Mutex::new(Consumer::new(layout.longest())),
            bell: Bell::new(socket)?,
            base: ShmBase::new(layout.longest(), local, peer_addr, peer),
            peer,
            waiting,
            spin_history: SpinHistory::default(),
            closed: AtomicBool::new(false),
        })
    }

    /// Returns the owner of the peer process.
    pub fn peer_credentials(&self) -> Credentials {
        self.peer
    }

    #[inline]
    fn outgoing(&self) -> Ring<'_, AtomicU64> {
        self.layout.ring(self.memory.words(), self.outgoing)
    }

    #[inline]
    fn incoming(&self) -> Ring<'_, AtomicU64> {
        self.layout.ring(self.memory.words(), self.incoming)
    }

    /// Fails if this end has closed the connection.
    #[inline]
    fn check_open(&self) -> Result<(), Error> {
        // Relaxed access suffices: no other value depends on the flag.
        if self.closed.load(Ordering::Relaxed) {
            return Err(self.base.ended(ErrorKind::Closed, "this end has closed"));
        }
        Ok(())
    }

    /// Fails if the peer does not receive any more.
    #[inline]
    fn check_sendable(&self) -> Result<(), Error> {
        self.check_open()?;
        if self.bell.listen() || Consumer::is_ended(self.incoming()) { Err(self.over()) } else { Ok(()) }
    }

    /// Returns the reason why the connection is over.
    #[cold]
    fn over(&self) -> Error {
        if let Err(error) = self.check_open() {
            return error;
        }
        match Consumer::is_ended(self.incoming()) {
            true => self.base.ended(ErrorKind::Closed, "the peer has closed"),
            false => self.base.ended(ErrorKind::Reset, "the peer has gone without a word"),
        }
    }

    #[cold]
    fn broken(&self, broken: Broken) -> Error {
        self.bell.hang_up();
        self.base.ended(ErrorKind::Reset, &format!("the peer broke the rules of the shared memory: {broken}"))
    }

    /// Puts messages into the ring as far as there is room, and wakes the peer. Returns the number of
    /// messages.
    #[inline]
    fn offer<'a>(&self, messages: impl Iterator<Item = &'a Buf>) -> Result<usize, Error> {
        self.check_sendable()?;
        let ring = self.outgoing();
        let mut producer = self.producer.lock();
        let mut count = 0;
        let mut outcome = Ok(true);
        for message in messages {
            outcome = producer.push(ring, message);
            if outcome != Ok(true) {
                break;
            }
            count += 1;
        }
        let wakes = producer.publish(ring);
        drop(producer);
        if wakes {
            self.bell.ring();
        }
        outcome.map_err(|broken| self.broken(broken))?;
        Ok(count)
    }

    /// Puts messages into the ring as [`offer`](Self::offer) does, once there is room for at least one.
    #[inline]
    async fn put<'a>(&self, messages: impl Iterator<Item = &'a Buf> + Clone + Send) -> Result<usize, Error> {
        match self.offer(messages.clone())? {
            0 => {
                let attempt = |_| Ok(Some(self.offer(messages.clone())?).filter(|&count| count > 0));
                self.wait_until(attempt, || self.producer.lock().await_room(self.outgoing())).await
            }
            count => Ok(count),
        }
    }

    /// Takes messages out of the ring, in up to `looks` looks.
    #[inline]
    fn take<const N: usize>(&self, most: usize, looks: u32) -> Result<ArrayVec<Buf, N>, Error> {
        let ring = self.incoming();
        let mut messages = ArrayVec::new();
        let mut consumer = self.consumer.lock();
        if !consumer.has_message(ring) {
            if consumer.release(ring, true) {
                self.bell.ring();
            }
            for _ in 1..looks {
                spin_loop();
                if consumer.has_message(ring) {
                    break;
                }
            }
        }
        while messages.len() < most.min(N) {
            match consumer.pop(ring) {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                // The messages before the error are in order.
                Err(_) if !messages.is_empty() => break,
                Err(broken) => return Err(self.broken(broken)),
            }
        }
        let wakes = consumer.release(ring, false);
        drop(consumer);
        if wakes {
            self.bell.ring();
        }
        Ok(messages)
    }

    /// Waits for messages. The future is cancellation-safe: messages are taken by the poll that completes it.
    #[inline]
    async fn received<const N: usize>(&self, most: usize) -> Result<ArrayVec<Buf, N>, Error> {
        self.check_open()?;
        // Without the budget, a connection that always has a message would starve the other tasks of its
        // thread.
        consume_budget().await;
        let found = self.take(most, 1)?;
        if !found.is_empty() {
            return Ok(found);
        }
        let attempt = |looks| Ok(Some(self.take(most, looks)?).filter(|found| !found.is_empty()));
        self.wait_until(attempt, || Consumer::fall_asleep(self.incoming())).await
    }

    /// Waits until `attempt` finds something, by the waiting policy. `announce` asks the peer for a byte when
    /// there may be something.
    async fn wait_until<T>(
        &self,
        mut attempt: impl FnMut(u32) -> Result<Option<T>, Error>,
        announce: impl Fn(),
    ) -> Result<T, Error> {
        let mut spin = Spin::default();
        loop {
            consume_budget().await;
            let spins = spin.goes_on(self.waiting, &self.spin_history);
            // The bell comes before the attempt, which then finds what was sent before the end.
            let is_over = self.bell.listen();
            self.check_open()?;
            if let Some(found) = attempt(if spins { LOOKS } else { 1 })? {
                spin.on_hit(&self.spin_history);
                return Ok(found);
            }
            if is_over {
                return Err(self.over());
            }
            if spins {
                yield_now().await;
                continue;
            }
            // The order matters. Another waiting task takes bytes away, so this future first registers for
            // bytes; then it asks for a byte; then it looks again.
            let mut heard = pin!(self.bell.heard());
            if poll_fn(|cx| Poll::Ready(heard.as_mut().poll(cx).is_ready())).await {
                continue;
            }
            announce();
            if let Some(found) = attempt(1)? {
                return Ok(found);
            }
            heard.await;
        }
    }
}

/// The addresses of a connection, and its waiting policy.
#[derive(Debug)]
pub(crate) struct At {
    pub(crate) waiting: Waiting,
    pub(crate) local: Addr,
    pub(crate) peer: Addr,
}

impl Connection for ShmConnection {
    type Data = Buf;
    type Base = ShmBase;

    fn base(&self) -> &ShmBase {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        if message.len() > self.base.mtu() {
            self.check_sendable()?;
            return Err(self.base.too_large(message.len()));
        }
        self.put(std::iter::once(&message)).await.map(drop)
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if let Some(message) = self.received::<1>(1).await?.pop() {
                return Ok(message);
            }
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.check_sendable()?;
        let mut oversize = None;
        let mut fitting = messages.map_while(|message| {
            if message.len() > self.base.mtu() {
                oversize = Some(message.len());
                return None;
            }
            Some(message)
        });
        loop {
            // Foreign code runs outside of the lock.
            let window: ArrayVec<Buf, BURST> = fitting.by_ref().take(BURST).collect();
            let mut sent = 0;
            while sent < window.len() {
                sent += self.put(window[sent..].iter()).await?;
            }
            // The iterator would go on behind a message that does not fit.
            if window.len() < BURST {
                break;
            }
        }
        drop(fitting);
        oversize.map_or(Ok(()), |len| Err(self.base.too_large(len)))
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        let first = self.received::<BURST>(limit).await?;
        let mut received = first.len();
        let mut was_full = received == BURST;
        into.extend(first);
        for _ in 1..BURSTS {
            if !was_full || received >= limit {
                break;
            }
            // An error comes again with the next call.
            let Ok(more) = self.take::<BURST>(limit - received, 1) else { break };
            was_full = more.len() == BURST;
            received += more.len();
            into.extend(more);
        }
        Ok(received)
    }

    /// Returns at once: the ring holds what was sent, so nothing is left to do.
    async fn drain(&self) -> Result<(), Error> {
        self.check_open()
    }

    async fn close(&self) -> Result<(), Error> {
        if !self.closed.swap(true, Ordering::Relaxed) {
            Producer::end(self.outgoing());
            self.bell.hang_up();
        }
        Ok(())
    }

    fn observe(&self, into: &mut Statistics) {
        let outgoing_bytes = self.producer.lock().filled(self.outgoing());
        let (to_receive_messages, to_receive_bytes) =
            self.consumer.lock().waiting(self.incoming(), MOST_COUNTED);
        let statistics = ShmStatistics {
            ring_bytes: self.layout.ring_bytes() as u64,
            outgoing_bytes,
            is_full: Producer::is_waiting(self.outgoing()),
            to_receive_messages,
            to_receive_bytes,
            is_peer_asleep: Consumer::is_asleep(self.outgoing()),
            waiting: self.waiting,
        };
        into.add(NAME, statistics);
    }
}

impl fmt::Debug for ShmConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(NAME).field("peer", &self.base.peer_addr()).finish_non_exhaustive()
    }
}
