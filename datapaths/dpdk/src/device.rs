//! A port that is open, and its lanes.

use crate::catch::Catch;
use crate::config::Polling;
use crate::failure::failure;
use crate::keeper::Keeper;
use crate::port::{self, Shared};
use crate::sending::Sending;
use crate::state::State;
use crate::steering::Steering;
use crate::{Burst, Checksums, Config, Counters, Packet, Pool, QueueCounters};
use bertha_core::{Buf, Error, ErrorKind};
use bertha_netstack::{Flow, Interface, Offload, Path, Route, Stack};
use parking_lot::{Mutex, MutexGuard};
use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Instant;

/// A port that is open, shared by its connections and listeners.
///
/// It has one lane or several. Each has a queue of the port, if there are as many, and a part of the connections; it
/// shares nothing with the others but rings, so that threads with a lane each do not meet.
pub(crate) struct Device {
    lanes: Box<[Lane]>,
    port: Arc<Shared>,
    pool: Pool,
    interface: Interface,
    polling: Polling,
    /// Ends when it is dropped.
    keeper: Keeper,
}

/// One of the port's queues with its connections. Aligned, so that lanes share no cache lines.
#[repr(align(128))]
struct Lane {
    /// Connections are used from several threads, and each may receive what belongs to another, so queue, stack and connections
    /// need mutual exclusion. Taken once in a burst, and never held while foreign code runs (wakers, iterators, `Extend`).
    state: Mutex<State>,
    /// Somebody has polled since another lane looked last.
    polled: AtomicBool,
    /// The lane that this one looks after next.
    looks_at: AtomicUsize,
}

/// What became of frames that are to be sent.
pub(crate) enum Way {
    /// They may leave.
    Open,
    /// They were for this interface, and are delivered.
    Here,
    /// A neighbour has to answer first, or the link to come up.
    NotYet,
}

impl Device {
    /// Opens the port, and gives it the addresses.
    pub(crate) fn open(config: &Config) -> Result<Arc<Self>, Error> {
        let (subnets, lanes) = (config.subnets()?, config.queues()?);
        let (port, mut queues) = port::open(config)?;
        let interface = Interface::new(port.mac(), port.mtu(), config.vlan, &subnets, &config.gateway)
            .map_err(|error| failure(ErrorKind::Invalid, error.to_string()).because(error))?;
        let (pool, now) = (port.pool(), Instant::now());
        if lanes > 1 && !port.spreads() {
            let (has, wanted) = (queues.len(), lanes);
            tracing::info!(
                has,
                wanted,
                "the port does not spread flows as they are to be; whoever polls does"
            );
        }
        queues.reverse();
        let mut shared = Vec::new();
        let steering = if lanes > 1 { Steering::new(port.spread(), pool) } else { Vec::new() };
        let mut steering = steering.into_iter();
        let short = queues.len() < lanes;
        // A quarter of the buffers is left for what the port receives and sends.
        let waiting = pool.size() as usize / 4 * 3 / lanes;
        let lanes = (0..lanes).map(|lane| {
            let (receiver, transmitter) = queues.pop().unzip();
            let sending = Sending::new(lane, transmitter, short, &mut shared);
            let stack = Stack::new(interface.clone(), now).with_offload(port.offload());
            let stack = match config.checksums {
                Checksums::Software => stack,
                Checksums::None => stack.without_udp_checksums(),
            };
            let state =
                State::new(lane, waiting, (receiver, sending), steering.next(), port.clone(), stack, now);
            Lane {
                state: Mutex::new(state),
                polled: AtomicBool::new(false),
                looks_at: AtomicUsize::new(lane + 1),
            }
        });
        let device = Arc::new(Self {
            lanes: lanes.collect(),
            port,
            pool,
            interface,
            polling: config.polling,
            keeper: Keeper::new(),
        });
        device.keeper.start(&device)?;
        Ok(device)
    }

    pub(crate) fn interface(&self) -> &Interface {
        &self.interface
    }

    pub(crate) fn pool(&self) -> Pool {
        self.pool
    }

    pub(crate) fn polling(&self) -> Polling {
        self.polling
    }

    /// How many lanes there are, one at least.
    #[inline]
    pub(crate) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// The lane of the calling thread: threads take turns as they first ask.
    pub(crate) fn own_lane(&self) -> usize {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static THREAD: Cell<Option<usize>> = const { Cell::new(None) };
        }
        if self.lanes.len() == 1 {
            return 0;
        }
        // Relaxed: a number by itself.
        let next = || THREADS.fetch_add(1, Ordering::Relaxed);
        let number = THREAD.get().unwrap_or_else(next);
        THREAD.set(Some(number));
        number % self.lanes.len()
    }

    /// Whether datagrams from `peer` to a port of this interface arrive in a lane, or are handed there.
    pub(crate) fn belongs(&self, peer: SocketAddr, local_port: u16, lane: usize) -> bool {
        let own = self.interface.address_for(peer.ip()).unwrap_or(peer.ip());
        self.lanes.len() == 1 || self.port.spread().queue_of(Flow::new(peer, local_port), own) == lane
    }

    #[inline]
    pub(crate) fn lock(&self, lane: usize) -> MutexGuard<'_, State> {
        self.lanes[lane].state.lock()
    }

    pub(crate) fn try_lock(&self, lane: usize) -> Option<MutexGuard<'_, State>> {
        self.lanes[lane].state.try_lock()
    }

    /// Unlocks, then wakes whom others' messages were delivered to.
    #[inline]
    pub(crate) fn release(&self, state: MutexGuard<'_, State>) {
        if state.demux.wakes() {
            self.wake(state);
        }
    }

    #[inline(never)]
    fn wake(&self, mut state: MutexGuard<'_, State>) {
        let (mut woken, lane) = (state.demux.take_woken(), state.lane);
        drop(state);
        woken.drain(..).for_each(Waker::wake);
        self.lock(lane).demux.reuse(woken);
    }

    /// Somebody is about to poll `lane`, so others need not.
    #[inline]
    pub(crate) fn polls(&self, lane: usize) {
        if self.lanes.len() > 1 {
            // Relaxed: a hint. The lock orders what matters.
            self.lanes[lane].polled.store(true, Ordering::Relaxed);
        }
    }

    /// Who has polled `lane` in vain polls another one, if nobody has since the last look. Its thread may be busy, or there may
    /// be none; and what is for `lane` may arrive there.
    #[inline]
    pub(crate) fn look_after_another(&self, lane: usize) {
        if self.lanes.len() > 1 {
            self.look_after(lane);
        }
    }

    fn look_after(&self, lane: usize) {
        // Relaxed: hints, as above.
        let other = self.lanes[lane].looks_at.load(Ordering::Relaxed) % self.lanes.len();
        self.lanes[lane].looks_at.store(other + 1, Ordering::Relaxed);
        if other == lane || self.lanes[other].polled.swap(false, Ordering::Relaxed) {
            return;
        }
        if let Some(mut state) = self.try_lock(other) {
            state.poll(&self.pool, &mut Catch::nothing());
            self.release(state);
        }
    }

    /// Makes a message a frame with room for `headers` bytes of headers in front, which [`seal`](Self::seal) writes. It is copied
    /// if it can't be sent from where it lies; whether it was.
    #[inline(always)]
    pub(crate) fn frame(&self, message: Buf, headers: usize) -> Result<(Packet, bool), Error> {
        match Packet::with_headers(headers, message) {
            Ok(packet) => Ok((packet, false)),
            Err(message) => self.copy(message, headers),
        }
    }

    /// A frame of `message` behind room for `headers` bytes.
    #[cold]
    fn copy(&self, message: Buf, headers: usize) -> Result<(Packet, bool), Error> {
        let mut copy = self.pool.buffer(headers + message.len(), 0)?;
        copy[headers..].copy_from_slice(&message);
        match Packet::from_buf(copy) {
            Ok(packet) => Ok((packet, true)),
            Err(_) => Err(failure(ErrorKind::Io, "a new buffer is not the pool's")),
        }
    }

    /// Writes the headers of a connection's [frames](Self::frame), if its way is known, and looks for its way if not.
    pub(crate) fn seal(&self, state: &mut State, connection: usize, burst: &mut Burst) -> Result<Way, Error> {
        if self.seal_as_known(state, connection, burst) {
            Ok(Way::Open)
        } else {
            self.find_way(state, connection, burst)
        }
    }

    /// Writes the headers of a connection's [frames](Self::frame), if its way is known; whether it is.
    #[inline]
    pub(crate) fn seal_as_known(&self, state: &mut State, connection: usize, burst: &mut Burst) -> bool {
        let State { demux, stack, now, .. } = state;
        match demux.path_mut(connection).1 {
            Some(path) if stack.is_current(path, *now) => {
                seal(path, burst);
                true
            }
            _ => false,
        }
    }

    #[cold]
    fn find_way(&self, state: &mut State, connection: usize, burst: &mut Burst) -> Result<Way, Error> {
        state.look_at_clock();
        let (flow, _) = state.demux.path_mut(connection);
        let peer = flow.peer();
        let route = if state.is_up() || self.interface.is_own(peer.ip()) {
            state.stack.route(flow, state.now)
        } else {
            Route::Resolving
        };
        match route {
            Route::Ready(found) => {
                let most = state.stack.max_payload(peer.ip());
                let longest = burst.iter_mut().map(|packet| packet.bytes().len()).max().unwrap_or(0);
                if longest > found.len() + most {
                    let len = longest - found.len();
                    let what = format!("message of {len} bytes to {peer}, whose path carries {most}");
                    return Err(failure(ErrorKind::TooLarge, what));
                }
                seal(&found, burst);
                *state.demux.path_mut(connection).1 = Some(found);
                Ok(Way::Open)
            }
            Route::Local => {
                let headers = self.interface.headers(peer.ip());
                while let Some(packet) = burst.pop() {
                    let len = packet.bytes().len();
                    state.deliver_here(flow, packet.into_part(headers..len));
                }
                Ok(Way::Here)
            }
            Route::Resolving => {
                state.send_answers(&self.pool);
                Ok(Way::NotYet)
            }
            Route::NoNeighbour => {
                let what = format!("nobody answers at {peer}: no neighbour says that it has the address");
                Err(failure(ErrorKind::Unreachable, what))
            }
            Route::NoRoute => {
                let what =
                    format!("no way to {peer}: it is in no subnet of the interface, and there is no gateway");
                Err(failure(ErrorKind::Unreachable, what))
            }
        }
    }

    /// What all lanes dropped.
    pub(crate) fn counters(&self) -> Counters {
        let mut all = Counters::default();
        for lane in 0..self.lanes() {
            let state = self.lock(lane);
            all += Counters { stack: state.stack.counters(), ..state.counters };
        }
        all
    }

    /// What each lane received.
    pub(crate) fn queue_counters(&self) -> Vec<QueueCounters> {
        (0..self.lanes()).map(|lane| self.lock(lane).queue_counters).collect()
    }

    pub(crate) fn statistics(&self) -> Result<crate::PortStatistics, Error> {
        self.port.statistics()
    }

    pub(crate) fn offload(&self) -> Offload {
        self.port.offload()
    }

    pub(crate) fn is_up(&self) -> bool {
        self.lock(0).is_up()
    }
}

/// Writes these headers in front of all.
#[inline(never)]
fn seal(path: &Path, burst: &mut Burst) {
    for packet in burst.iter_mut() {
        path.seal(packet.bytes_mut());
    }
    if let Some(offloaded) = path.offloaded() {
        burst.iter_mut().for_each(|packet| packet.offload(offloaded));
    }
}
