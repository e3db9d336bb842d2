//! All TCP connections of an interface: the table finds the connection of a segment, and the connections that
//! are due. Sans-IO.

use super::cookies::{self, Answer, Cookies, Opening};
use super::guard::Head;
use super::stream::{Ground, Settings, Stream, StreamEnd, whole};
use super::wire::{Outlet, Wire};
use crate::queue::listeners::Listeners;
use ahash::RandomState;
use bertha_netstack::{Binding, Flow, Interface, Ports};
use slab::Slab;
use smoltcp::iface::SocketSet;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Number of connections, in any state.
const MAX_CONNECTIONS: usize = 16_384;

/// Number of peers of a listener in the middle of the handshake. Each peer costs buffers. Further peers are
/// answered with cookies, which cost none, so that a flood of strangers keeps nobody out.
const MAX_HALF_OPEN: usize = 128;

/// Number of bytes in the buffers of a listener's peers in the middle of the handshake, and, separately, of
/// connections that wait to be accepted: the application has agreed to neither.
const MAX_UNACCEPTED: usize = 32 << 20;

/// Number of peers that may always be in the middle of the handshake, for buffers of any size.
const MIN_HALF_OPEN: usize = 8;

/// Number of connections that the application has dropped and that are kept until their peer has acknowledged
/// everything, or late segments are gone. A further such connection evicts the oldest.
const MAX_LINGERING: usize = 256;

/// Time for a peer that has acknowledged the end of this stream to end its own stream (tcp_fin_timeout of
/// Linux).
const FIN_TIMEOUT: Duration = Duration::from_secs(60);

/// Time until a connection without a route to its peer looks for a route again.
const ROUTE_RETRY: Duration = Duration::from_millis(5);

/// The owner of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// This listener: the handshake with a peer has begun.
    HalfOpen(usize),
    /// This listener: the connection waits to be accepted.
    Waiting(usize),
    /// The application.
    Held,
    /// No owner: the application dropped the connection at this time.
    Orphan(Instant),
}

/// The events that futures of a connection wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Events {
    /// The event that a message may be there to receive.
    pub(crate) receive: usize,
    /// The event that there may be room to send.
    pub(crate) send: usize,
}

struct Entry {
    stream: Stream,
    stage: Stage,
    /// The connection's time in `timers`.
    due: Option<Instant>,
    /// Events of the connection; `None` once the application has dropped it.
    events: Option<Events>,
    /// True if the connection's port belongs to the connection and not to a listener: a restarted server may
    /// listen while old connections live.
    has_port: bool,
}

struct Acceptor {
    port: u16,
    at: Binding,
    settings: Settings,
    /// Number of waiting connections at which no more handshakes begin; handshakes under way may still be
    /// completed.
    limit: usize,
    /// Largest number of peers in the middle of the handshake.
    most_half_open: usize,
    half_open: VecDeque<usize>,
    waiting: VecDeque<usize>,
    /// The event that announces a connection to accept.
    event: usize,
    /// The answers to IPv4 and IPv6, on which answers with cookies are modelled.
    answers: [Option<Answer>; 2],
    /// The time until which cookies may come back.
    cookies_until: Option<Instant>,
}

/// The owner of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// This connection.
    Connection(usize),
    /// This listener, which [answers with a cookie](Streams::answer).
    Listener(usize),
    /// A listener of which too many connections wait: the segment has to be dropped, and its sender tries again.
    Crowd,
    Nobody,
}

/// Connections by their flow, listeners by their port, and the due time of each connection.
pub(crate) struct Streams {
    ground: Ground,
    interface: Interface,
    entries: Slab<Entry>,
    /// Peers choose their addresses, so the hash has a random seed.
    flows: HashMap<Flow, usize, RandomState>,
    acceptors: Slab<Acceptor>,
    listening: Listeners,
    ports: Ports,
    timers: BTreeSet<(Instant, usize)>,
    /// Connections that the application dropped, the oldest first.
    lingering: VecDeque<usize>,
    cookies: Cookies,
    /// The interface that resets connections that do not exist.
    resetter: smoltcp::iface::Interface,
}

impl Streams {
    pub(crate) fn new(interface: &Interface, now: Instant) -> Self {
        let ground = Ground { start: now, mtu: interface.mtu() };
        Self {
            ground,
            interface: interface.clone(),
            entries: Slab::new(),
            flows: HashMap::with_hasher(RandomState::new()),
            acceptors: Slab::new(),
            listening: Listeners::new(),
            ports: Ports::new(),
            timers: BTreeSet::new(),
            lingering: VecDeque::new(),
            cookies: Cookies::new(now),
            resetter: ground.interface(None, 0, now),
        }
    }

    /// Adds a connection to `peer`, from a port that `random` chooses. Returns `None` if no port or no room
    /// is left. The connection belongs to the application, and sends nothing before it is
    /// [stepped](Self::step).
    pub(crate) fn connect(
        &mut self,
        peer: SocketAddr,
        settings: &Settings,
        random: [u64; 2],
        now: Instant,
    ) -> Option<(usize, Flow)> {
        let from = self.interface.flow_to(peer, 0)?;
        let own = self.interface.own(from)?;
        let port = self.ports.take_any(Binding::of(from), random[0], |_| true)?;
        let flow = Flow::new(peer, port).at(from.number());
        // An older connection of a listener that is gone may have the flow: this is rare, and the next
        // attempt takes another port.
        if self.flows.contains_key(&flow) || !self.has_room() {
            self.ports.release(port, Binding::of(flow));
            return None;
        }
        let stream = Stream::connect(self.ground, own, flow, settings, random[1], now);
        Some((self.insert(stream, Stage::Held), flow))
    }

    /// Listens at the addresses and the port of `on`, or at a port that `random` chooses if it is zero. Returns
    /// `None` if the port has a listener at one of these addresses, or no port is left.
    pub(crate) fn listen(
        &mut self,
        on: SocketAddr,
        settings: Settings,
        limit: usize,
        event: usize,
        random: u64,
    ) -> Option<(usize, u16)> {
        let at = self.interface.binding(on.ip())?;
        let port = match on.port() {
            0 => self.ports.take_any(at, random, |_| true)?,
            port if self.listening.has(port, at) => return None,
            port => {
                self.ports.share(port, at);
                port
            }
        };
        let half_open = VecDeque::new();
        let waiting = VecDeque::new();
        let affordable = MAX_UNACCEPTED / settings.buffers().max(1);
        let limit = limit.min(affordable).max(1);
        let most_half_open = affordable.clamp(MIN_HALF_OPEN, MAX_HALF_OPEN);
        let acceptor = self.acceptors.insert(Acceptor {
            port,
            at,
            settings,
            limit,
            most_half_open,
            half_open,
            waiting,
            event,
            answers: [None; 2],
            cookies_until: None,
        });
        self.listening.insert(port, at, acceptor);
        Some((acceptor, port))
    }

    /// Removes a listener. Connections that were not accepted are broken off; their numbers are returned, to
    /// be [stepped](Self::step) once more.
    pub(crate) fn stop_listening(&mut self, acceptor: usize, now: Instant) -> Vec<usize> {
        let Some(gone) = self.acceptors.try_remove(acceptor) else { return Vec::new() };
        self.listening.remove(gone.port, gone.at);
        self.ports.release(gone.port, gone.at);
        let unaccepted: Vec<usize> = gone.half_open.into_iter().chain(gone.waiting).collect();
        for &key in &unaccepted {
            if let Some(entry) = self.entries.get_mut(key) {
                entry.stage = Stage::Orphan(now);
                entry.stream.break_off(StreamEnd::Reset);
            }
        }
        unaccepted
    }

    /// Returns the oldest connection that waits to be accepted. It belongs to the application from now on.
    pub(crate) fn accept(&mut self, acceptor: usize) -> Option<(usize, Flow)> {
        let key = self.acceptors.get_mut(acceptor)?.waiting.pop_front()?;
        let entry = self.entries.get_mut(key)?;
        entry.stage = Stage::Held;
        Some((key, entry.stream.flow()))
    }

    /// Returns the connection with this number, which exists as long as the application has it.
    pub(crate) fn get_mut(&mut self, key: usize) -> Option<&mut Stream> {
        self.entries.get_mut(key).map(|entry| &mut entry.stream)
    }

    /// Returns true if the peer has not yet proved that it has its address.
    pub(super) fn is_half_open(&self, key: usize) -> bool {
        self.entries.get(key).is_some_and(|entry| matches!(entry.stage, Stage::HalfOpen(_)))
    }

    /// Sets the events of a connection.
    pub(crate) fn set_events(&mut self, key: usize, events: Events) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.events = Some(events);
        }
    }

    /// Returns the events of a connection, unless the application has dropped it.
    pub(super) fn events(&self, key: usize) -> Option<Events> {
        self.entries.get(key)?.events
    }

    /// Returns the owner of a segment of `flow`, in the IP packet `packet`. If the segment `opens` a connection, or
    /// acknowledges a cookie, a new connection may be made for it, with `random` numbers.
    pub(super) fn find(
        &mut self,
        flow: Flow,
        packet: &[u8],
        opens: bool,
        random: u64,
        now: Instant,
    ) -> Found {
        if let Some(&key) = self.flows.get(&flow) {
            // The peer uses its port again: late segments would have come by now.
            let again = opens && self.entries[key].stream.is_waiting_for_late_segments();
            if !(again && matches!(self.entries[key].stage, Stage::Orphan(_))) {
                return Found::Connection(key);
            }
            self.remove(key);
        }
        let Some(number) = self.listening.find(flow) else { return Found::Nobody };
        let Some(own) = self.interface.own(flow) else { return Found::Nobody };
        let acceptor = &self.acceptors[number];
        let crowds = acceptor.waiting.len() >= acceptor.limit;
        let is_full = acceptor.half_open.len() >= acceptor.most_half_open;
        let accepted = if opens { None } else { self.accepted_cookie(acceptor, flow, packet, now) };
        if !opens && accepted.is_none() {
            return Found::Nobody;
        }
        if crowds || !self.has_room() {
            return Found::Crowd;
        }
        let settings = &self.acceptors[number].settings;
        let stream = match accepted {
            Some((opening, cookie)) => {
                let answered = Stream::answered(self.ground, own, flow, settings, random, opening, now);
                let Some((mut stream, answer)) = answered else { return Found::Nobody };
                stream.shift_to(cookie, answer.sequence);
                stream
            }
            None if is_full => return Found::Listener(number),
            None => Stream::listen(self.ground, own, flow, settings, random, now),
        };
        let key = self.insert(stream, Stage::HalfOpen(number));
        self.acceptors[number].half_open.push_back(key);
        Found::Connection(key)
    }

    /// Returns the cookie that a segment acknowledges, and what the first segment of its sender said.
    fn accepted_cookie(
        &self,
        acceptor: &Acceptor,
        flow: Flow,
        packet: &[u8],
        now: Instant,
    ) -> Option<(Opening, u32)> {
        acceptor.cookies_until.filter(|until| now < *until)?;
        let head = Head::parse(packet)?;
        let cookie = head.acknowledged()?.wrapping_sub(1);
        let sequence = head.sequence().wrapping_sub(1);
        Some((self.cookies.open(flow, sequence, cookie, now)?, cookie))
    }

    /// Answers the first segment of a peer, on behalf of a listener, with a cookie.
    pub(super) fn answer(
        &mut self,
        listener: usize,
        flow: Flow,
        packet: &[u8],
        now: Instant,
        outlet: &mut impl Outlet,
    ) {
        let Some(own) = self.interface.own(flow) else { return };
        let Some(opening) = Opening::parse(packet, flow, own) else { return };
        let Some(acceptor) = self.acceptors.get_mut(listener) else { return };
        let place = &mut acceptor.answers[usize::from(own.is_ipv6())];
        if place.is_none() {
            let answered =
                Stream::answered(self.ground, own, flow, &acceptor.settings, 0, Opening::WHOLE, now);
            *place = answered.map(|(_, answer)| answer);
        }
        let Some(answer) = *place else { return };
        acceptor.cookies_until = Some(now + cookies::LIFETIME);
        let cookie = self.cookies.make(flow, opening, now);
        if !outlet.is_full()
            && let Some(mut room) = outlet.room()
        {
            let len = answer.emit(flow, own, opening, cookie, &mut room);
            outlet.send(room, len);
        }
    }

    /// Returns true if there is room for another connection, after evicting the oldest lingering connection
    /// if necessary.
    fn has_room(&mut self) -> bool {
        if self.entries.len() >= MAX_CONNECTIONS
            && let Some(oldest) = self.lingering.pop_front()
        {
            self.remove(oldest);
        }
        self.entries.len() < MAX_CONNECTIONS
    }

    fn insert(&mut self, stream: Stream, stage: Stage) -> usize {
        let flow = stream.flow();
        let has_port = stage == Stage::Held;
        let key = self.entries.insert(Entry { stream, stage, due: None, events: None, has_port });
        self.flows.insert(flow, key);
        key
    }

    fn remove(&mut self, key: usize) {
        let Some(entry) = self.entries.try_remove(key) else { return };
        self.flows.remove(&entry.stream.flow());
        if let Some(due) = entry.due {
            self.timers.remove(&(due, key));
        }
        match entry.stage {
            Stage::HalfOpen(acceptor) => {
                if let Some(acceptor) = self.acceptors.get_mut(acceptor) {
                    acceptor.half_open.retain(|&other| other != key);
                }
            }
            Stage::Orphan(_) => self.lingering.retain(|&other| other != key),
            Stage::Waiting(_) | Stage::Held => {}
        }
        if entry.has_port {
            let flow = entry.stream.flow();
            self.ports.release(flow.local_port(), Binding::of(flow));
        }
    }

    /// Passes a segment to the connection, and acts on it. Returns the event of a listener, if the segment
    /// concerns it.
    pub(super) fn receive(
        &mut self,
        key: usize,
        packet: &mut [u8],
        now: Instant,
        outlet: &mut impl Outlet,
    ) -> Option<usize> {
        self.entries.get_mut(key)?.stream.receive(packet, now, outlet);
        self.step(key, now, outlet)
    }

    /// Sends everything that is due for the connection. Returns the event of a listener, as
    /// [`receive`](Self::receive) does.
    pub(super) fn step(&mut self, key: usize, now: Instant, outlet: &mut impl Outlet) -> Option<usize> {
        let Entry { stream, stage, .. } = self.entries.get_mut(key)?;
        if let Stage::Orphan(since) = *stage {
            // Data that will not be read is answered with a reset (RFC 2525, section 2.17).
            let is_late = now.saturating_duration_since(since) >= FIN_TIMEOUT && stream.awaits_end();
            if is_late || stream.end().is_none() && stream.has_unread() {
                stream.break_off(StreamEnd::Reset);
            }
        }
        let sent = stream.transmit(now, outlet);
        let event = match *stage {
            Stage::HalfOpen(acceptor) if stream.is_open() => {
                *stage = Stage::Waiting(acceptor);
                self.acceptors.get_mut(acceptor).map(|acceptor| {
                    acceptor.half_open.retain(|&other| other != key);
                    acceptor.waiting.push_back(key);
                    acceptor.event
                })
            }
            // The segment was a mistake, or the peer has given up.
            Stage::HalfOpen(_) if !stream.is_half_open() => {
                self.remove(key);
                return None;
            }
            Stage::Orphan(_) if sent && stream.end().is_some() => {
                self.remove(key);
                return None;
            }
            _ => None,
        };
        self.schedule(key, now);
        event
    }

    fn schedule(&mut self, key: usize, now: Instant) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        let fin_timeout = match entry.stage {
            Stage::Orphan(since) if entry.stream.awaits_end() => Some(since + FIN_TIMEOUT),
            _ => None,
        };
        let due = entry.stream.due(now).into_iter().chain(fin_timeout).min();
        self.reschedule(key, due);
    }

    fn reschedule(&mut self, key: usize, due: Option<Instant>) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        if entry.due == due {
            return;
        }
        if let Some(before) = std::mem::replace(&mut entry.due, due) {
            self.timers.remove(&(before, key));
        }
        if let Some(due) = due {
            self.timers.insert((due, key));
        }
    }

    /// Records that there is no route to the peer at this moment, or no route at all if `for_good`: then a
    /// connection that is not open yet fails.
    pub(super) fn strand(&mut self, key: usize, for_good: bool, now: Instant) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        if for_good && !entry.stream.is_open() {
            entry.stream.break_off(StreamEnd::NoWay);
        }
        if let Some(end) = entry.stream.gives_up(now) {
            entry.stream.break_off(end);
        }
        let over = entry.stream.end().is_some();
        if over && !matches!(entry.stage, Stage::Held | Stage::Waiting(_)) {
            self.remove(key);
        } else {
            self.reschedule(key, (!over).then_some(now + ROUTE_RETRY));
        }
    }

    /// Removes and returns a connection that is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<usize> {
        let &(due, key) = self.timers.first()?;
        if due > now {
            return None;
        }
        self.reschedule(key, None);
        Some(key)
    }

    /// Records that the application has dropped the connection: messages that it sent are still delivered,
    /// and messages that arrive are refused. The connection has to be [stepped](Self::step) at once.
    pub(crate) fn let_go(&mut self, key: usize, now: Instant) {
        if self.lingering.len() >= MAX_LINGERING
            && let Some(oldest) = self.lingering.pop_front()
        {
            self.remove(oldest);
        }
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.stage = Stage::Orphan(now);
        entry.events = None;
        entry.stream.close();
        self.lingering.push_back(key);
    }

    /// Resets the connection of a segment of `flow` that belongs to no connection here.
    pub(super) fn refuse(&mut self, flow: Flow, packet: &[u8], now: Instant, outlet: &mut impl Outlet) {
        let own = self.interface.own(flow);
        self.resetter.update_ip_addrs(|addresses| {
            addresses.clear();
            addresses.extend(own.map(whole));
        });
        let mut wire = Wire::new(Some(packet), outlet, self.ground.mtu);
        self.resetter.poll_ingress_single(self.ground.tick(now), &mut wire, &mut SocketSet::new(Vec::new()));
    }

    /// Returns the number of connections, dropped connections included.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}
