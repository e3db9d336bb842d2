//! Two interfaces on one wire that loses, and time that passes as told.

use super::stream::Settings;
use super::table::Streams;
use super::wire::Outlet;
use bertha_core::{Buf, ErrorKind};
use bertha_netstack::{Flow, Interface, MacAddr};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

const MTU: usize = 1500;

/// Where an interface puts packets.
#[derive(Default)]
struct Cable(Vec<Vec<u8>>);

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

fn settings() -> Settings {
    Settings { largest: 1 << 20, receive: 1 << 17, send: 1 << 17, patience: Duration::from_secs(100) }
}

/// Two neighbours; the first one listens at port 9.
struct World {
    ends: [Streams; 2],
    cables: [Cable; 2],
    now: Instant,
    rng: StdRng,
    /// Of a hundred packets so many are lost.
    loss: u32,
    acceptor: usize,
}

/// The flow of an IP packet, and whether it opens a connection.
fn flow(packet: &[u8]) -> (Flow, bool) {
    let (peer, at): (IpAddr, _) = match packet[0] >> 4 {
        4 => (<[u8; 4]>::try_from(&packet[12..16]).unwrap().into(), 20),
        _ => (<[u8; 16]>::try_from(&packet[8..24]).unwrap().into(), 40),
    };
    let port = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    (Flow::new(SocketAddr::new(peer, port(at)), port(at + 2)), packet[at + 13] & 0x16 == 2)
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
        Self { ends, cables, now, rng, loss, acceptor }
    }

    fn connect(&mut self, to: &str) -> usize {
        let random = [self.rng.random(), self.rng.random()];
        let (key, _) = self.ends[1].connect(to.parse().unwrap(), &settings(), random, self.now).unwrap();
        self.step(1, key);
        key
    }

    fn step(&mut self, end: usize, key: usize) {
        self.ends[end].step(key, self.now, &mut self.cables[end]);
    }

    /// A packet reaches this end.
    fn arrive(&mut self, end: usize, packet: &[u8]) {
        let (flow, opens) = flow(packet);
        if opens && self.ends[end].is_crowded(flow) {
            return;
        }
        let (streams, cable) = (&mut self.ends[end], &mut self.cables[end]);
        match streams.find(flow, opens, self.rng.random(), self.now) {
            Some(key) => drop(streams.receive(key, packet, self.now, cable)),
            None => streams.refuse(packet, self.now, cable),
        }
    }

    /// A tenth of a millisecond passes.
    fn pass(&mut self) {
        self.now += Duration::from_micros(100);
        for end in 0..2 {
            for packet in std::mem::take(&mut self.cables[1 - end].0) {
                if self.rng.random_range(0..100) >= self.loss {
                    self.arrive(end, &packet);
                }
            }
        }
        for end in 0..2 {
            while let Some(key) = self.ends[end].take_due(self.now) {
                self.step(end, key);
            }
        }
    }

    /// Time passes until `found` finds something, for a quarter of an hour at most.
    fn until<T>(&mut self, what: &str, mut found: impl FnMut(&mut Self) -> Option<T>) -> T {
        for _ in 0..9_000_000 {
            if let Some(it) = found(self) {
                return it;
            }
            self.pass();
        }
        panic!("{what}: nothing happened");
    }

    /// A new connection's ends, the server's first.
    fn connected(&mut self, to: &str) -> [usize; 2] {
        let client = self.connect(to);
        let (server, _) = self.until("accept", |world| world.ends[0].accept(world.acceptor));
        [server, client]
    }

    fn send(&mut self, end: usize, key: usize, bytes: &[u8]) {
        let mut message = Some(Buf::copy_of(bytes, 0).unwrap());
        self.until("send", |world| {
            let taken = world.ends[end].get_mut(key).unwrap().offer(&mut message);
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
                    world.send(from.0, from.1, &message);
                    assert!(world.recv(to.0, to.1).unwrap() == message, "{len} bytes, loss {loss}");
                }
            }
        }
    }
}
