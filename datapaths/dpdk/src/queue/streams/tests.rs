//! Two interfaces on a lossy wire, with simulated time.

use super::stream::Settings;
use super::table::{Found, Streams};
use super::wire::Outlet;
use bertha_core::{Buf, ErrorKind};
use bertha_netstack::{Flow, Interface, MacAddr};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use smoltcp::wire::TcpPacket;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

mod strangers;

const MTU: usize = 1500;

/// The wire into which an interface puts packets.
#[derive(Default)]
pub(super) struct Cable(pub(super) Vec<Vec<u8>>);

impl Outlet for Cable {
    type Room = Vec<u8>;

    fn is_full(&mut self) -> bool {
        self.0.len() >= 32
    }

    fn room(&mut self) -> Option<Vec<u8>> {
        Some(vec![0; MTU])
    }

    fn send(&mut self, mut packet: Vec<u8>, len: usize) {
        packet.truncate(len);
        self.0.push(packet);
    }
}

pub(super) fn settings() -> Settings {
    Settings {
        is_framed: true,
        largest: 1 << 20,
        receive: 1 << 17,
        send: 1 << 17,
        timeout: Duration::from_secs(240),
        keep_alive: None,
    }
}

/// Two neighbours, of which the first listens at port 9.
struct World {
    ends: [Streams; 2],
    cables: [Cable; 2],
    now: Instant,
    rng: StdRng,
    /// Number of packets in a hundred that are lost.
    loss: u32,
    acceptor: usize,
    /// The settings of those who connect.
    settings: Settings,
}

/// Returns the flow of an IP packet, and true if it opens a connection.
pub(super) fn flow(packet: &[u8]) -> (Flow, bool) {
    let (peer, at): (IpAddr, _) = match packet[0] >> 4 {
        4 => (<[u8; 4]>::try_from(&packet[12..16]).unwrap().into(), 20),
        _ => (<[u8; 16]>::try_from(&packet[8..24]).unwrap().into(), 40),
    };
    let port = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    (Flow::new(SocketAddr::new(peer, port(at)), port(at + 2)), packet[at + 13] & 0x16 == 2)
}

/// Returns true if the checksum of a segment is valid.
fn is_intact(packet: &[u8]) -> bool {
    let (is_v4, at) = if packet[0] >> 4 == 4 { (true, 20) } else { (false, 40) };
    let address = |at: usize| match is_v4 {
        true => IpAddr::from(<[u8; 4]>::try_from(&packet[at..at + 4]).unwrap()),
        false => IpAddr::from(<[u8; 16]>::try_from(&packet[at..at + 16]).unwrap()),
    };
    let [source, destination] = if is_v4 { [12, 16] } else { [8, 24] }.map(|at| address(at).into());
    TcpPacket::new_checked(&packet[at..]).unwrap().verify_checksum(&source, &destination)
}

impl World {
    fn new(seed: u64, loss: u32, backlog: usize) -> Self {
        let now = Instant::now();
        let mut ends = [1, 2].map(|number| {
            let subnets = [format!("10.0.0.{number}/24"), format!("fd00::{number}/64")];
            let subnets = subnets.map(|subnet| subnet.parse().unwrap());
            let mac = MacAddr([2, 0, 0, 0, 0, number]);
            Streams::new(&Interface::new(mac, MTU, None, &subnets, &[]).unwrap(), now)
        });
        let on = "[::]:9".parse().unwrap();
        let (acceptor, _) = ends[0].listen(on, settings(), backlog, 0, 1).unwrap();
        let (cables, rng) = (Default::default(), StdRng::seed_from_u64(seed));
        Self { ends, cables, now, rng, loss, acceptor, settings: settings() }
    }

    fn connect(&mut self, to: &str) -> usize {
        let random = [self.rng.random(), self.rng.random()];
        let (key, _) = self.ends[1].connect(to.parse().unwrap(), &self.settings, random, self.now).unwrap();
        self.step(1, key);
        key
    }

    fn step(&mut self, end: usize, key: usize) {
        self.ends[end].step(key, self.now, &mut self.cables[end]);
    }

    /// Delivers a packet to this end.
    fn arrive(&mut self, end: usize, packet: &[u8]) {
        let (flow, opens) = flow(packet);
        let (streams, cable) = (&mut self.ends[end], &mut self.cables[end]);
        match streams.find(flow, packet, opens, self.rng.random(), self.now) {
            Found::Connection(key) => {
                streams.receive(key, &mut packet.to_vec(), self.now, cable);
            }
            Found::Listener(listener) => streams.answer(listener, flow, packet, self.now, cable),
            Found::Crowd => {}
            Found::Nobody => streams.refuse(flow, packet, self.now, cable),
        }
    }

    /// Lets a tenth of a millisecond pass.
    fn pass(&mut self) {
        self.now += Duration::from_micros(100);
        for end in 0..2 {
            for packet in std::mem::take(&mut self.cables[1 - end].0) {
                assert!(is_intact(&packet), "{packet:?}");
                if self.rng.random_range(0..100) >= self.loss {
                    self.arrive(end, &packet);
                }
            }
        }
        for end in 0..2 {
            let mut steps = 0;
            while let Some(key) = self.ends[end].take_due(self.now) {
                self.step(end, key);
                steps += 1;
                assert!(steps < 10_000, "a connection is due again and again");
            }
        }
    }

    /// Lets time pass until `found` finds something, for a quarter of an hour at most.
    fn until<T>(&mut self, what: &str, mut found: impl FnMut(&mut Self) -> Option<T>) -> T {
        for _ in 0..9_000_000 {
            if let Some(it) = found(self) {
                return it;
            }
            self.pass();
        }
        panic!("{what}: nothing happened");
    }

    /// Returns the ends of a new connection, the server's end first.
    fn connected(&mut self, to: &str) -> [usize; 2] {
        let client = self.connect(to);
        let (server, _) = self.until("accept", |world| world.ends[0].accept(world.acceptor));
        [server, client]
    }

    /// Sends a message that may be longer than all buffers on its way, to a receiving end.
    fn transfer(&mut self, from: (usize, usize), to: (usize, usize), bytes: &[u8]) -> Vec<u8> {
        let (mut message, mut number) = (Some(Buf::copy_of(bytes, 0).unwrap()), 0);
        let received = self.until("transfer", |world| {
            let _sent = world.ends[from.0].get_mut(from.1).unwrap().offer(&mut message, &mut number);
            world.step(from.0, from.1);
            let next = world.ends[to.0].get_mut(to.1).unwrap().next();
            world.step(to.0, to.1);
            next
        });
        received.unwrap().to_vec()
    }

    fn send(&mut self, end: usize, key: usize, bytes: &[u8]) {
        let (mut message, mut number) = (Some(Buf::copy_of(bytes, 0).unwrap()), 0);
        self.until("send", |world| {
            let taken = world.ends[end].get_mut(key).unwrap().offer(&mut message, &mut number);
            world.step(end, key);
            taken
        })
        .unwrap();
    }

    fn recv(&mut self, end: usize, key: usize) -> Result<Vec<u8>, ErrorKind> {
        self.until("recv", |world| {
            let next = world.ends[end].get_mut(key).unwrap().next();
            world.step(end, key);
            next
        })
        .map(|message| message.to_vec())
        .map_err(|error| error.kind())
    }
}

#[test]
fn messages_of_all_lengths_arrive_both_ways_whatever_is_lost() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    for (number, to) in ["10.0.0.1:9", "[fd00::1]:9"].into_iter().enumerate() {
        for loss in [0, 5] {
            let mut world = World::new(seed + number as u64, loss, 8);
            let [server, client] = world.connected(to);
            for len in [0, 1, 1400, 100_000, 200_000, 1 << 20] {
                let message: Vec<u8> = (0..len).map(|at| (at * 31 % 251) as u8).collect();
                for [from, to] in [[(0, server), (1, client)], [(1, client), (0, server)]] {
                    assert!(world.transfer(from, to, &message) == message, "{len} bytes, loss {loss}");
                }
            }
        }
    }
}

#[test]
fn several_connections_are_told_apart() {
    let mut world = World::new(1, 0, 8);
    let pairs: Vec<[usize; 2]> = (0..20).map(|_| world.connected("10.0.0.1:9")).collect();
    for (number, [server, client]) in pairs.iter().enumerate() {
        world.send(1, *client, &[number as u8]);
        world.send(0, *server, &[number as u8 + 100]);
    }
    for (number, [server, client]) in pairs.iter().enumerate() {
        assert_eq!(world.recv(0, *server), Ok(vec![number as u8]));
        assert_eq!(world.recv(1, *client), Ok(vec![number as u8 + 100]));
    }
}

#[test]
fn what_was_sent_arrives_before_the_end_whatever_is_lost() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    for loss in [0, 5] {
        let mut world = World::new(seed, loss, 8);
        let [server, client] = world.connected("10.0.0.1:9");
        // The message is larger than the room: the connection has the rest.
        let mut message = Some(Buf::copy_of(&[7; 400_000], 0).unwrap());
        assert!(
            world.ends[1].get_mut(client).unwrap().offer(&mut message, &mut 0).is_none() && message.is_none()
        );
        world.ends[1].let_go(client, world.now);
        world.step(1, client);
        assert!(world.recv(0, server).unwrap() == [7; 400_000]);
        assert_eq!(world.recv(0, server), Err(ErrorKind::Closed));
        world.ends[0].let_go(server, world.now);
        world.step(0, server);
        // The ends wait for late segments, and then nothing is left.
        world.until("the end", |world| (world.ends[0].len() + world.ends[1].len() == 0).then_some(()));
    }
}

/// The wire is cut for longer than an end waits for the peer's end.
#[test]
fn a_connection_that_ends_late_rests_until_late_segments_can_come_no_more() {
    let mut world = World::new(1, 0, 8);
    let [server, client] = world.connected("10.0.0.1:9");
    world.loss = 100;
    for (end, key) in [(0, server), (1, client)] {
        world.ends[end].let_go(key, world.now);
        world.step(end, key);
    }
    (0..700_000).for_each(|_| world.pass());
    world.loss = 0;
    world.until("the end", |world| (world.ends[0].len() + world.ends[1].len() == 0).then_some(()));
}

#[test]
fn repeated_acknowledgements_keep_no_end_from_the_peer() {
    let mut world = World::new(1, 0, 8);
    let [server, client] = world.connected("10.0.0.1:9");
    world.send(1, client, b"last");
    assert_eq!(world.recv(0, server), Ok(b"last".to_vec()));
    let acknowledgement = world.until("acknowledgement", |world| world.cables[0].0.last().cloned());
    world.pass();
    world.ends[1].let_go(client, world.now);
    world.step(1, client);
    // The end is lost.
    world.cables[1].0.clear();
    for _ in 0..3 {
        world.arrive(1, &acknowledgement);
    }
    assert_eq!(world.recv(0, server), Err(ErrorKind::Closed));
}

#[test]
fn a_silent_peer_is_given_up_only_if_it_owes_an_answer() {
    let mut world = World::new(1, 0, 8);
    let [server, client] = world.connected("10.0.0.1:9");
    world.send(1, client, b"hello");
    assert_eq!(world.recv(0, server), Ok(b"hello".to_vec()));
    for _ in 0..1000 {
        world.pass();
    }
    // From here on the wire is cut. An hour later both connections still live, since neither end owes an
    // answer.
    world.loss = 100;
    world.now += Duration::from_secs(3600);
    for _ in 0..100 {
        world.pass();
    }
    assert!(world.ends[1].get_mut(client).unwrap().next().is_none());
    world.send(1, client, b"hello?");
    let before = world.now;
    assert_eq!(world.recv(1, client), Err(ErrorKind::TimedOut));
    let waited = world.now - before;
    assert!(waited >= Duration::from_secs(240) && waited < Duration::from_secs(242), "{waited:?}");
}

#[test]
fn a_peer_that_is_asked_and_answers_stays_and_one_that_says_nothing_is_given_up() {
    let mut world = World::new(1, 0, 8);
    world.settings.keep_alive = Some(Duration::from_secs(2));
    let [server, client] = world.connected("10.0.0.1:9");
    world.send(1, client, b"hello");
    assert_eq!(world.recv(0, server), Ok(b"hello".to_vec()));
    // Nobody says anything in this minute, and the wire loses some of what the stacks say.
    world.loss = 5;
    for _ in 0..600_000 {
        world.pass();
    }
    assert!(world.ends[1].get_mut(client).unwrap().next().is_none());
    world.loss = 100;
    let before = world.now;
    assert_eq!(world.recv(1, client), Err(ErrorKind::TimedOut));
    let waited = world.now - before;
    assert!(waited > Duration::from_secs(4) && waited < Duration::from_millis(10_001), "{waited:?}");
    // The other end asks nobody.
    assert!(world.ends[0].get_mut(server).unwrap().next().is_none());
}

#[test]
fn a_peer_that_has_forgotten_a_silent_connection_resets_it_when_it_is_asked() {
    let mut world = World::new(1, 0, 8);
    world.settings.keep_alive = Some(Duration::from_secs(2));
    let [_, client] = world.connected("10.0.0.1:9");
    let mut again = World::new(2, 0, 8);
    std::mem::swap(&mut world.ends[0], &mut again.ends[0]);
    assert_eq!(world.recv(1, client), Err(ErrorKind::Reset));
}

#[test]
fn a_peer_that_has_forgotten_the_connection_resets_it() {
    let mut world = World::new(1, 0, 8);
    let [_, client] = world.connected("10.0.0.1:9");
    let mut again = World::new(2, 0, 8);
    std::mem::swap(&mut world.ends[0], &mut again.ends[0]);
    world.send(1, client, b"hello");
    assert_eq!(world.recv(1, client), Err(ErrorKind::Reset));
}

#[test]
fn nobody_there_is_unreachable() {
    let mut world = World::new(1, 0, 8);
    let client = world.connect("10.0.0.1:10");
    let end = world.until("the answer", |world| {
        let stream = world.ends[1].get_mut(client).unwrap();
        stream.end().map(|_| stream.ending(false).kind())
    });
    assert_eq!(end, ErrorKind::Unreachable);
}

#[test]
fn a_message_that_nobody_took_makes_the_end_a_reset() {
    let mut world = World::new(1, 0, 8);
    let [server, client] = world.connected("10.0.0.1:9");
    world.send(1, client, b"unread");
    for _ in 0..10 {
        world.pass();
    }
    world.ends[0].let_go(server, world.now);
    world.step(0, server);
    assert_eq!(world.recv(1, client), Err(ErrorKind::Reset));
}

#[test]
fn who_announces_too_much_is_malformed_and_the_peer_cannot_exhaust_memory() {
    let mut world = World::new(1, 0, 8);
    let client = world.ends[1].connect(
        "10.0.0.1:9".parse().unwrap(),
        &Settings { largest: 2 << 20, ..settings() },
        [1, 2],
        world.now,
    );
    let client = client.unwrap().0;
    world.step(1, client);
    let (server, _) = world.until("accept", |world| world.ends[0].accept(world.acceptor));
    world.send(1, client, b"fits");
    let mut large = Some(Buf::new((1 << 20) + 1, 0).unwrap());
    let _waits = world.ends[1].get_mut(client).unwrap().offer(&mut large, &mut 0);
    world.step(1, client);
    assert_eq!(world.recv(0, server), Ok(b"fits".to_vec()));
    for _ in 0..2 {
        assert_eq!(world.recv(0, server), Err(ErrorKind::Malformed));
    }
}

/// Returns an empty segment as a stranger would forge it in the client's name, with a sequence number so far ahead
/// of what the server expects.
fn forged(world: &mut World, [server, client]: [usize; 2], flags: u8, ahead: u32) -> Vec<u8> {
    world.send(1, client, b"known");
    let mut packet = world.cables[1].0.last().unwrap().clone();
    assert_eq!(world.recv(0, server), Ok(b"known".to_vec()));
    // The server acknowledges the message, and its last challenge is long ago.
    (0..11_000).for_each(|_| world.pass());
    let data = (packet.len() - 40) as u32;
    let sequence = u32::from_be_bytes(packet[24..28].try_into().unwrap()).wrapping_add(data);
    packet.truncate(40);
    packet[2..4].copy_from_slice(&[0, 40]);
    packet[24..28].copy_from_slice(&sequence.wrapping_add(ahead).to_be_bytes());
    packet[33] = flags;
    packet
}

/// Returns the first segment of a connection to this port, whose client goes away.
fn syn_to(world: &mut World, port: u16, number: u32) -> Vec<u8> {
    let peer = SocketAddr::new([10, 0, 0, 1].into(), port);
    let key = world.ends[1].connect(peer, &settings(), [number.into(), 1], world.now).unwrap().0;
    world.step(1, key);
    let syn = world.cables[1].0.pop().unwrap();
    world.ends[1].let_go(key, world.now);
    world.step(1, key);
    world.cables[1].0.clear();
    syn
}

#[test]
fn the_backlog_is_bounded_and_a_listener_that_ends_resets_it() {
    let mut world = World::new(1, 0, 4);
    let mut clients = Vec::new();
    for _ in 0..8 {
        clients.push(world.connect("10.0.0.1:9"));
        (0..20).for_each(|_| world.pass());
    }
    let open = |world: &mut World| {
        let open = |&&key: &&usize| world.ends[1].get_mut(key).is_some_and(|stream| stream.is_open());
        clients.iter().filter(open).count()
    };
    assert_eq!((open(&mut world), world.ends[0].len()), (4, 4));
    let acceptor = world.acceptor;
    for key in world.ends[0].stop_listening(acceptor, world.now) {
        world.step(0, key);
    }
    world.until("the resets", |world| {
        let over = |&key: &usize| world.ends[1].get_mut(key).is_none_or(|stream| stream.end().is_some());
        clients.iter().all(over).then_some(())
    });
    assert_eq!(world.ends[0].len(), 0);
    // The port is free again.
    assert!(world.ends[0].listen("[::]:9".parse().unwrap(), settings(), 4, 0, 1).is_some());
}

/// The bound holds for buffers and backlogs of any size, as long as the server has not accepted the peers.
#[test]
fn peers_that_nobody_has_accepted_cost_a_bounded_amount_of_memory() {
    let large = Settings { receive: 1 << 20, send: 1 << 20, ..settings() };
    let mut world = World::new(1, 0, 4);
    let on = "[::]:10".parse().unwrap();
    let (acceptor, _) = world.ends[0].listen(on, large.clone(), 1024, 0, 1).unwrap();
    let clients: Vec<usize> = (0..100)
        .map(|_| {
            let client = world.connect("10.0.0.1:10");
            (0..20).for_each(|_| world.pass());
            client
        })
        .collect();
    let most = (64 << 20) / (large.receive + large.send);
    assert!((8..=most).contains(&world.ends[0].len()), "{}", world.ends[0].len());
    // The remaining peers are served once the server accepts.
    for _ in 0..clients.len() {
        world.until("accept", |world| world.ends[0].accept(acceptor));
    }
    // The memory is bounded also for a host that asks for a connection and then stays silent.
    let mut world = World::new(2, 0, 4);
    world.ends[0].listen(on, large, 1024, 0, 1).unwrap();
    for number in 0..100 {
        let syn = syn_to(&mut world, 10, number);
        world.arrive(0, &syn);
        world.cables[0].0.clear();
    }
    assert!((8..=most).contains(&world.ends[0].len()), "{}", world.ends[0].len());
}

#[test]
fn what_lingers_is_bounded() {
    let mut world = World::new(1, 0, 8);
    for _ in 0..400 {
        let [server, client] = world.connected("10.0.0.1:9");
        for (end, key) in [(1, client), (0, server)] {
            world.ends[end].let_go(key, world.now);
            world.step(end, key);
            for _ in 0..5 {
                world.pass();
            }
        }
    }
    assert!(world.ends.iter().all(|end| end.len() <= 256), "{} {}", world.ends[0].len(), world.ends[1].len());
}

#[test]
fn damaged_segments_neither_crash_nor_stay() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut world = World::new(seed, 0, 64);
    let mut open = Vec::new();
    for number in 0..100_000 {
        if number % 500 == 0 {
            open.push(world.connect("10.0.0.1:9"));
        }
        if let Some((server, _)) = world.ends[0].accept(world.acceptor) {
            let _ =
                world.ends[0].get_mut(server).unwrap().offer(&mut Buf::copy_of(&[7; 3000], 0).ok(), &mut 0);
            world.step(0, server);
            world.ends[0].let_go(server, world.now);
        }
        world.pass();
        for end in 0..2 {
            let Some(mut packet) = world.cables[1 - end].0.last().cloned() else { continue };
            // The damage lies behind the addresses and ports, so that the packet finds its connection: in
            // numbers, flags, window and options.
            let at = world.rng.random_range(24..packet.len());
            packet[at] = [0, 1, 0x7f, 0x80, 0xff, world.rng.random()][world.rng.random_range(0..6)];
            if packet[32] >> 4 >= 5 && packet.len() >= 20 + usize::from(packet[32] >> 4) * 4 {
                world.arrive(end, &packet);
            }
        }
    }
    for key in open {
        world.ends[1].let_go(key, world.now);
        world.step(1, key);
    }
    world.until("the end", |world| (world.ends[0].len() + world.ends[1].len() == 0).then_some(()));
}
