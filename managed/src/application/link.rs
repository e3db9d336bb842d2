//! The connection of an application to the daemon.

use super::control::Control;
use crate::{Descriptor, Done, InHeap};
use bertha_core::{Buf, Connection, Error, Runtime};
use bertha_datapath_shm::ShmConnection;
use bertha_datapath_shm::heap::{self, Heap};
use bertha_runtime::tokio::TokioRuntime;
use futures_util::FutureExt;
use parking_lot::Mutex;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::Notify;

/// The queue, the heaps, and what is to be given back.
pub(super) struct Link {
    pub(super) queue: ShmConnection,
    pub(super) heap: Heap,
    pub(super) control: Arc<Control>,
    /// Messages that the daemon may still read, by their numbers. Their types are many, so each is behind a `dyn`.
    sent: Mutex<HashMap<u32, Box<dyn Any + Send>>>,
    /// The turn to wait for room in the queue, which those who wait have in their order.
    turn: tokio::sync::Mutex<()>,
    number: AtomicU32,
    notices: Mutex<Notices>,
    /// The signal that notices have to be sent.
    noticed: Notify,
    /// The signal that notices go along with the next descriptor.
    unhurried: Notify,
}

/// The news for the daemon beside calls.
#[derive(Debug, Default)]
struct Notices {
    cancelled: Vec<u64>,
    done: Vec<Done>,
    /// Number of bytes of the messages in `done`.
    bytes: usize,
}

/// Number of bytes that are given back at once, and not with the next descriptor.
const LARGE: usize = 64 << 10;

/// A message with bytes of its own, even if it has no fields.
#[repr(C)]
struct Sent<M> {
    message: M,
    _bytes: u64,
}

impl Link {
    pub(super) fn new(queue: ShmConnection, heap: Heap, control: Arc<Control>) -> Arc<Self> {
        Arc::new(Self {
            queue,
            heap,
            control,
            sent: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            number: AtomicU32::new(0),
            notices: Mutex::default(),
            noticed: Notify::new(),
            unhurried: Notify::new(),
        })
    }

    /// Puts a message into the send heap, where it stays until the daemon [needs it no more](Self::on_done), or until it is [taken
    /// back](Self::take_back).
    pub(super) fn put<M: Send + 'static>(&self, message: M) -> Result<InHeap, heap::Full> {
        let boxed = heap::Box::try_new_in(Sent { message, _bytes: 0 }, &self.heap)?;
        let at = heap::Box::as_ptr(&boxed).addr() as u64;
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.sent.lock().insert(number, Box::new(boxed));
        Ok(InHeap { at, bytes: size_of::<M>() as u32, number })
    }

    /// Drops a message of which the daemon was not told.
    pub(super) fn take_back(&self, number: u32) {
        let sent = self.sent.lock().remove(&number);
        // The lock is free while the message is dropped.
        drop(sent);
    }

    /// Drops messages that the daemon needs no more.
    pub(super) fn on_done(&self, done: &Done) {
        done.numbers().iter().for_each(|number| self.take_back(*number));
    }

    /// Sends a descriptor, and waits for room in the queue. Descriptors keep the order in which they began to wait. What was given back goes
    /// along, as far as there is room: the daemon is woken anyway.
    ///
    /// The future is cancellation-safe: the descriptor was sent, or not.
    pub(super) async fn send(&self, descriptor: Descriptor) -> Result<(), Error> {
        self.send_given_back();
        // A lock on the way of calls, since the queue wakes all who wait for room, and calls of one task keep their order. It is free unless the
        // queue is full.
        let _turn = self.turn.lock().await;
        self.put_in_queue(descriptor).await
    }

    async fn put_in_queue(&self, descriptor: Descriptor) -> Result<(), Error> {
        self.queue.send(Buf::copy_of(&descriptor.to_bytes(), 0)?).await
    }

    fn send_given_back(&self) {
        let mut notices = self.notices.lock();
        while let Some(done) = notices.done.last() {
            // A future that has to wait is dropped, and has sent nothing.
            if !matches!(self.put_in_queue(Descriptor::Done(*done)).now_or_never(), Some(Ok(()))) {
                return;
            }
            notices.done.pop();
        }
        notices.bytes = 0;
    }

    /// Gives a received message back, if there is one: at once if there is much to give back, else with the next descriptor, or after
    /// [some time](Done::PATIENCE).
    pub(super) fn give_back(&self, message: InHeap) {
        if message.at == 0 {
            return;
        }
        let mut notices = self.notices.lock();
        notices.bytes = notices.bytes.saturating_add(message.bytes as usize);
        let has_room = notices.done.last_mut().is_some_and(|done| done.push(message.number));
        if !has_room {
            let mut done = Done::default();
            done.push(message.number);
            notices.done.push(done);
        }
        let is_urgent = notices.done.len() > 1 || notices.bytes >= LARGE;
        drop(notices);
        if is_urgent { &self.noticed } else { &self.unhurried }.notify_one();
    }

    /// Tells the daemon that the outcome of a call is not wanted any more.
    pub(super) fn cancel(&self, call: u64) {
        self.notices.lock().cancelled.push(call);
        self.noticed.notify_one();
    }

    /// Ends the connection, though messages of it are still held: the daemon may live, and would keep the name of a server.
    pub(super) fn end(&self) {
        self.control.end();
        // Closing never waits.
        let _closed = self.queue.close().now_or_never();
    }

    /// Sends notices, until the connection ends.
    pub(super) async fn send_notices(&self) {
        let mut late = pin!(self.has_waited());
        loop {
            tokio::select! {
                () = self.noticed.notified() => {}
                () = &mut late => late.set(self.has_waited()),
            }
            let Notices { cancelled, done, .. } = mem::take(&mut *self.notices.lock());
            let cancelled = cancelled.into_iter().map(|call| Descriptor::Cancellation { call });
            for notice in cancelled.chain(done.into_iter().map(Descriptor::Done)) {
                if self.put_in_queue(notice).await.is_err() {
                    return;
                }
            }
        }
    }

    /// Waits until a message was given back, and some time has passed. The wait goes on when the message has gone meanwhile, so that it costs
    /// nothing for each message.
    async fn has_waited(&self) {
        self.unhurried.notified().await;
        TokioRuntime.sleep_until(TokioRuntime.now() + Done::PATIENCE).await;
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("heap", &self.heap).finish_non_exhaustive()
    }
}
