//! The task of a connection: moves packets between the machine and the connection below, and waits for its timers.

use super::machine::Machine;
use bertha_core::{Base, Buf, Connection, Error, Runtime};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How many packets are taken from below at a time.
const BURST: usize = 64;

/// How long to wait after an error of the connection below that passes, so that a connection which fails again and
/// again does not keep the processor busy.
const PAUSE: Duration = Duration::from_millis(1);

/// What the task shares with the connection. The lock is held for a packet at a time, never while waiting.
pub(super) struct Shared<Inner> {
    pub(super) inner: Inner,
    pub(super) machine: Mutex<Machine>,
    /// The headroom that layers below need.
    pub(super) below: usize,
    start: Instant,
    /// There may be something to send.
    pub(super) depart: Notify,
    /// There may be something to receive.
    pub(super) arrived: Notify,
    /// There may be room for a message.
    pub(super) room: Notify,
    /// A close may be over.
    pub(super) closed: Notify,
}

impl<Inner: Connection<Data = Buf>> Shared<Inner> {
    pub(super) fn new(inner: Inner, machine: Machine, below: usize) -> Self {
        let start = inner.base().runtime().now();
        let [depart, arrived, room, closed] = std::array::from_fn(|_| Notify::new());
        Self { inner, machine: Mutex::new(machine), below, start, depart, arrived, room, closed }
    }

    /// Wakes everyone who waits, since the connection ends.
    pub(super) fn wake_all(&self) {
        self.depart.notify_one();
        for waiting in [&self.arrived, &self.room, &self.closed] {
            waiting.notify_one();
            waiting.notify_waiters();
        }
    }

    fn now(&self) -> Duration {
        self.inner.base().runtime().now().saturating_duration_since(self.start)
    }

    /// A buffer of `len` bytes with headroom for the layers below. Those that the base gives have headroom for the layers
    /// above as well, which a packet does not need: it is taken into the packet.
    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        let base = self.inner.base();
        let spare = base.reserved().saturating_sub(self.below);
        let mut buf = base.buffer(len.saturating_sub(spare))?;
        buf.prepend(spare)?;
        buf.truncate(len);
        Ok(buf)
    }

    /// What every change of the machine may lead to.
    fn tell(&self) {
        self.arrived.notify_one();
        self.room.notify_one();
        if self.machine.lock().closed().is_some() {
            self.wake_all();
        }
    }
}

/// Runs until the connection is over.
pub(super) async fn run<Inner: Connection<Data = Buf>>(shared: Arc<Shared<Inner>>) {
    // At once, since below a stream `send` may wait until the peer receives, and the peer may do the same.
    let (sending, receiving) = (pin!(send(&shared)), pin!(receive(&shared)));
    let (Either::Left((error, _)) | Either::Right((error, _))) = select(sending, receiving).await;
    if let Some(error) = error {
        shared.machine.lock().lost_base(&error);
    }
    shared.wake_all();
}

/// Takes in packets until the connection below ends.
async fn receive<Inner: Connection<Data = Buf>>(shared: &Shared<Inner>) -> Option<Error> {
    let mut packets = Vec::with_capacity(BURST);
    loop {
        match shared.inner.recv_batch(&mut packets, BURST).await {
            Ok(_) => {}
            Err(error) if error.kind().may_pass() => pause(shared).await,
            Err(error) => return Some(error),
        }
        let (now, is_full) = (shared.now(), packets.len() == BURST);
        for packet in packets.drain(..) {
            shared.machine.lock().handle_packet(packet, now);
        }
        shared.tell();
        shared.depart.notify_one();
        if is_full {
            // While more comes all the time, this half never waits, and the other one would not get to acknowledge it: the
            // peer would send a whole window, and then stand still.
            let_others().await;
        }
    }
}

/// Lets what else is ready go first.
async fn let_others() {
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

/// Sends packets as they become due until there are none left to send, ever.
async fn send<Inner: Connection<Data = Buf>>(shared: &Shared<Inner>) -> Option<Error> {
    let runtime = shared.inner.base().runtime();
    let mut alarm = pin!(None);
    let mut alarm_at = Duration::MAX;
    // The first packet of the next burst.
    let mut ahead: Option<Buf> = None;
    loop {
        // A datapath may let packets of different lengths in one burst overtake each other, by many: they would be taken for
        // lost. So a burst ends where the length changes.
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
        });
        let sent = {
            let burst = pin!(shared.inner.send_batch(packets));
            let Either::Left((sent, _)) = select(burst, pin!(silence(shared))).await else { return None };
            sent
        };
        match sent {
            Ok(()) => {}
            // Packets that were taken are lost, and sent again like others.
            Err(error) if error.kind().may_pass() => pause(shared).await,
            Err(error) => return Some(error),
        }
        if ahead.is_some() {
            continue;
        }
        let (due, is_over) = {
            let machine = shared.machine.lock();
            (machine.poll_timeout(), machine.is_over())
        };
        if is_over {
            // The receiving half ends with the connection below, so that a repeated end is still answered.
            shared.tell();
            return None;
        }
        // Deadlines mostly move back: an alarm that goes too early costs less than one that is set for each packet.
        if due.is_some_and(|due| due < alarm_at) {
            alarm_at = due.unwrap_or(Duration::MAX);
            alarm.set(Some(runtime.sleep_until(shared.start + alarm_at)));
        }
        let notified = pin!(shared.depart.notified());
        match alarm.as_mut().as_pin_mut() {
            None => notified.await,
            Some(sleep) => {
                if let Either::Left(_) = select(sleep, notified).await {
                    alarm.set(None);
                    alarm_at = Duration::MAX;
                }
            }
        }
        let now = shared.now();
        let is_due = due.is_some_and(|due| due <= now);
        if is_due {
            shared.machine.lock().handle_timeout(now);
            shared.tell();
        }
    }
}

/// Waits until the peer is given up. A burst may wait below for one that takes nothing, for as long as that one pleases, and
/// nothing else looks at the time meanwhile.
async fn silence<Inner: Connection<Data = Buf>>(shared: &Shared<Inner>) {
    let runtime = shared.inner.base().runtime();
    while !shared.machine.lock().is_over() {
        let due = shared.machine.lock().poll_patience(shared.now());
        runtime.sleep_until(shared.start + due).await;
        shared.machine.lock().handle_timeout(shared.now());
        shared.tell();
    }
}

async fn pause<Inner: Connection>(shared: &Shared<Inner>) {
    let runtime = shared.inner.base().runtime();
    runtime.sleep_until(runtime.now() + PAUSE).await;
}
