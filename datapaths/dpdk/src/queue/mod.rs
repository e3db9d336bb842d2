//! A queue of a port, with its stack and its connections. [`receive`] handles arriving frames, [`send`]
//! messages to send.

mod connections;
mod listeners;
mod network;
mod receive;
mod send;
mod steering;
#[cfg(feature = "tcp")]
pub(crate) mod streams;
mod unresolved;

use crate::config::Polling;
use crate::mbuf::Burst;
use crate::{Counters, QueueCounters};
use bertha_netstack::Flow;
use bertha_runtime::polling::Limits;
pub(crate) use connections::{Connected, Connections, Ending, Listening, Obstacle};
pub(crate) use network::Network;
use parking_lot::{Mutex, MutexGuard};
#[cfg(feature = "tcp")]
pub(crate) use receive::wait_for;
pub(crate) use receive::{QueueSource, RxQueue};
pub(crate) use send::{Frame, Sent, Transmitter, TxQueue};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;
pub(crate) use steering::Steering;
#[cfg(feature = "tcp")]
use streams::Driver;

/// Number of connections of a listener that may wait to be accepted.
const BACKLOG: usize = 1024;

/// Number of messages of a connection that may wait to be received.
const MAX_QUEUED: usize = 1024;

/// Number of spare bursts that are kept: as many as there are waiting sends, mostly.
const MAX_SPARE: usize = 64;

/// Number of polls between two readings of the clock while frames arrive. All intervals that depend on the
/// clock last milliseconds or longer.
const POLLS_PER_TICK: u32 = 64;

/// A queue of a port, or a part of a queue if the port has too few, with a part of the connections. Queues
/// share nothing but rings, so threads with a queue each do not contend. The type is aligned so that queues
/// share no cache lines.
#[repr(align(128))]
pub(crate) struct Queue {
    /// Connections are used from several threads, and each may receive messages of another connection, so the
    /// port's queue, the stack and the connections need mutual exclusion. The lock is taken once for each
    /// burst, and never held while foreign code runs (wakers, iterators, `Extend`).
    state: Mutex<QueueState>,
    polling: Polling,
    /// True if the port has several queues.
    has_siblings: bool,
    /// True if a thread has polled since another queue's last look.
    polled: AtomicBool,
    /// Number of the queue that this queue looks after next.
    looks_after: AtomicUsize,
}

/// The parts of a queue that two threads must not use at once.
pub(crate) struct QueueState {
    /// The receive queue; `None` if the port has fewer queues than the settings ask for.
    rx: Option<RxQueue>,
    pub(crate) network: Network,
    /// The access to other queues; `None` if the port has a single queue.
    steering: Option<Steering>,
    pub(crate) connections: Connections,
    /// The TCP connections. All segments arrive in the first queue.
    #[cfg(feature = "tcp")]
    pub(crate) tcp: Driver,
    /// Frames that have arrived and were not sorted yet. The burst is empty whenever the lock is free, and
    /// kept so that nothing has to be initialised.
    arrived: Burst,
    /// Bursts for frames that the port did not take, so that nothing has to be allocated while the port is
    /// busy.
    #[expect(clippy::vec_box, reason = "they leave in their boxes")]
    spare: Vec<Box<Burst>>,
    /// Number of polls since the last reading of the clock.
    polls: u32,
    /// Number of consecutive futile polls.
    pub(crate) idle: u32,
    /// Number of polls since the poll thread's last look.
    pub(crate) polls_since_tick: u32,
    pub(crate) counters: QueueCounters,
}

/// The parts of a new queue.
pub(crate) struct Parts {
    pub(crate) rx: Option<RxQueue>,
    pub(crate) network: Network,
    pub(crate) steering: Option<Steering>,
    /// Number of messages that may wait to be received.
    pub(crate) max_queued: usize,
}

impl Queue {
    pub(crate) fn new(number: usize, polling: Polling, parts: Parts) -> Self {
        let Parts { rx, network, steering, max_queued } = parts;
        let has_siblings = steering.is_some();
        let state = QueueState {
            rx,
            steering,
            connections: Connections::new(Limits { backlog: BACKLOG, queue: MAX_QUEUED, shared: max_queued }),
            #[cfg(feature = "tcp")]
            tcp: Driver::new(network.stack.interface(), network.now),
            network,
            arrived: Burst::new(),
            spare: Vec::new(),
            polls: 0,
            idle: 0,
            polls_since_tick: 0,
            counters: QueueCounters::default(),
        };
        Self {
            state: Mutex::new(state),
            polling,
            has_siblings,
            polled: AtomicBool::new(false),
            looks_after: AtomicUsize::new(number + 1),
        }
    }

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock()
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, QueueState>> {
        self.state.try_lock()
    }

    /// Unlocks, then wakes the futures of other connections to which messages were delivered.
    #[inline]
    pub(crate) fn release<'a>(&'a self, state: MutexGuard<'a, QueueState>) {
        bertha_runtime::polling::release(&QueueSource::new(std::slice::from_ref(self), 0), state);
    }

    /// Records that a thread polls the queue, so that other threads need not.
    #[inline]
    pub(crate) fn on_poll(&self) {
        if self.has_siblings {
            // Relaxed access suffices for a hint. The lock orders everything else.
            self.polled.store(true, Ordering::Relaxed);
        }
    }
}

/// Polls another queue, after a futile poll of the queue with this number, unless a thread has polled it
/// since the last look: its thread may be busy or absent, and frames of this queue may arrive there.
#[inline]
pub(crate) fn look_after_another(queues: &[Queue], number: usize) {
    if queues.len() > 1 {
        look_after_next(queues, number);
    }
}

fn look_after_next(queues: &[Queue], number: usize) {
    // Relaxed accesses suffice for hints, as above.
    let other = queues[number].looks_after.load(Ordering::Relaxed) % queues.len();
    queues[number].looks_after.store(other + 1, Ordering::Relaxed);
    if other == number || queues[other].polled.swap(false, Ordering::Relaxed) {
        return;
    }
    if let Some(mut state) = queues[other].try_lock() {
        state.poll_for_others();
        queues[other].release(state);
    }
}

impl QueueState {
    pub(crate) fn read_clock(&mut self) {
        self.network.now = Instant::now();
        self.polls = 0;
        if self.network.stack.path_mtu_expires_at().is_some_and(|at| at <= self.network.now) {
            self.expire_path_mtus();
        }
    }

    /// Reads the clock, and does everything that is due.
    pub(crate) fn tick(&mut self) {
        self.read_clock();
        self.network.watch_progress();
        if self.network.stack.neighbours_due().is_some_and(|at| at <= self.network.now) {
            self.ask_neighbours();
        }
        #[cfg(feature = "tcp")]
        self.tcp.drive(&mut self.network, &mut self.connections);
    }

    /// Asks the neighbours that have not replied again, and gives up neighbours that stay silent.
    #[cold]
    fn ask_neighbours(&mut self) {
        let Network { stack, now, .. } = &mut self.network;
        stack.poll_neighbours(*now);
        self.network.send_replies();
        self.send_unresolved();
    }

    /// Adopts a path MTU that a router reports. The report is believed only for a flow that exists.
    #[cold]
    fn reduce_path_mtu(&mut self, flow: Flow, mtu: usize) {
        let (peer, Network { stack, now, .. }) = (flow.peer().ip(), &mut self.network);
        if self.connections.demux.find(&flow).is_some() && stack.reduce_path_mtu(peer, mtu, *now) {
            self.connections.set_max_message(peer, stack.max_payload(peer));
        }
    }

    /// Forgets path MTUs that were reduced some time ago: the paths may carry more by now.
    #[cold]
    fn expire_path_mtus(&mut self) {
        let Network { stack, now, .. } = &mut self.network;
        while let Some(peer) = stack.poll_expired_path_mtu(*now) {
            self.connections.set_max_message(peer, stack.max_payload(peer));
        }
    }

    /// Returns the largest message in bytes that the path of a new connection to `peer` carries. The value is
    /// kept up to date.
    pub(crate) fn max_message(&mut self, connection: usize, peer: IpAddr) -> Arc<AtomicUsize> {
        let (_, state) = self.connections.demux.connection_mut(connection);
        state.max_message.store(self.network.stack.max_payload(peer), Ordering::Relaxed);
        state.max_message.clone()
    }

    /// Returns all counters of the queue.
    pub(crate) fn counters(&self) -> Counters {
        Counters { stack: self.network.stack.counters(), ..self.network.counters }
    }
}
