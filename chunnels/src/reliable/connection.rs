//! The connection as the layer above sees it.

use super::ReliableStatistics;
use super::machine::{LARGEST_MESSAGE, Machine, Received};
use super::settings::ReliableSettings;
use super::task::{self, ReliableState, TaskOf};
use super::wire::{Check, OVERHEAD};
use crate::congestion::{Algorithm, NewFlow};
use crate::task_end::{self, runtime_ended};
use bertha_core::{Base, Buf, Connection, DropCounter, Error, ErrorKind, Runtime, debug_fields};
use std::sync::Arc;

/// The connection of [`Reliable`](super::Reliable), over a connection that carries bytes.
///
/// `send` is ready once the message is in the buffer, from where it is repeated until the peer has it; it waits while
/// the buffer is full. `recv` returns messages in the order in which they arrive. Dropping a future of `send` or `recv` loses
/// nothing. Dropping the connection drops buffered messages; `close` delivers buffered messages first. The future
/// of `close` can be dropped and made again. `close` fails only if a message of this end may not have arrived.
///
/// # Errors
/// `send` fails with [`TooLarge`](ErrorKind::TooLarge) for a message that does not fit in one packet below, or exceeds
/// 64 KiB; put [`Fragment`](crate::Fragment) above. All calls fail with [`Malformed`](ErrorKind::Malformed) once the
/// peer has broken the protocol, with [`Reset`](ErrorKind::Reset) if the peer reports that this end did, with
/// [`TimedOut`](ErrorKind::TimedOut) if the peer is silent, with [`Closed`](ErrorKind::Closed) if the connection's runtime has
/// ended, and otherwise as the connection below does.
pub struct ReliableConnection<Inner: Connection> {
    shared: Arc<ReliableState<Inner>>,
    /// Ends the task with the connection.
    task: Option<TaskOf<Inner>>,
}

/// The bytes of a datagram that every path of the Internet carries, as QUIC assumes (RFC 9000, section 14).
const SAFE: usize = 1_200;

impl<Inner: Connection<Data = Buf>> ReliableConnection<Inner> {
    pub(super) fn new(
        inner: Inner,
        settings: ReliableSettings,
        algorithm: &dyn Algorithm,
        check: Check,
        [damaged, repeated, after_end, not_sent]: [DropCounter; 4],
    ) -> Self {
        let base = inner.base();
        let below = base.reserved();
        base.reserve(OVERHEAD);
        let max = inner.mtu().saturating_sub(below);
        let settings = ReliableSettings { ecn: settings.ecn && base.set_ecn(true), ..settings };
        let has_marks = settings.ecn;
        let marks_before = has_marks.then(|| base.marks());
        let control = |packet| {
            let local = base.local_addr();
            let peer = base.peer_addr();
            algorithm.start_flow(&NewFlow { packet, local, peer, has_marks })
        };
        #[cfg(feature = "qlog")]
        let log = settings.qlog.as_ref().and_then(|qlog| qlog.begin(&base.local_addr(), &base.peer_addr()));
        let mut machine = Machine::new(settings, control, check, max, base.runtime().random());
        (machine.damaged, machine.repeated) = (damaged, repeated);
        machine.peer = base.peer_addr();
        machine.count_after_end(after_end);
        if !base.properties().reliable {
            machine.cut_beyond(SAFE.saturating_sub(below));
        }
        #[cfg(feature = "qlog")]
        machine.begin_log(log);
        let shared = Arc::new(ReliableState::new(inner, machine, below, marks_before, not_sent));
        let ended = shared.clone();
        let runtime = shared.inner.base().runtime();
        let task = task_end::spawn(runtime, task::run(shared.clone()), move || {
            ended.lock_now().on_base_end(&runtime_ended());
            ended.wake_all();
        });
        Self { shared, task: Some(task) }
    }

    /// Returns counters and the current state.
    pub fn statistics(&self) -> ReliableStatistics {
        self.shared.machine.lock().statistics()
    }

    /// Returns the state, which outlives the connection for as long as its task has messages to deliver.
    pub(super) fn state(&self) -> &Arc<ReliableState<Inner>> {
        &self.shared
    }

    /// Returns the largest message that can be sent, in bytes.
    fn max_message(&self) -> usize {
        self.shared.inner.mtu().saturating_sub(self.shared.below + OVERHEAD).min(LARGEST_MESSAGE)
    }

    fn check(&self, message: &Buf) -> Result<(), Error> {
        let max = self.max_message();
        if message.len() <= max { Ok(()) } else { Err(too_large(message.len(), max)) }
    }

    /// Waits for capacity and buffers the message, without waking the task.
    async fn enqueue(&self, message: Buf) -> Result<(), Error> {
        self.check(&message)?;
        let mut message = Some(message);
        loop {
            // Created before the check, so that no notification is missed.
            let changed = self.shared.capacity.notified();
            {
                let mut machine = self.shared.machine.lock();
                let Some(waiting) = &message else { return Ok(()) };
                if machine.has_capacity(waiting.len())? {
                    message.take().into_iter().for_each(|message| machine.send(message));
                    // Another `send` may fit as well.
                    self.shared.capacity.notify_one();
                    return Ok(());
                }
            }
            // The task has to make space.
            self.shared.to_send.notify_one();
            changed.await;
        }
    }
}

#[cold]
fn too_large(len: usize, max: usize) -> Error {
    let what = format!("message of {len} bytes, at most {max} fit; put Fragment above to split messages");
    Error::new(ErrorKind::TooLarge, what).at("Reliable")
}

impl<Inner: Connection<Data = Buf>> Connection for ReliableConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.shared.inner.base()
    }

    fn mtu(&self) -> usize {
        self.shared.inner.mtu()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.enqueue(message).await?;
        self.shared.to_send.notify_one();
        Ok(())
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            // Created before the check, so that no notification is missed.
            let changed = self.shared.arrived.notified();
            if let Some(received) = self.pop() {
                self.on_pop();
                return received;
            }
            changed.await;
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        let mut sent = Ok(());
        for message in messages {
            sent = self.enqueue(message).await;
            if sent.is_err() {
                break;
            }
        }
        self.shared.to_send.notify_one();
        sent
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        into.extend([self.recv().await?]);
        let mut count = 1;
        // An error waits for the next call.
        while count < limit
            && let Some(Ok(message)) = self.pop()
        {
            into.extend([message]);
            count += 1;
        }
        self.on_pop();
        Ok(count)
    }

    async fn drain(&self) -> Result<(), Error> {
        loop {
            // Created before the check, so that no notification is missed.
            let changed = self.shared.capacity.notified();
            if self.shared.machine.lock().is_drained()? {
                // Another drain may be done as well.
                self.shared.capacity.notify_one();
                return self.shared.inner.drain().await;
            }
            changed.await;
        }
    }

    async fn close(&self) -> Result<(), Error> {
        self.shared.lock_now().close();
        self.shared.wake_all();
        loop {
            let changed = self.shared.closed.notified();
            let closed = self.shared.machine.lock().closed();
            if let Some(closed) = closed {
                // The layers below are closed even if this one failed.
                return closed.and(self.shared.inner.close().await);
            }
            changed.await;
        }
    }
}

impl<Inner: Connection<Data = Buf>> ReliableConnection<Inner> {
    /// Returns the next message or the error of the connection, or `None` while there is neither. The lock is taken for each message, so that the work
    /// of the layers above between two messages delays no packet.
    fn pop(&self) -> Option<Result<Buf, Error>> {
        match self.shared.machine.lock().receive() {
            Received::Message(message) => Some(Ok(message)),
            Received::End(error) => Some(Err(error)),
            Received::Nothing => None,
        }
    }

    /// Wakes another `recv`, which may find a message, and the task if a new grant is due.
    fn on_pop(&self) {
        self.shared.arrived.notify_one();
        if self.shared.machine.lock().is_grant_due() {
            self.shared.to_send.notify_one();
        }
    }
}

impl<Inner: Connection> Drop for ReliableConnection<Inner> {
    /// The task of a connection whose peer has closed goes on until the peer knows that all messages have arrived.
    fn drop(&mut self) {
        if self.shared.lock_now().part() {
            // The task has the state and the state the task, until the task is done.
            self.task.take().into_iter().for_each(|task| _ = self.shared.parting.set(task));
            self.shared.to_send.notify_one();
        }
    }
}

debug_fields!(ReliableConnection<Inner: Connection> {});
