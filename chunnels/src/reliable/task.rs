//! The task of a connection, which moves packets between the machine and the connection below, and drives the timers.

use super::machine::Machine;
use super::target::TARGET;
use bertha_core::statistics::Observed;
use bertha_core::{Base, Buf, Connection, DropCounter, EcnMarks, Error, Runtime, Statistics};
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use parking_lot::{Mutex, MutexGuard};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The number of packets received from below at a time.
const BURST: usize = 64;

/// The pause after a temporary error of the connection below, so that repeated errors do not occupy the processor.
const PAUSE: Duration = Duration::from_millis(1);

/// The state that the task shares with the connection. The lock is held for one packet at a time, never across an await.
pub(super) struct ReliableState<Inner: Connection> {
    pub(super) inner: Inner,
    pub(super) machine: Mutex<Machine>,
    /// The headroom of the layers below.
    pub(super) below: usize,
    /// The marks for congestion that had arrived before, if they are counted.
    marks_before: Option<EcnMarks>,
    start: Instant,
    /// The packets that the connection below refused, and survived.
    not_sent: DropCounter,
    /// Notified when there may be a packet to send.
    pub(super) to_send: Notify,
    /// The time at which the half that sends wakes by itself, in nanoseconds.
    alarm: AtomicU64,
    /// Notified when there may be a message to receive.
    pub(super) arrived: Notify,
    /// Notified when there may be capacity for a message.
    pub(super) capacity: Notify,
    /// Notified when a close may be complete.
    pub(super) closed: Notify,
    /// The task itself, once the connection was dropped behind the peer's close.
    pub(super) parting: OnceLock<TaskOf<Inner>>,
}

/// A task of a connection's runtime.
pub(super) type TaskOf<Inner> = <<<Inner as Connection>::Base as Base>::Runtime as Runtime>::Task;

impl<Inner: Connection> ReliableState<Inner> {
    fn now(&self) -> Duration {
        self.inner.base().runtime().now().saturating_duration_since(self.start)
    }

    /// Returns the time at which the half that sends wakes by itself.
    fn alarm(&self) -> Duration {
        Duration::from_nanos(self.alarm.load(Relaxed))
    }

    /// Sets the time at which the half that sends wakes by itself, if it does.
    fn set_alarm(&self, at: Option<Duration>) {
        let nanos = at.and_then(|at| u64::try_from(at.as_nanos()).ok());
        self.alarm.store(nanos.unwrap_or(u64::MAX), Relaxed);
    }

    /// Locks the machine for a call that takes no time, and tells the time to the qlog.
    pub(super) fn lock_now(&self) -> MutexGuard<'_, Machine> {
        #[cfg_attr(not(feature = "qlog"), expect(unused_mut, reason = "only the qlog has a time"))]
        let mut machine = self.machine.lock();
        #[cfg(feature = "qlog")]
        machine.set_log_time(self.now());
        machine
    }
}

impl<Inner: Connection<Data = Buf>> ReliableState<Inner> {
    /// `marks_before` are the marks for congestion that arrived before the connection began, if they are counted.
    pub(super) fn new(
        inner: Inner,
        machine: Machine,
        below: usize,
        marks_before: Option<EcnMarks>,
        not_sent: DropCounter,
    ) -> Self {
        let start = inner.base().runtime().now();
        let [to_send, arrived, capacity, closed] = std::array::from_fn(|_| Notify::new());
        let machine = Mutex::new(machine);
        let parting = OnceLock::new();
        Self {
            inner,
            machine,
            below,
            marks_before,
            start,
            to_send,
            alarm: AtomicU64::new(u64::MAX),
            arrived,
            capacity,
            closed,
            parting,
            not_sent,
        }
    }

    /// Wakes all waiting calls, since the connection has ended.
    pub(super) fn wake_all(&self) {
        self.to_send.notify_one();
        for waiting in [&self.arrived, &self.capacity, &self.closed] {
            waiting.notify_one();
            waiting.notify_waiters();
        }
    }

    /// Returns a buffer of `len` bytes with headroom for the layers below. Buffers of the base have headroom for the layers
    /// above as well, which becomes part of the packet.
    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        let base = self.inner.base();
        let spare = base.reserved().saturating_sub(self.below);
        let mut buf = base.buffer(len.saturating_sub(spare))?;
        buf.prepend(spare)?;
        buf.truncate(len);
        Ok(buf)
    }

    /// Wakes the calls that a change of the machine may concern.
    fn wake_waiting(&self) {
        self.arrived.notify_one();
        self.capacity.notify_one();
        if self.machine.lock().closed().is_some() {
            self.wake_all();
        }
    }
}

impl<Inner: Connection<Data = Buf>> Observed for ReliableState<Inner> {
    fn observe(&self, into: &mut Statistics) {
        into.add("Reliable", self.machine.lock().statistics());
    }
}

/// Moves packets until the connection is over.
pub(super) async fn run<Inner: Connection<Data = Buf>>(shared: Arc<ReliableState<Inner>>) {
    // Concurrently, since over a stream both ends may wait in `send` until the other receives.
    let sending = pin!(send(&shared));
    let receiving = pin!(receive(&shared));
    let (Either::Left((error, _)) | Either::Right((error, _))) = select(sending, receiving).await;
    if let Some(error) = error {
        shared.lock_now().on_base_end(&error);
    }
    shared.wake_all();
    if shared.parting.get().is_some() {
        // No caller is left that could learn of an error.
        let _ = shared.inner.close().await;
    }
}

/// Receives packets until the connection below ends.
async fn receive<Inner: Connection<Data = Buf>>(shared: &ReliableState<Inner>) -> Option<Error> {
    let mut packets = Vec::with_capacity(BURST);
    let mut marks_before = shared.marks_before;
    loop {
        match shared.inner.recv_batch(&mut packets, BURST).await {
            Ok(_) => {}
            Err(error) if !error.ends_connection() => pause(shared).await,
            Err(error) => return Some(error),
        }
        let now = shared.now();
        let is_full = packets.len() == BURST;
        for packet in packets.drain(..) {
            shared.machine.lock().handle_packet(packet, now);
        }
        if let Some(before) = marks_before {
            let base = shared.inner.base();
            if !shared.machine.lock().on_marks(base.marks().since(before)) {
                // The peer would not answer them.
                base.set_ecn(false);
                marks_before = None;
            }
        }
        shared.wake_waiting();
        // Mostly the next packet is a message of the layers above, which wakes the other half itself.
        if shared.machine.lock().needs_sender(now, shared.alarm()) {
            shared.to_send.notify_one();
        }
        if is_full {
            // Under constant load this half never waits, and without a pause the other half would acknowledge nothing: the
            // peer would send a whole window and stall.
            yield_now().await;
        }
    }
}

/// Lets other futures that are ready run first.
async fn yield_now() {
    let mut was_polled = false;
    poll_fn(|context| {
        if std::mem::replace(&mut was_polled, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Sends packets as they become due, until no packet will ever be due.
async fn send<Inner: Connection<Data = Buf>>(shared: &ReliableState<Inner>) -> Option<Error> {
    let runtime = shared.inner.base().runtime();
    let mut alarm = pin!(None);
    // The first packet of the next burst.
    let mut ahead: Option<Buf> = None;
    loop {
        // This burst answers all notifications so far.
        let _ = shared.to_send.notified().now_or_never();
        // A datapath may reorder packets of different lengths in one burst, far enough to be declared lost. So a burst ends where
        // the length changes.
        let mut len = None;
        let packets = std::iter::from_fn(|| {
            let packet = ahead.take().or_else(|| {
                let now = shared.now();
                shared.machine.lock().poll_packet(now, |len| shared.buffer(len))
            })?;
            if *len.get_or_insert(packet.len()) == packet.len() {
                return Some(packet);
            }
            ahead = Some(packet);
            None
        })
        .fuse();
        let mut was_notified = false;
        let sent = {
            let burst = pin!(shared.inner.send_batch(packets));
            let over = pin!(over_while_blocked(shared, &mut was_notified));
            let Either::Left((sent, _)) = select(burst, over).await else {
                return None;
            };
            sent
        };
        match sent {
            Ok(()) => {}
            // The packets of the burst are lost, and repeated as all lost packets are.
            Err(error) if !error.ends_connection() => {
                tracing::debug!(target: TARGET, peer = %shared.inner.base().peer_addr(), %error, "packets were not sent");
                shared.not_sent.add(1);
                pause(shared).await;
                // The burst may have left packets behind, whose notification was taken.
                continue;
            }
            Err(error) => return Some(error),
        }
        if ahead.is_some() || was_notified {
            continue;
        }
        let (due, is_over) = {
            let machine = shared.machine.lock();
            (machine.next_timeout(), machine.is_over())
        };
        if is_over {
            // The receiving half goes on until the connection below ends, so that a repeated close is still acknowledged.
            shared.wake_waiting();
            return None;
        }
        // Deadlines mostly move later: an alarm that fires early costs less than one set for each packet.
        if let Some(due) = due.filter(|due| *due < shared.alarm()) {
            shared.set_alarm(Some(due));
            alarm.set(Some(runtime.sleep_until(shared.start + due)));
        }
        let notified = pin!(shared.to_send.notified());
        match alarm.as_mut().as_pin_mut() {
            None => notified.await,
            Some(sleep) => {
                if let Either::Right(_) = select(notified, sleep).await {
                    alarm.set(None);
                    shared.set_alarm(None);
                }
            }
        }
        let now = shared.now();
        let is_due = due.is_some_and(|due| due <= now);
        if is_due {
            shared.machine.lock().on_timeout(now);
            shared.wake_waiting();
        }
    }
}

/// Waits until the connection is over, and drives the timers meanwhile. A burst may wait below without bound for a peer that receives
/// nothing. Sets `was_notified` if it took a notification that there may be a packet to send.
async fn over_while_blocked<Inner: Connection<Data = Buf>>(
    shared: &ReliableState<Inner>,
    was_notified: &mut bool,
) {
    let runtime = shared.inner.base().runtime();
    // The alarm does not go off meanwhile.
    shared.set_alarm(None);
    while !shared.machine.lock().is_over() {
        let next = shared.machine.lock().next_timeout_while_blocked();
        // A message or a packet may have set an earlier timer.
        let notified = pin!(shared.to_send.notified());
        match next {
            None => {
                notified.await;
                *was_notified = true;
            }
            Some(at) => {
                let sleep = pin!(runtime.sleep_until(shared.start + at));
                *was_notified |= matches!(select(sleep, notified).await, Either::Right(_));
            }
        }
        let now = shared.now();
        if next.is_some_and(|next| next <= now) {
            shared.machine.lock().on_timeout(now);
            shared.wake_waiting();
        }
    }
}

async fn pause<Inner: Connection>(shared: &ReliableState<Inner>) {
    let runtime = shared.inner.base().runtime();
    runtime.sleep_until(runtime.now() + PAUSE).await;
}
