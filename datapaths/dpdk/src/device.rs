//! A port with its stack and its connections: all that must not be used by two at once.

use crate::config::Polling;
use crate::demux::{Demux, Limits, Undelivered};
use crate::failure::failure;
use crate::keeper::Keeper;
use crate::port::{self, Receiver, Shared};
use crate::sending::Sending;
use crate::steering::{Steered, Steering};
#[cfg(feature = "tcp")]
use crate::tcp::Driver;
use crate::{Burst, Config, Counters, Packet, Pool, QueueCounters};
use bertha_core::{Buf, Error, ErrorKind};
use bertha_netstack::{Arrival, Flow, HEADERS, Interface, Offload, Path, Route, Stack};
use parking_lot::{Mutex, MutexGuard};
use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Instant;

/// How many connections of a listener wait to be accepted, and how many messages of a connection to be received.
const LIMITS: Limits = Limits { backlog: 1024, queue: 1024 };

/// How often the clock is looked at while frames arrive. What depends on it lasts seconds.
const POLLS_PER_LOOK: u32 = 64;

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

/// What is behind the lock.
pub(crate) struct State {
    lane: usize,
    /// Nothing if the port has fewer queues than there are lanes.
    receiver: Option<Receiver>,
    pub(crate) sending: Sending,
    /// Nothing if this is the only lane.
    steering: Option<Steering>,
    port: Arc<Shared>,
    pub(crate) stack: Stack,
    pub(crate) demux: Demux,
    /// All segments arrive in the first lane.
    #[cfg(feature = "tcp")]
    pub(crate) tcp: Driver,
    /// What has arrived and was not sorted in. Empty whenever the lock is free; kept, so that nothing has to be made.
    arrived: Burst,
    /// Frames of the stack's own. Likewise.
    answers: Burst,
    /// The time as of the last look.
    pub(crate) now: Instant,
    polls: u32,
    /// Polls in a row that found nothing.
    pub(crate) idle: u32,
    /// Polls since the keeper has looked.
    pub(crate) since_kept: u32,
    pub(crate) counters: Counters,
    queue_counters: QueueCounters,
    /// The link was up when it was last looked at.
    was_up: bool,
}

/// What became of a message that is to be sent.
pub(crate) enum Sealed {
    /// It is a frame.
    Frame(Packet),
    /// It was for this interface, and is delivered.
    Here,
    /// A neighbour has to answer first, or the link to come up.
    NotYet(Buf),
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
        let lanes = (0..lanes).map(|lane| {
            let (receiver, transmitter) = queues.pop().unzip();
            let sending = Sending::new(lane, transmitter, short, &mut shared);
            let stack = Stack::new(interface.clone(), now).with_offload(port.offload());
            let state = State {
                lane,
                receiver,
                sending,
                steering: steering.next(),
                port: port.clone(),
                stack,
                demux: Demux::new(LIMITS),
                #[cfg(feature = "tcp")]
                tcp: Driver::new(&interface, now),
                arrived: Burst::new(),
                answers: Burst::new(),
                now,
                polls: 0,
                idle: 0,
                since_kept: 0,
                counters: Counters::default(),
                queue_counters: QueueCounters::default(),
                was_up: false,
            };
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
            state.poll(&self.pool);
            self.release(state);
        }
    }

    /// The headers of a connection's messages as a copy, for a burst that is sealed without the lock; nothing if they are not
    /// known, or the peer is this interface itself.
    pub(crate) fn path(&self, lane: usize, connection: usize) -> Option<Path> {
        let mut state = self.lock(lane);
        let State { demux, stack, now, .. } = &mut *state;
        let (_, path) = demux.path_mut(connection);
        path.as_ref().filter(|path| stack.is_current(path, *now)).cloned()
    }

    /// Makes a message a frame with these headers. It is copied if it can't be sent from where it lies; whether it was.
    #[inline]
    pub(crate) fn frame(&self, mut message: Buf, path: &Path) -> Result<(Packet, bool), Error> {
        let len = message.len();
        if message.prepend(path.len()).is_err() {
            let copy = self.copy(&message)?;
            return self.frame(copy, path).map(|(packet, _)| (packet, true));
        }
        debug_assert_eq!(message.len(), len + path.len());
        path.seal(&mut message);
        let (mut packet, copied) = match Packet::from_buf(message) {
            Ok(packet) => (packet, false),
            Err(foreign) => match Packet::from_buf(self.copy(&foreign)?) {
                Ok(packet) => (packet, true),
                Err(_) => return Err(failure(ErrorKind::Io, "a new buffer is not the pool's")),
            },
        };
        if let Some(offloaded) = path.offloaded() {
            packet.offload(offloaded);
        }
        Ok((packet, copied))
    }

    #[cold]
    fn copy(&self, message: &[u8]) -> Result<Buf, Error> {
        let mut copy = self.pool.buffer(message.len(), HEADERS)?;
        copy.copy_from_slice(message);
        Ok(copy)
    }

    /// Makes a message of a connection a frame, if its way is known, and looks for its way if not.
    #[inline]
    pub(crate) fn seal(&self, state: &mut State, connection: usize, message: Buf) -> Result<Sealed, Error> {
        let State { demux, stack, now, .. } = &mut *state;
        let (_, path) = demux.path_mut(connection);
        match path {
            Some(path) if stack.is_current(path, *now) => {
                let (packet, copied) = self.frame(message, path)?;
                state.counters.copied += u64::from(copied);
                Ok(Sealed::Frame(packet))
            }
            _ => self.find_way(state, connection, message),
        }
    }

    #[cold]
    fn find_way(&self, state: &mut State, connection: usize, message: Buf) -> Result<Sealed, Error> {
        state.look_at_clock();
        let (flow, _) = state.demux.path_mut(connection);
        let peer = flow.peer();
        let route = if state.is_up() || self.interface.is_own(peer.ip()) {
            state.stack.route(flow, state.now)
        } else {
            Route::Waiting
        };
        match route {
            Route::Ready(found) => {
                let most = state.stack.most(peer.ip());
                if message.len() > most {
                    let what =
                        format!("message of {} bytes to {peer}, whose path carries {most}", message.len());
                    return Err(failure(ErrorKind::TooLarge, what));
                }
                let (packet, copied) = self.frame(message, &found)?;
                *state.demux.path_mut(connection).1 = Some(found);
                state.counters.copied += u64::from(copied);
                Ok(Sealed::Frame(packet))
            }
            Route::Here => {
                state.deliver_here(flow, message);
                Ok(Sealed::Here)
            }
            Route::Waiting => {
                state.send_answers(&self.pool);
                Ok(Sealed::NotYet(message))
            }
            Route::Nobody => {
                let what = format!("nobody answers at {peer}: no neighbour says that it has the address");
                Err(failure(ErrorKind::Unreachable, what))
            }
            Route::None => {
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

impl State {
    /// Polls the port once and sorts in what has arrived: how many frames that was.
    #[inline]
    pub(crate) fn poll(&mut self, pool: &Pool) -> usize {
        let received = match &mut self.receiver {
            Some(receiver) => receiver.receive(&mut self.arrived),
            None => 0,
        };
        self.since_kept = self.since_kept.wrapping_add(1);
        self.polls += 1;
        if self.polls >= POLLS_PER_LOOK {
            self.look_around(pool);
        }
        if self.steering.is_some() {
            return self.poll_steered(received, pool);
        }
        if received == 0 {
            self.idle = self.idle.saturating_add(1);
            return 0;
        }
        self.idle = 0;
        while let Some(packet) = self.arrived.pop() {
            self.sort_in(packet, pool);
        }
        #[cfg(feature = "tcp")]
        self.flush(pool);
        if self.stack.has_frames() {
            self.send_answers(pool);
        }
        received
    }

    /// Sorts in what has arrived of several lanes' frames, and what others have handed over.
    fn poll_steered(&mut self, received: usize, pool: &Pool) -> usize {
        self.queue_counters.received += received as u64;
        self.steer_arrived(false, pool);
        let handed = self.steering.as_ref().map_or(0, |steering| steering.take(&mut self.arrived));
        self.queue_counters.taken_over += handed as u64;
        self.steer_arrived(true, pool);
        let found = received + handed;
        if found == 0 {
            self.idle = self.idle.saturating_add(1);
            return 0;
        }
        self.idle = 0;
        #[cfg(feature = "tcp")]
        self.flush(pool);
        if let Some(steering) = &mut self.steering {
            self.counters.ring_full += steering.flush();
        }
        if self.stack.has_frames() {
            self.send_answers(pool);
        }
        found
    }

    /// Sorts in what has arrived or was `handed` over, as far as it belongs here.
    fn steer_arrived(&mut self, handed: bool, pool: &Pool) {
        while let Some(packet) = self.arrived.pop() {
            let Some(steering) = &mut self.steering else { return self.sort_in(packet, pool) };
            match steering.steer(packet, handed) {
                Steered::Keep(packet) => self.sort_in(packet, pool),
                Steered::Overhear(packet) => self.overhear(packet),
                Steered::HandedOn => self.queue_counters.handed_on += 1,
            }
        }
    }

    /// Learns from what another lane has dealt with.
    fn overhear(&mut self, packet: Packet) {
        let checksums = packet.checksums();
        match self.stack.overhear(&mut packet.into_buf(), checksums, self.now) {
            Arrival::Unreachable(flow) => self.demux.fail(flow),
            Arrival::TooBig { flow, mtu } => self.narrow(flow, mtu),
            Arrival::Datagram { .. } | Arrival::Segment { .. } | Arrival::Answer(_) | Arrival::Nothing => {}
        }
    }

    pub(crate) fn look_at_clock(&mut self) {
        self.now = Instant::now();
        self.polls = 0;
        if self.stack.widens_at().is_some_and(|at| at <= self.now) {
            self.widen();
        }
    }

    /// Does what is due by the clock.
    #[cfg_attr(not(feature = "tcp"), expect(unused_variables, reason = "datagrams have no clock"))]
    pub(crate) fn look_around(&mut self, pool: &Pool) {
        self.look_at_clock();
        #[cfg(feature = "tcp")]
        self.drive(pool);
    }

    #[inline]
    #[cfg_attr(not(feature = "tcp"), expect(unused_variables, reason = "datagrams need no buffers"))]
    fn sort_in(&mut self, packet: Packet, pool: &Pool) {
        let checksums = packet.checksums();
        let mut frame = packet.into_buf();
        match self.stack.receive(&mut frame, checksums, self.now) {
            Arrival::Datagram { flow, payload } => {
                let undelivered = match self.demux.find(flow) {
                    Ok(connection) => {
                        frame.truncate(payload.end);
                        // Within the frame, as the stack promises.
                        let _ = frame.advance(payload.start);
                        self.demux.deliver(connection, frame)
                    }
                    Err(Undelivered::Closed) => {
                        self.stack.refuse(&frame, self.now);
                        Err(Undelivered::Closed)
                    }
                    Err(undelivered) => Err(undelivered),
                };
                if let Err(undelivered) = undelivered {
                    self.count(undelivered);
                }
            }
            Arrival::Answer(len) => {
                frame.truncate(len);
                if let Ok(packet) = Packet::from_buf(frame) {
                    self.answer(packet);
                }
            }
            #[cfg(feature = "tcp")]
            Arrival::Segment { flow, packet, opens } => self.take_segment(pool, &frame, flow, packet, opens),
            #[cfg(not(feature = "tcp"))]
            Arrival::Segment { .. } => self.counters.unknown += 1,
            Arrival::Unreachable(flow) => self.demux.fail(flow),
            Arrival::TooBig { flow, mtu } => self.narrow(flow, mtu),
            Arrival::Nothing => {}
        }
    }

    /// A router says that a path carries less. Only who knows a flow that uses it is believed.
    #[cold]
    fn narrow(&mut self, flow: Flow, mtu: usize) {
        let peer = flow.peer().ip();
        if self.demux.knows(flow) && self.stack.narrow(peer, mtu, self.now) {
            self.demux.set_most(peer, self.stack.most(peer));
        }
    }

    /// Paths that were narrow some time ago may carry more by now.
    #[cold]
    fn widen(&mut self) {
        while let Some(peer) = self.stack.poll_widened(self.now) {
            self.demux.set_most(peer, self.stack.most(peer));
        }
    }

    /// Where the largest message stands that the path of a new connection to `peer` carries. Kept up to date.
    pub(crate) fn watch_path(&mut self, connection: usize, peer: IpAddr) -> Arc<AtomicUsize> {
        let most = self.demux.most(connection);
        most.store(self.stack.most(peer), Ordering::Relaxed);
        most
    }

    #[cold]
    fn count(&mut self, undelivered: Undelivered) {
        match undelivered {
            Undelivered::Closed | Undelivered::Unknown => self.counters.unknown += 1,
            Undelivered::Overflow => self.counters.overflow += 1,
        }
    }

    /// Delivers a message of `flow`, whose peer is this interface itself.
    fn deliver_here(&mut self, flow: Flow, message: Buf) {
        let (peer, port) = (flow.peer(), flow.local_port);
        let back = Flow::new((peer.ip(), port).into(), peer.port());
        let delivered = match self.demux.find(back) {
            Ok(connection) => self.demux.deliver(connection, message),
            Err(undelivered) => Err(undelivered),
        };
        if let Err(undelivered) = delivered {
            self.count(undelivered);
            if undelivered == Undelivered::Closed {
                self.demux.fail(flow);
            }
        }
    }

    /// Sends a frame of the stack's own; what the port does not take is dropped, for the other end asks again.
    fn answer(&mut self, packet: Packet) {
        if self.answers.push(packet).is_ok() {
            self.sending.transmit(&mut self.answers);
        }
        while self.answers.pop().is_some() {
            self.counters.not_sent += 1;
        }
    }

    /// Sends what the stack has to say.
    #[cold]
    pub(crate) fn send_answers(&mut self, pool: &Pool) {
        loop {
            let copy = self.stack.poll_transmit(|frame| {
                let mut copy = pool.buffer(frame.len(), 0)?;
                copy.copy_from_slice(frame);
                Ok::<Buf, Error>(copy)
            });
            match copy {
                None => return,
                Some(Ok(frame)) => {
                    if let Ok(packet) = Packet::from_buf(frame) {
                        self.answer(packet);
                    }
                }
                Some(Err(_)) => self.counters.not_sent += 1,
            }
        }
    }

    /// Hands frames to the port; what it did not take stays in the burst.
    #[inline]
    pub(crate) fn transmit(&mut self, burst: &mut Burst) -> usize {
        self.sending.transmit(burst)
    }

    /// Whether the link is up. When it comes up, the neighbours are told who is here.
    pub(crate) fn is_up(&mut self) -> bool {
        let up = self.port.is_up();
        // Once, whatever the number of lanes.
        if up && !self.was_up && self.lane == 0 {
            self.stack.announce();
        }
        self.was_up = up;
        up
    }

    pub(crate) fn count_copies(&mut self, copied: u64) {
        self.counters.copied += copied;
    }
}
