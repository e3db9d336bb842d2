//! A port with its stack and its connections: all that must not be used by two at once.

use crate::config::Polling;
use crate::demux::{Demux, Limits, Undelivered};
use crate::failure::failure;
use crate::keeper::Keeper;
#[cfg(feature = "tcp")]
use crate::tcp::Driver;
use crate::{Burst, Config, Counters, Packet, Pool, Port};
use bertha_core::{Buf, Error, ErrorKind};
use bertha_dpdk_sys as sys;
use bertha_netstack::{Arrival, Checksums, Flow, HEADERS, Interface, Path, Route, Stack};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

/// How many connections of a listener wait to be accepted, and how many messages of a connection to be received.
const LIMITS: Limits = Limits { backlog: 1024, queue: 1024 };

/// How often the clock is looked at while frames arrive. What depends on it lasts seconds.
const POLLS_PER_LOOK: u32 = 64;

/// A port that is open, shared by its connections and listeners.
pub(crate) struct Device {
    /// Connections are used from several threads, and each may receive what belongs to another, so port, stack and queues need
    /// mutual exclusion. Taken once in a burst, and never held while foreign code runs (wakers, iterators, `Extend`).
    state: Mutex<State>,
    pool: Pool,
    interface: Interface,
    polling: Polling,
    /// Ends when it is dropped.
    keeper: Keeper,
}

/// What is behind the lock.
pub(crate) struct State {
    pub(crate) port: Port,
    pub(crate) stack: Stack,
    pub(crate) demux: Demux,
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
        let subnets = config.subnets()?;
        let port = Port::open(config)?;
        let interface = Interface::new(port.mac(), port.mtu(), config.vlan, &subnets, &config.gateway)
            .map_err(|error| failure(ErrorKind::Invalid, error.to_string()).because(error))?;
        let (pool, now) = (port.pool(), Instant::now());
        let state = State {
            stack: Stack::new(interface.clone(), now),
            port,
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
            was_up: false,
        };
        let device = Arc::new(Self {
            state: Mutex::new(state),
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

    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, State>> {
        self.state.try_lock()
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
        let mut woken = state.demux.take_woken();
        drop(state);
        woken.drain(..).for_each(Waker::wake);
        self.state.lock().demux.reuse(woken);
    }

    /// The headers of a connection's messages as a copy, for a burst that is sealed without the lock; nothing if they are not
    /// known, or the peer is this interface itself.
    pub(crate) fn path(&self, connection: usize) -> Option<Path> {
        let mut state = self.lock();
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
        match Packet::from_buf(message) {
            Ok(packet) => Ok((packet, false)),
            Err(foreign) => match Packet::from_buf(self.copy(&foreign)?) {
                Ok(packet) => Ok((packet, true)),
                Err(_) => Err(failure(ErrorKind::Io, "a new buffer is not the pool's")),
            },
        }
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

    pub(crate) fn counters(&self) -> Counters {
        let state = self.lock();
        Counters { stack: state.stack.counters(), ..state.counters }
    }

    pub(crate) fn statistics(&self) -> Result<crate::PortStatistics, Error> {
        self.lock().port.statistics()
    }

    pub(crate) fn is_up(&self) -> bool {
        self.lock().is_up()
    }
}

impl State {
    /// Polls the port once and sorts in what has arrived: how many frames that was.
    #[inline]
    pub(crate) fn poll(&mut self, pool: &Pool) -> usize {
        let received = self.port.receive(&mut self.arrived);
        self.since_kept = self.since_kept.wrapping_add(1);
        self.polls += 1;
        if received == 0 {
            self.idle = self.idle.saturating_add(1);
            // There is time for it.
            if self.polls >= POLLS_PER_LOOK {
                self.look_around(pool);
            }
            return 0;
        }
        self.idle = 0;
        if self.polls >= POLLS_PER_LOOK {
            self.look_around(pool);
        }
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

    pub(crate) fn look_at_clock(&mut self) {
        self.now = Instant::now();
        self.polls = 0;
    }

    /// Does what is due by the clock.
    pub(crate) fn look_around(&mut self, pool: &Pool) {
        self.look_at_clock();
        #[cfg(feature = "tcp")]
        self.drive(pool);
        #[cfg(not(feature = "tcp"))]
        let _ = pool;
    }

    #[inline]
    #[cfg_attr(not(feature = "tcp"), expect(unused_variables, reason = "datagrams need no buffers"))]
    fn sort_in(&mut self, packet: Packet, pool: &Pool) {
        let checksums = match packet.checksums() {
            sys::CHECKSUMS_GOOD => Checksums::Good,
            sys::CHECKSUMS_BAD => Checksums::Bad,
            _ => Checksums::Unknown,
        };
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
            Arrival::Nothing => {}
        }
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
            self.port.transmit(&mut self.answers);
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
        self.port.transmit(burst)
    }

    /// Whether the link is up. When it comes up, the neighbours are told who is here.
    pub(crate) fn is_up(&mut self) -> bool {
        let up = self.port.is_up();
        if up && !self.was_up {
            self.stack.announce();
        }
        self.was_up = up;
        up
    }

    pub(crate) fn count_copies(&mut self, copied: u64) {
        self.counters.copied += copied;
    }
}
