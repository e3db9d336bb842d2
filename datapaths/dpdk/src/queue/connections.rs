//! The connections of a queue: their flows, ports and path MTUs, on top of the shared demultiplexer.

use super::listeners::Listeners;
use crate::marked::Marked;
use bertha_core::Buf;
use bertha_netstack::{Binding, Flow, Path, Ports, is_marked};
use bertha_runtime::polling::{Awaited, Demux, Limits};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The reason why a datagram was not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Undelivered {
    /// The port is closed, and the sender has to be told.
    Closed,
    /// The port is in use, and admits no strangers at this moment.
    Unknown,
    /// The connection's queue is full.
    Overflow,
}

/// The reason why a connection gets no more messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// This end closed the connection.
    Closed,
    /// The peer can't be reached, for this reason.
    Unreachable(Obstacle),
}

/// The reason why a peer can't be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The peer's host reports that the port is closed.
    Refused,
    /// No neighbour has the peer's address, or the gateway's.
    NoNeighbour,
}

/// A connection, beside its messages.
#[derive(Debug, Default)]
pub(crate) struct ConnectionState {
    /// The headers of its last message.
    pub(crate) path: Option<Path>,
    /// Largest message in bytes that the path carries, which the connection's base reads without the lock.
    pub(crate) max_message: Arc<AtomicUsize>,
    /// True if this end opened the connection: it then learns that the peer can't be reached.
    pub(crate) connected: bool,
    obstacle: Option<Obstacle>,
    /// True if routers may mark the connection's messages for congestion.
    pub(crate) is_markable: bool,
    marked: Option<Arc<Marked>>,
}

/// Number, addresses and port of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Listening {
    pub(crate) listener: usize,
    pub(crate) at: Binding,
    pub(crate) port: u16,
}

/// Number of a connection, and its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Connected {
    pub(crate) connection: usize,
    pub(crate) flow: Flow,
}

/// Connections by their flow, and listeners by their port.
#[derive(Debug)]
pub(crate) struct Connections {
    pub(crate) demux: Demux<Flow, ConnectionState>,
    listeners: Listeners,
    ports: Ports,
}

impl Connections {
    pub(crate) fn new(limits: Limits) -> Self {
        let demux = Demux::new(limits).busy();
        Self { demux, listeners: Listeners::new(), ports: Ports::new() }
    }

    /// Adds a connection to `peer` from this end's address of a number, and from an ephemeral port, which
    /// `random` chooses among the ports that `suit`. Returns `None` if no port is left.
    pub(crate) fn connect(
        &mut self,
        peer: SocketAddr,
        number: u8,
        random: u64,
        suits: impl Fn(u16) -> bool,
    ) -> Option<Connected> {
        let flow = |port| Flow::new(peer, port).at(number);
        let flow = flow(self.ports.take_any(Binding::of(flow(0)), random, suits)?);
        let state = ConnectionState { connected: true, ..ConnectionState::default() };
        Some(Connected { connection: self.demux.connect(flow, state), flow })
    }

    /// Adds a connection of this flow from the port of a listener, and returns its number. Returns `None` if there is one, which may wait to be
    /// accepted.
    pub(crate) fn connect_from(&mut self, flow: Flow) -> Option<usize> {
        let state = ConnectionState { connected: true, ..ConnectionState::default() };
        let connection = self.demux.connect_anew(flow, state)?;
        self.ports.share(flow.local_port(), Binding::of(flow));
        Some(connection)
    }

    /// Adds a listener at these addresses and this port, or at an ephemeral port that `random` chooses if the port
    /// is zero. Returns `None` if the port is in use at one of the addresses, or no port is left.
    pub(crate) fn listen(&mut self, at: Binding, port: u16, random: u64) -> Option<Listening> {
        let port = match port {
            0 => self.ports.take_any(at, random, |_| true)?,
            port if self.ports.take(port, at) => port,
            _ => return None,
        };
        let listener = self.demux.listen();
        self.listeners.insert(port, at, listener);
        Some(Listening { listener, at, port })
    }

    /// Removes a listener, and the connections that were not accepted.
    pub(crate) fn stop_listening(&mut self, Listening { listener, at, port }: Listening) {
        while let Some((connection, _)) = self.accept(listener) {
            self.remove(connection);
        }
        self.demux.stop_listening(listener);
        self.listeners.remove(port, at);
        self.ports.release(port, at);
    }

    /// Returns the connection for a datagram of `flow`: a known connection, or a new connection in the
    /// backlog of the listener, if there is one.
    #[inline]
    pub(crate) fn find(&mut self, flow: Flow) -> Result<usize, Undelivered> {
        match self.demux.find(&flow) {
            Some(connection) => Ok(connection),
            None => self.admit(flow),
        }
    }

    fn admit(&mut self, flow: Flow) -> Result<usize, Undelivered> {
        let Some(listener) = self.listeners.find(flow) else {
            let is_used = self.ports.is_used(flow.local_port(), Binding::of(flow));
            return Err(if is_used { Undelivered::Unknown } else { Undelivered::Closed });
        };
        let admitted = self.demux.admit(listener, flow, ConnectionState::default());
        admitted.ok_or(Undelivered::Unknown)
    }

    /// Accepts the oldest connection of a listener's backlog. The port is in use as long as the connection
    /// lives.
    pub(crate) fn accept(&mut self, listener: usize) -> Option<(usize, Flow)> {
        let (connection, flow) = self.demux.accept(listener)?;
        self.ports.share(flow.local_port(), Binding::of(flow));
        Some((connection, flow))
    }

    /// Delivers a message to the connection that [`find`](Self::find) returned.
    #[inline]
    pub(crate) fn deliver(&mut self, connection: usize, message: Buf) -> Result<(), Undelivered> {
        let len = message.len();
        let dropped = self.demux.deliver(connection, message.into_segments(len));
        if dropped == 0 { Ok(()) } else { Err(Undelivered::Overflow) }
    }

    /// Permits or forbids marks for congestion on a connection's messages, and counts the marks on messages
    /// of its peer.
    pub(crate) fn set_ecn(&mut self, connection: usize, on: bool, marked: &Arc<Marked>) {
        let (_, state) = self.demux.connection_mut(connection);
        state.is_markable = on;
        state.marked = Some(marked.clone());
        // The headers contain the permission, so they are made anew.
        state.path = None;
    }

    /// Counts the mark on a frame with a message of `len` bytes, if marks of the connection are counted.
    #[inline]
    pub(crate) fn count_mark(&mut self, connection: usize, frame: &[u8], len: usize) {
        let (_, state) = self.demux.connection_mut(connection);
        if let Some(marked) = &state.marked
            && is_marked(frame)
        {
            marked.add(len);
        }
    }

    /// Returns the reason why no message will come. An obstacle is returned once.
    #[inline]
    pub(crate) fn ending(&mut self, connection: usize) -> Option<Ending> {
        if self.demux.is_closed(connection) {
            return Some(Ending::Closed);
        }
        let (_, state) = self.demux.connection_mut(connection);
        state.obstacle.take().map(Ending::Unreachable)
    }

    /// Records that the peer can't be reached. This concerns connections that this end opened; a listener's
    /// peers come and go.
    pub(crate) fn on_unreachable(&mut self, flow: Flow, obstacle: Obstacle) {
        let Some(connection) = self.demux.find(&flow) else { return };
        let (_, state) = self.demux.connection_mut(connection);
        if state.connected {
            state.obstacle = Some(obstacle);
            self.demux.notify(Awaited::Connection(connection));
        }
    }

    /// Sets the largest message in bytes that the path to `peer` carries, for all its connections.
    pub(crate) fn set_max_message(&self, peer: IpAddr, max: usize) {
        for (_, state) in self.demux.connections().filter(|(flow, _)| flow.peer().ip() == peer) {
            // Relaxed access suffices: no other value depends on the number.
            state.max_message.store(max, Ordering::Relaxed);
        }
    }

    /// Removes a connection.
    pub(crate) fn remove(&mut self, connection: usize) {
        if let Some((flow, _)) = self.demux.remove(connection) {
            self.ports.release(flow.local_port(), Binding::of(flow));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { backlog: 2, queue: 40, shared: 60 };

    fn flow(peer_port: u16, local_port: u16) -> Flow {
        Flow::new(([10, 0, 0, 2], peer_port).into(), local_port)
    }

    const V4: Binding = Binding::Family { is_v4: true };

    /// Delivers a datagram of `flow`.
    fn arrive(connections: &mut Connections, flow: Flow, byte: u8) -> Result<(), Undelivered> {
        let connection = connections.find(flow)?;
        connections.deliver(connection, Buf::copy_of(&[byte], 0).unwrap())
    }

    fn next(connections: &mut Connections, connection: usize) -> Option<u8> {
        connections.demux.pop(connection).map(|message| message[0])
    }

    fn connect(connections: &mut Connections, peer_port: u16) -> Connected {
        connections.connect(flow(peer_port, 0).peer(), 0, peer_port.into(), |_| true).unwrap()
    }

    #[test]
    fn strangers_become_connections_as_far_as_the_backlog_goes() {
        let mut all = Connections::new(LIMITS);
        assert_eq!(arrive(&mut all, flow(1, 9), 1), Err(Undelivered::Closed));
        let listening = all.listen(V4, 9, 0).unwrap();
        assert_eq!((listening.port, all.listen(V4, 9, 0)), (9, None));
        // The third peer takes the place of the first peer, which begins again.
        for (peer, evicted) in [(1, 0), (2, 0), (3, 1), (3, 0), (1, 1), (1, 0)] {
            assert_eq!(arrive(&mut all, flow(peer, 9), peer as u8), Ok(()));
            assert_eq!(all.demux.take_evicted(), evicted);
        }
        let (third, flow3) = all.accept(listening.listener).unwrap();
        assert_eq!((flow3.peer().port(), next(&mut all, third)), (3, Some(3)));
        all.remove(third);
        let (first, flow1) = all.accept(listening.listener).unwrap();
        assert_eq!(
            (flow1.peer().port(), next(&mut all, first), next(&mut all, first)),
            (1, Some(1), Some(1))
        );
        assert_eq!(arrive(&mut all, flow(3, 9), 3), Ok(()));
        // Connections in the backlog are removed, and no new connections are admitted; the port is in use as
        // long as a connection lives.
        all.stop_listening(listening);
        assert_eq!(arrive(&mut all, flow(2, 9), 2), Err(Undelivered::Unknown));
        assert_eq!(arrive(&mut all, flow(1, 9), 4), Ok(()));
        all.remove(first);
        assert_eq!(arrive(&mut all, flow(1, 9), 1), Err(Undelivered::Closed));
        assert!(all.listen(V4, 9, 0).is_some());
    }

    #[test]
    fn a_listener_connects_to_peers_that_have_not_sent() {
        let mut all = Connections::new(LIMITS);
        let listening = all.listen(V4, 9, 0).unwrap();
        let connection = all.connect_from(flow(1, 9)).unwrap();
        assert_eq!((arrive(&mut all, flow(1, 9), 7), next(&mut all, connection)), (Ok(()), Some(7)));
        // One that waits to be accepted is there.
        assert_eq!((arrive(&mut all, flow(2, 9), 1), all.connect_from(flow(2, 9))), (Ok(()), None));
        all.stop_listening(listening);
        assert!(all.listen(V4, 9, 0).is_none());
        all.remove(connection);
        assert!(all.listen(V4, 9, 0).is_some());
    }

    #[test]
    fn a_listener_of_one_family_takes_no_peer_of_the_other() {
        let other = Flow::new("[fd00::2]:1".parse().unwrap(), 9);
        let mut all = Connections::new(LIMITS);
        let listening = all.listen(V4, 9, 0).unwrap();
        assert_eq!(arrive(&mut all, other, 1), Err(Undelivered::Closed));
        assert_eq!(arrive(&mut all, flow(1, 9), 1), Ok(()));
        all.stop_listening(listening);
        all.listen(Binding::All, 9, 0).unwrap();
        assert_eq!((arrive(&mut all, other, 1), arrive(&mut all, flow(1, 9), 1)), (Ok(()), Ok(())));
    }

    #[test]
    fn a_listener_takes_strangers_of_its_address_alone_and_others_may_have_the_port() {
        let mut all = Connections::new(LIMITS);
        let address = |number| Binding::Address { is_v4: true, number };
        let first = all.listen(address(0), 9, 0).unwrap();
        assert_eq!(arrive(&mut all, flow(1, 9).at(1), 1), Err(Undelivered::Closed));
        let second = all.listen(address(1), 9, 0).unwrap();
        assert!(all.listen(V4, 9, 0).is_none() && all.listen(address(1), 9, 0).is_none());
        for number in [0, 1] {
            assert_eq!(arrive(&mut all, flow(1, 9).at(number), number), Ok(()));
        }
        for (listening, number) in [(first, 0), (second, 1)] {
            let (connection, accepted) = all.accept(listening.listener).unwrap();
            assert_eq!((accepted, next(&mut all, connection)), (flow(1, 9).at(number), Some(number)));
        }
        // The port is in use at the address of the connection that lives on.
        all.stop_listening(second);
        assert!(all.listen(address(1), 9, 0).is_none() && all.listen(address(2), 9, 0).is_some());
    }

    #[test]
    fn queues_are_bounded_and_shorter_for_strangers() {
        let mut all = Connections::new(Limits { shared: 1000, ..LIMITS });
        let listening = all.listen(V4, 9, 0).unwrap();
        let fits = |all: &mut Connections| (0..100).filter(|_| arrive(all, flow(1, 9), 1).is_ok()).count();
        let unaccepted = fits(&mut all);
        assert!((1..LIMITS.queue).contains(&unaccepted), "{unaccepted}");
        let (connection, _) = all.accept(listening.listener).unwrap();
        assert_eq!(fits(&mut all), LIMITS.queue - unaccepted);
        all.demux.close(connection);
        assert_eq!(all.ending(connection), Some(Ending::Closed));
        assert_eq!(next(&mut all, connection), None);
    }

    #[test]
    fn a_connection_that_is_not_received_from_leaves_as_much_as_it_takes_to_others() {
        let mut all = Connections::new(LIMITS);
        let [first, second] = [1, 2].map(|peer| connect(&mut all, peer));
        let fits = |all: &mut Connections, flow| (0..100).filter(|_| arrive(all, flow, 1).is_ok()).count();
        let [one, two] = [first.flow, second.flow];
        assert_eq!((fits(&mut all, one), fits(&mut all, two)), (30, 15));
        // A connection from which a task receives goes on, and gets the room of a connection that is gone.
        for _ in 0..10 {
            assert_eq!(next(&mut all, second.connection), Some(1));
        }
        assert_eq!(fits(&mut all, two), 10);
        all.demux.close(first.connection);
        assert_eq!(fits(&mut all, two), 15);
    }

    #[test]
    fn a_closed_port_is_reported_once_and_to_the_end_that_connected() {
        let mut all = Connections::new(LIMITS);
        let Connected { connection, flow: refused } = connect(&mut all, 7);
        all.on_unreachable(refused, Obstacle::Refused);
        assert_eq!(all.ending(connection), Some(Ending::Unreachable(Obstacle::Refused)));
        assert!(all.ending(connection).is_none());
        let listening = all.listen(V4, 9, 0).unwrap();
        arrive(&mut all, flow(1, 9), 1).unwrap();
        let (accepted, _) = all.accept(listening.listener).unwrap();
        all.on_unreachable(flow(1, 9), Obstacle::Refused);
        assert_eq!((next(&mut all, accepted), all.ending(accepted)), (Some(1), None));
    }
}
