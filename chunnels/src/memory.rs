//! Connections within the process, for tests: reliable, ordered, and never full.

use bertha_core::{Addr, Base, Buf, Connection, Error, ErrorKind, Properties, Runtime};
use std::collections::VecDeque;
use std::fmt;
use std::future::{pending, poll_fn};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Instant;

/// The largest message that a buffer of [`MemoryBase`] holds.
pub(crate) const MTU: usize = 65_507;

/// The queue of one direction.
struct Queue<T> {
    messages: VecDeque<T>,
    waiting: Vec<Waker>,
    closed: bool,
}

impl<T> Queue<T> {
    fn new() -> Arc<Mutex<Self>> {
        // With capacity for all messages of the tests, so that allocations can be counted.
        Arc::new(Mutex::new(Self {
            messages: VecDeque::with_capacity(1024),
            waiting: Vec::new(),
            closed: false,
        }))
    }

    fn wake(&mut self) {
        self.waiting.drain(..).for_each(Waker::wake);
    }
}

/// One end of a pair.
pub(crate) struct Memory<T> {
    out: Arc<Mutex<Queue<T>>>,
    back: Arc<Mutex<Queue<T>>>,
    base: MemoryBase,
}

/// Two ends that are connected to each other.
pub(crate) fn pair<T: Send + 'static>() -> (Memory<T>, Memory<T>) {
    let (first, second) = (Queue::new(), Queue::new());
    (
        Memory { out: first.clone(), back: second.clone(), base: MemoryBase },
        Memory { out: second, back: first, base: MemoryBase },
    )
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the pair was closed").at("Memory")
}

impl<T> Memory<T> {
    /// The number of messages sent here that the other end has not received.
    pub(crate) fn unreceived(&self) -> usize {
        self.out.lock().unwrap().messages.len()
    }

    /// Waits until `take` gets something out of what has arrived.
    async fn when_there<R>(&self, mut take: impl FnMut(&mut VecDeque<T>) -> Option<R>) -> Result<R, Error> {
        poll_fn(|context| {
            let mut back = self.back.lock().unwrap();
            if let Some(taken) = take(&mut back.messages) {
                return Poll::Ready(Ok(taken));
            }
            if back.closed {
                return Poll::Ready(Err(closed()));
            }
            back.waiting.push(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

impl<T: Send + 'static> Connection for Memory<T> {
    type Data = T;
    type Base = MemoryBase;

    fn base(&self) -> &MemoryBase {
        &self.base
    }

    async fn send(&self, message: T) -> Result<(), Error> {
        let mut out = self.out.lock().unwrap();
        if out.closed {
            return Err(closed());
        }
        out.messages.push_back(message);
        out.wake();
        Ok(())
    }

    async fn recv(&self) -> Result<T, Error> {
        self.when_there(|messages| messages.pop_front()).await
    }

    async fn send_batch(&self, messages: impl Iterator<Item = T> + Send) -> Result<(), Error> {
        let mut out = self.out.lock().unwrap();
        if out.closed {
            return Err(closed());
        }
        out.messages.extend(messages);
        out.wake();
        Ok(())
    }

    async fn recv_batch(&self, into: &mut (impl Extend<T> + Send), limit: usize) -> Result<usize, Error> {
        self.when_there(|messages| {
            let count = messages.len().min(limit);
            into.extend(messages.drain(..count));
            (count > 0).then_some(count)
        })
        .await
    }

    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        for queue in [&self.out, &self.back] {
            let mut queue = queue.lock().unwrap();
            queue.closed = true;
            queue.wake();
        }
        Ok(())
    }
}

impl<T> fmt::Debug for Memory<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Memory")
    }
}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        for queue in [&self.out, &self.back] {
            let mut queue = queue.lock().unwrap();
            queue.closed = true;
            queue.wake();
        }
    }
}

/// The bottom of a pair.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryBase;

impl Base for MemoryBase {
    type Runtime = Self;

    fn runtime(&self) -> &Self {
        self
    }

    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        Buf::new(len, 0)
    }

    fn reserve(&self, _: usize) {}

    fn reserved(&self) -> usize {
        0
    }

    fn mtu(&self) -> usize {
        MTU
    }

    fn local_addr(&self) -> Addr {
        Addr::Unnamed
    }

    fn peer_addr(&self) -> Addr {
        Addr::Unnamed
    }

    fn properties(&self) -> Properties {
        Properties::STREAM
    }
}

/// No Chunnel here starts tasks or waits for a time.
impl Runtime for MemoryBase {
    type Task = ();

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep_until(&self, _: Instant) -> impl Future<Output = ()> + Send + 'static {
        pending()
    }

    fn spawn(&self, _: impl Future<Output = ()> + Send + 'static) {}

    /// Different each time, and no more.
    fn random(&self) -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        LAST.fetch_add(1, Relaxed)
    }
}
