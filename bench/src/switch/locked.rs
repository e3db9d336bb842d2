//! A connection each of whose calls takes a lock, and does nothing else: the least that in safe code lets a stack be replaced under its
//! calls.

use bertha_core::{Connection, Error, ErrorKind};
use lock_api::Mutex;
use spin::mutex::SpinMutex;
use std::sync::Arc;

/// A stack behind two locks that are only tried, one for either direction, as a seat is. It can't be changed: nobody asks calls to stay
/// away or to leave, nobody counts them, and a call that finds its lock taken fails.
#[derive(Debug)]
pub(super) struct Locked<C> {
    sending: TryLock<Arc<C>>,
    receiving: TryLock<Arc<C>>,
    stack: Arc<C>,
}

type TryLock<T> = Mutex<SpinMutex<()>, T>;

impl<C> Locked<C> {
    pub(super) fn new(stack: C) -> Self {
        let stack = Arc::new(stack);
        Self { sending: TryLock::new(stack.clone()), receiving: TryLock::new(stack.clone()), stack }
    }
}

#[cold]
fn taken() -> Error {
    Error::new(ErrorKind::Exhausted, "another call has the lock")
}

#[allow(clippy::await_holding_lock, reason = "the lock is held while the call waits, as a seat is")]
impl<C: Connection> Connection for Locked<C> {
    type Data = C::Data;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.stack.base()
    }

    async fn send(&self, message: C::Data) -> Result<(), Error> {
        let Some(stack) = self.sending.try_lock() else { return Err(taken()) };
        stack.send(message).await
    }

    async fn recv(&self) -> Result<C::Data, Error> {
        let Some(stack) = self.receiving.try_lock() else { return Err(taken()) };
        stack.recv().await
    }

    async fn send_batch(&self, messages: impl Iterator<Item = C::Data> + Send) -> Result<(), Error> {
        let Some(stack) = self.sending.try_lock() else { return Err(taken()) };
        stack.send_batch(messages).await
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<C::Data> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let Some(stack) = self.receiving.try_lock() else { return Err(taken()) };
        stack.recv_batch(into, limit).await
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.stack.drain()
    }

    async fn close(&self) -> Result<(), Error> {
        self.stack.close().await
    }
}
