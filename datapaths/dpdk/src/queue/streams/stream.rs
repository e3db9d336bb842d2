//! A TCP connection: smoltcp's state machine, with messages on top. Sans-IO.

use super::cookies::{self, Answer, Opening, Shift};
use super::guard::{Head, LONGEST, Verdict, Window, acknowledgement};
use super::wire::{Catch, Nowhere, Outlet, Wire};
use super::{NAME, failure};
use bertha_core::framing::{Frames, header};
use bertha_core::{Buf, Error, ErrorKind};
use bertha_netstack::{Flow, LinkHeader};
use smoltcp::iface::{Interface, PollResult, SocketHandle, SocketSet, SocketStorage};
use smoltcp::socket::tcp::{RecvError, Socket, SocketBuffer, State};
use smoltcp::time::Instant as Tick;
use smoltcp::wire::{HardwareAddress, IpCidr};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Time until a connection whose segments could not be sent tries again.
const RETRY: Duration = Duration::from_millis(1);

/// Number of times that a silent peer is asked whether it is still there.
const ASKED: u32 = 4;

/// Largest number of bytes that a call receives from a stream without frames.
const CHUNK: usize = 64 << 10;

/// The settings of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// True if messages are framed; otherwise bytes are sent as they are.
    pub(crate) is_framed: bool,
    /// Largest message in bytes.
    pub(crate) largest: usize,
    /// Largest number of received bytes that wait for the application: the window.
    pub(crate) receive: usize,
    /// Largest number of bytes that wait to be sent and acknowledged.
    pub(crate) send: usize,
    /// Silence of a peer that owes an answer, after which the connection is given up.
    pub(crate) timeout: Duration,
    /// Silence after which a peer that owes nothing is asked whether it is still there, if it is ever asked.
    pub(crate) keep_alive: Option<Duration>,
}

impl Settings {
    /// Returns the number of bytes in a connection's buffers.
    pub(super) fn buffers(&self) -> usize {
        self.receive + self.send
    }
}

/// The state that all connections of an interface share.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground {
    /// The zero of smoltcp's clock.
    pub(super) start: Instant,
    /// Largest IP packet in bytes.
    pub(super) mtu: usize,
}

impl Ground {
    pub(super) fn tick(&self, now: Instant) -> Tick {
        Tick::from_micros(now.saturating_duration_since(self.start).as_micros() as i64)
    }

    fn time(&self, tick: Tick) -> Instant {
        self.start + Duration::from_micros(tick.total_micros().max(0) as u64)
    }

    /// Returns an interface of smoltcp's with this address. The interface reaches every address, since the stack
    /// below knows the routes.
    pub(super) fn interface(&self, own: Option<IpAddr>, random: u64, now: Instant) -> Interface {
        let mut config = smoltcp::iface::Config::new(HardwareAddress::Ip);
        config.random_seed = random;
        let mut interface =
            Interface::new(config, &mut Wire::new(None, &mut Nowhere, self.mtu), self.tick(now));
        interface.update_ip_addrs(|addresses| addresses.extend(own.map(whole)));
        interface
    }
}

/// Returns an address whose subnet is everything.
pub(super) fn whole(address: IpAddr) -> IpCidr {
    IpCidr::new(address.into(), 0)
}

/// The end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// Both ends closed it.
    Done,
    /// The peer does not know the connection any more, or gave it up.
    Reset,
    /// The peer answered nothing for too long.
    TimedOut,
    /// The peer was asked whether it is still there, and said nothing.
    Silent,
    /// The peer's port is closed.
    Refused,
    /// No neighbour has the address, or the route to it.
    NoWay,
}

/// The message that is being moved to smoltcp's buffer, where a part of it may already be. The message goes
/// there whole before the next, so that no cancelled call leaves half a message.
#[derive(Debug, Default)]
struct Outgoing {
    message: Option<Buf>,
    /// Number of its bytes in smoltcp's buffer, its header included.
    sent: usize,
}

/// A TCP connection.
pub(crate) struct Stream {
    flow: Flow,
    ground: Ground,
    interface: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    timeout: Duration,
    keep_alive: Option<Duration>,
    is_framed: bool,
    frames: Frames,
    /// Whole messages. No message is taken from smoltcp's buffer while another waits here, so that the window
    /// closes.
    queue: VecDeque<Buf>,
    outgoing: Outgoing,
    /// Number of messages that were taken to be sent, and of messages that are in smoltcp's buffer or beyond.
    taken: u64,
    moved: u64,
    /// True if bytes were taken from smoltcp's buffer, so that the peer may have to learn of room.
    has_read: bool,
    /// The sequence number of the peer's first byte, and the number of bytes that were taken from smoltcp's
    /// buffer.
    first: u32,
    consumed: u32,
    /// The sequence number behind everything that this end has sent.
    sent_to: Option<u32>,
    /// The shift of this end's numbers, after an answer with a cookie.
    shift: Shift,
    /// True if this end sends nothing more.
    closing: bool,
    /// The state when it was last observed.
    state: State,
    /// Time since which the peer owes an answer and is silent.
    owing: Option<Instant>,
    /// Time of the last segment of the peer.
    heard: Instant,
    end: Option<StreamEnd>,
    /// The header of the last frame to the peer.
    pub(super) link: Option<LinkHeader>,
}

impl Stream {
    fn new(ground: Ground, own: IpAddr, flow: Flow, settings: &Settings, random: u64, now: Instant) -> Self {
        let buffer = |len| SocketBuffer::new(vec![0; len]);
        let mut socket = Socket::new(buffer(settings.receive), buffer(settings.send));
        // Messages go out at once.
        socket.set_nagle_enabled(false);
        let mut sockets = SocketSet::new(vec![SocketStorage::EMPTY]);
        let socket = sockets.add(socket);
        Self {
            flow,
            ground,
            interface: ground.interface(Some(own), random, now),
            sockets,
            socket,
            timeout: settings.timeout,
            keep_alive: settings.keep_alive,
            is_framed: settings.is_framed,
            frames: Frames::new(settings.largest),
            queue: VecDeque::new(),
            outgoing: Outgoing::default(),
            taken: 0,
            moved: 0,
            has_read: false,
            first: 0,
            consumed: 0,
            sent_to: None,
            shift: Shift::default(),
            closing: false,
            state: State::Closed,
            owing: None,
            heard: now,
            end: None,
            link: None,
        }
    }

    /// Creates a connection that asks the peer of `flow` to connect. Nothing is sent yet.
    pub(super) fn connect(
        ground: Ground,
        own: IpAddr,
        flow: Flow,
        settings: &Settings,
        random: u64,
        now: Instant,
    ) -> Self {
        let mut stream = Self::new(ground, own, flow, settings, random, now);
        let socket = stream.sockets.get_mut::<Socket<'_>>(stream.socket);
        let local = SocketAddr::new(own, flow.local_port());
        // The call fails for addresses that no interface has, where no host can answer.
        if socket.connect(stream.interface.context(), flow.peer(), local).is_err() {
            stream.end = Some(StreamEnd::NoWay);
        }
        stream.observe(now);
        stream
    }

    /// Creates a connection that waits for the first segment of `flow`.
    pub(super) fn listen(
        ground: Ground,
        own: IpAddr,
        flow: Flow,
        settings: &Settings,
        random: u64,
        now: Instant,
    ) -> Self {
        let mut stream = Self::new(ground, own, flow, settings, random, now);
        let socket = stream.sockets.get_mut::<Socket<'_>>(stream.socket);
        // The call fails only for port 0, at which no listener exists.
        let _ = socket.listen(SocketAddr::new(own, flow.local_port()));
        stream
    }

    /// Creates a connection that has answered the first segment of `flow`. Returns the answer, which is not
    /// sent, too.
    pub(super) fn answered(
        ground: Ground,
        own: IpAddr,
        flow: Flow,
        settings: &Settings,
        random: u64,
        opening: Opening,
        now: Instant,
    ) -> Option<(Self, Answer)> {
        let mut stream = Self::listen(ground, own, flow, settings, random, now);
        let mut first = [0; cookies::LONGEST];
        let len = opening.emit(flow, own, &mut first);
        let mut outlet = Catch { mtu: ground.mtu, packet: None };
        stream.receive(&mut first[..len], now, &mut outlet);
        stream.transmit(now, &mut outlet);
        let answer = Answer::parse(&outlet.packet?, flow, own)?;
        Some((stream, answer))
    }

    /// Records that the peer got a cookie, in place of this number, for an answer.
    pub(super) fn shift_to(&mut self, cookie: u32, number: u32) {
        self.shift = Shift::between(number, cookie);
    }

    pub(super) fn flow(&self) -> Flow {
        self.flow
    }

    fn socket(&self) -> &Socket<'static> {
        self.sockets.get(self.socket)
    }

    fn socket_mut(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    /// Processes the IP packet of a segment, and sends the reply.
    pub(super) fn receive(&mut self, packet: &mut [u8], now: Instant, outlet: &mut impl Outlet) {
        let Some(head) = Head::parse(packet) else { return };
        let before = self.socket().state();
        match head.judge(before, self.window()) {
            Verdict::Take => {}
            Verdict::Drop => return,
            Verdict::Challenge => return self.challenge(packet, now, outlet),
        }
        self.shift.enter(packet);
        if !self.repeats_while_the_end_is_due(packet) {
            self.take_in(packet, now, outlet);
        }
        if matches!(before, State::Listen | State::SynSent) {
            self.first = head.sequence().wrapping_add(1);
        }
        self.heard = now;
        if self.owing.is_some() {
            self.owing = Some(now);
        }
        self.observe(now);
    }

    /// Returns true if the packet acknowledges once more what this end sent before the end of its stream,
    /// and nothing but this end is unacknowledged. Three of these make smoltcp 0.14 stop its timer, to
    /// repeat the oldest byte; without a byte it repeats nothing, so that the peer would never learn of the end.
    fn repeats_while_the_end_is_due(&self, packet: &[u8]) -> bool {
        let socket = self.socket();
        matches!(socket.state(), State::FinWait1 | State::Closing | State::LastAck)
            && socket.send_queue() == 0
            && Head::parse(packet).is_some_and(|head| head.is_bare() && head.acknowledged() != self.sent_to)
    }

    /// Passes a packet to smoltcp.
    fn take_in(&mut self, packet: &[u8], now: Instant, outlet: &mut impl Outlet) {
        let mut wire = Wire { shift: self.shift, ..Wire::new(Some(packet), outlet, self.ground.mtu) };
        self.interface.poll_ingress_single(self.ground.tick(now), &mut wire, &mut self.sockets);
        let sent_to = wire.sent_to;
        self.note_sent(sent_to);
    }

    fn note_sent(&mut self, to: Option<u32>) {
        let Some(to) = to else { return };
        // Numbers wrap around, and repetitions have smaller numbers.
        let is_further = |before: u32| to.wrapping_sub(before).cast_signed() > 0;
        if self.sent_to.is_none_or(is_further) {
            self.sent_to = Some(to);
        }
    }

    /// Returns the window in which the peer sends. Its length is an upper bound.
    fn window(&self) -> Window {
        let socket = self.socket();
        // The end of the peer's stream has a number, too.
        let has_ended =
            matches!(socket.state(), State::CloseWait | State::LastAck | State::Closing | State::TimeWait);
        let arrived = self.consumed.wrapping_add(socket.recv_queue() as u32);
        let start = self.first.wrapping_add(arrived).wrapping_add(has_ended.into());
        Window { start, len: socket.recv_capacity() as u32 }
    }

    /// Tells the sender of `packet` what is expected of the peer, at most once in a second (RFC 5961, section
    /// 7): smoltcp answers so to a segment that repeats what has arrived.
    #[cold]
    fn challenge(&mut self, packet: &[u8], now: Instant, outlet: &mut impl Outlet) {
        let Some(sent_to) = self.sent_to else { return };
        let mut repeated = [0; LONGEST];
        let before = self.window().start.wrapping_sub(1);
        if let Some(len) = acknowledgement(&mut repeated, packet, before, sent_to) {
            self.take_in(&repeated[..len], now, outlet);
            self.observe(now);
        }
    }

    /// Sends everything that is due: data, acknowledgements, repetitions. Returns false if a segment could
    /// not be sent.
    pub(super) fn transmit(&mut self, now: Instant, outlet: &mut impl Outlet) -> bool {
        if let Some(end) = self.gives_up(now) {
            self.break_off(end);
        }
        let mut blocked = false;
        loop {
            self.pump();
            let mut wire = Wire { shift: self.shift, ..Wire::new(None, outlet, self.ground.mtu) };
            let sent = self.interface.poll_egress(self.ground.tick(now), &mut wire, &mut self.sockets);
            let Wire { blocked: is_blocked, sent_to, .. } = wire;
            self.note_sent(sent_to);
            blocked |= is_blocked;
            if is_blocked || sent == PollResult::None {
                break;
            }
        }
        self.observe(now);
        !blocked
    }

    /// Returns the time of the next transmission, if nothing else happens.
    pub(super) fn due(&mut self, now: Instant) -> Option<Instant> {
        // Segments that can't be sent now are tried again after a moment.
        let timer = self.interface.poll_at(self.ground.tick(now), &self.sockets);
        let timer = timer.map(|tick| self.ground.time(tick).max(now + RETRY));
        let timeout = self.owing.map(|since| since + self.timeout);
        timer.into_iter().chain(timeout).chain(self.silent_at()).min()
    }

    /// Moves as much of the outgoing message to smoltcp's buffer as fits.
    fn pump(&mut self) {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        if let Some(message) = &self.outgoing.message
            && socket.may_send()
        {
            let header = header(message);
            let header = if self.is_framed { &header[..] } else { &[] };
            let whole = header.len() + message.len();
            while self.outgoing.sent < whole && socket.can_send() {
                let rest = match self.outgoing.sent.checked_sub(header.len()) {
                    None => &header[self.outgoing.sent..],
                    Some(sent) => &message[sent..],
                };
                self.outgoing.sent += socket.send_slice(rest).unwrap_or_default();
            }
            if self.outgoing.sent == whole {
                self.outgoing = Outgoing::default();
                self.moved += 1;
            }
        }
        if self.closing && self.outgoing.message.is_none() {
            socket.close();
        }
    }

    /// Records changes of the connection's state.
    fn observe(&mut self, now: Instant) {
        let state = self.socket().state();
        let before = self.state;
        self.state = state;
        let over = match (before, state) {
            (State::TimeWait | State::LastAck, State::Closed) => Some(StreamEnd::Done),
            (State::SynSent, State::Closed) => Some(StreamEnd::Refused),
            (State::Closed, State::Closed) => None,
            (_, State::Closed) | (State::SynReceived, State::Listen) => Some(StreamEnd::Reset),
            _ => None,
        };
        self.end = self.end.or(over);
        if before != state && state == State::Established {
            // In an earlier state smoltcp would ask nobody, or at once.
            let silence = self.keep_alive.map(Into::into);
            self.socket_mut().set_keep_alive(silence);
        }
        let unanswered = matches!(
            state,
            State::SynSent | State::SynReceived | State::FinWait1 | State::Closing | State::LastAck
        );
        let owes = self.end.is_none() && (unanswered || self.socket().send_queue() > 0);
        self.owing = owes.then(|| self.owing.unwrap_or(now));
    }

    /// Returns the time at which a peer that says nothing is given up, if it is asked whether it is still there.
    fn silent_at(&self) -> Option<Instant> {
        let is_asked = self.end.is_none() && matches!(self.state, State::Established | State::CloseWait);
        self.keep_alive.filter(|_| is_asked).map(|silence| self.heard + silence * (ASKED + 1))
    }

    /// Returns the end of the connection, if the peer has owed an answer for too long, or was asked in vain.
    pub(super) fn gives_up(&self, now: Instant) -> Option<StreamEnd> {
        let owes = self.owing.is_some_and(|since| now.saturating_duration_since(since) >= self.timeout);
        let is_silent = self.silent_at().is_some_and(|at| now >= at);
        if owes { Some(StreamEnd::TimedOut) } else { is_silent.then_some(StreamEnd::Silent) }
    }

    /// Ends the connection at once, and tells the peer with the next transmission.
    pub(super) fn break_off(&mut self, why: StreamEnd) {
        self.end = self.end.or(Some(why));
        self.socket_mut().abort();
        self.outgoing = Outgoing::default();
        self.owing = None;
    }

    /// Ends the connection at once by a reset.
    pub(crate) fn abort(&mut self) {
        self.break_off(StreamEnd::Reset);
    }

    /// Closes this end of the stream, behind the messages that it was given.
    pub(crate) fn close(&mut self) {
        self.closing = true;
        self.pump();
    }

    /// Returns true if both ends have agreed on the connection.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.state, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// Returns true if the peer asked for the connection, and has not answered since.
    pub(super) fn is_half_open(&self) -> bool {
        self.state == State::SynReceived
    }

    /// Returns true if the peer has all that this end sent, and has still to end its own stream.
    pub(super) fn awaits_end(&self) -> bool {
        self.end.is_none() && self.is_flushed() && !self.is_waiting_for_late_segments()
    }

    /// Returns true if nothing but late segments can come any more, for a time that smoltcp knows.
    pub(super) fn is_waiting_for_late_segments(&self) -> bool {
        self.state == State::TimeWait
    }

    /// Returns true if the peer has acknowledged all that this end sent, and the end of its stream.
    pub(crate) fn is_flushed(&self) -> bool {
        self.end.is_some()
            || matches!(self.state, State::FinWait2 | State::TimeWait | State::Closed | State::Listen)
    }

    pub(crate) fn end(&self) -> Option<StreamEnd> {
        self.end
    }

    /// Returns true if bytes were received that the application did not take.
    pub(super) fn has_unread(&self) -> bool {
        !self.queue.is_empty() || self.socket().can_recv() || self.frames.within_message()
    }

    /// Returns the next message or chunk, or the reason why there will be none. At the end of a stream of
    /// bytes, returns the empty chunk.
    pub(crate) fn next(&mut self) -> Option<Result<Buf, Error>> {
        if !self.is_framed {
            return self.next_chunk();
        }
        if let Some(message) = self.queue.pop_front() {
            return Some(Ok(message));
        }
        let Self { frames, queue, consumed, .. } = self;
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        while socket.can_recv() || frames.is_malformed() {
            let count = |read: &usize| *consumed = consumed.wrapping_add(*read as u32);
            let read = |room: &mut [u8]| socket.recv_slice(room).map_err(io::Error::other).inspect(count);
            self.has_read = true;
            if let Err(error) = frames.read(read, |message| queue.push_back(message)) {
                let error = error.downcast::<Error>().unwrap_or_else(Error::from);
                return Some(Err(error.at(NAME)));
            }
            if let Some(message) = queue.pop_front() {
                return Some(Ok(message));
            }
        }
        let finished = socket.peek(0) == Err(RecvError::Finished);
        (finished || self.end.is_some()).then(|| Err(self.ending(finished)))
    }

    /// Returns the bytes that have arrived, as many as a chunk holds.
    fn next_chunk(&mut self) -> Option<Result<Buf, Error>> {
        let socket = self.sockets.get_mut::<Socket<'_>>(self.socket);
        if socket.can_recv() {
            let chunk = Buf::new(socket.recv_queue().min(CHUNK), 0).map(|mut chunk| {
                let read = socket.recv_slice(&mut chunk).unwrap_or_default();
                self.consumed = self.consumed.wrapping_add(read as u32);
                chunk.truncate(read);
                chunk
            });
            self.has_read = true;
            return Some(chunk.map_err(|error| error.at(NAME)));
        }
        if socket.peek(0) == Err(RecvError::Finished) {
            return Some(Buf::new(0, 0).map_err(|error| error.at(NAME)));
        }
        self.end.is_some().then(|| Err(self.ending(false)))
    }

    /// Returns the next message or chunk, if it is there.
    pub(crate) fn next_whole(&mut self) -> Option<Buf> {
        let there = !self.queue.is_empty() || self.socket().can_recv() && !self.frames.is_malformed();
        if there { self.next()?.ok() } else { None }
    }

    /// Returns true if the peer has to learn that there is room again.
    pub(crate) fn needs_window_update(&mut self, now: Instant) -> bool {
        let tick = self.ground.tick(now);
        std::mem::take(&mut self.has_read)
            && self.interface.poll_at(tick, &self.sockets).is_some_and(|due| due <= tick)
    }

    /// Takes `message`, unless the previous message is not in smoltcp's buffer yet. Ready once `message` is
    /// in this buffer. `number` becomes the message's number, for later calls.
    pub(crate) fn offer(&mut self, message: &mut Option<Buf>, number: &mut u64) -> Option<Result<(), Error>> {
        if self.end.is_some() {
            return Some(Err(self.ending(false)));
        }
        self.pump();
        if self.outgoing.message.is_none() && message.is_some() {
            self.outgoing = Outgoing { message: message.take(), sent: 0 };
            self.taken += 1;
            *number = self.taken;
            self.pump();
        }
        (message.is_none() && self.moved >= *number).then_some(Ok(()))
    }

    /// Returns the error of a connection that has ended.
    #[cold]
    pub(crate) fn ending(&self, finished: bool) -> Error {
        let peer = self.flow.peer();
        let (kind, what) = match self.end {
            _ if finished && self.frames.within_message() => {
                (ErrorKind::Reset, format!("{peer} closed the stream in the middle of a message"))
            }
            _ if finished => (ErrorKind::Closed, format!("{peer} closed the stream")),
            Some(StreamEnd::TimedOut) => {
                (ErrorKind::TimedOut, format!("{peer} answered nothing for {:?}", self.timeout))
            }
            Some(StreamEnd::Silent) => {
                let silence = self.keep_alive.unwrap_or_default() * (ASKED + 1);
                (ErrorKind::TimedOut, format!("{peer} has said nothing for {silence:?}"))
            }
            Some(StreamEnd::Refused) => {
                (ErrorKind::Unreachable, format!("cannot connect to {peer}: its port is closed"))
            }
            Some(StreamEnd::NoWay) => {
                (ErrorKind::Unreachable, format!("cannot connect to {peer}: no neighbour has or reaches it"))
            }
            Some(StreamEnd::Done) => (ErrorKind::Closed, format!("the connection to {peer} is over")),
            Some(StreamEnd::Reset) | None => (ErrorKind::Reset, format!("{peer} reset the connection")),
        };
        failure(kind, what).ending_connection()
    }
}
