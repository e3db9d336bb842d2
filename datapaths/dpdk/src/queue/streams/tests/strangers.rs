//! Segments of strangers: resets that are guessed, floods of first segments, and cookies.

use super::*;

/// Asserts that the segment ends no connection, and is answered with as many acknowledgements.
fn assert_challenged(world: &mut World, [server, client]: [usize; 2], segment: &[u8], times: usize) {
    assert!(world.cables[0].0.is_empty());
    world.arrive(0, segment);
    let answers: Vec<u8> = world.cables[0].0.iter().map(|packet| packet[33]).collect();
    assert_eq!(answers, vec![0x10; times]);
    for [from, to] in [[(0, server), (1, client)], [(1, client), (0, server)]] {
        assert_eq!(world.transfer(from, to, b"alive"), b"alive");
    }
}

#[test]
fn a_stranger_resets_no_connection_without_the_exact_number() {
    const RST: u8 = 0x04;
    let mut world = World::new(1, 0, 8);
    let pair = world.connected("10.0.0.1:9");
    for (ahead, times) in [(1, 1), (10_000, 1), (1 << 20, 0), (1 << 31, 0), (u32::MAX, 0)] {
        let segment = forged(&mut world, pair, RST, ahead);
        assert_challenged(&mut world, pair, &segment, times);
    }
    // In a second there is a single answer.
    let segment = forged(&mut world, pair, RST, 1);
    world.arrive(0, &segment);
    world.cables[0].0.clear();
    assert_challenged(&mut world, pair, &segment, 0);
    let segment = forged(&mut world, pair, RST, 0);
    world.arrive(0, &segment);
    assert_eq!(world.recv(0, pair[0]), Err(ErrorKind::Reset));
}

/// The peer's host has restarted, and the peer asks from its old port.
#[test]
fn a_peer_that_has_forgotten_the_connection_learns_of_it_when_it_connects_anew() {
    const SYN: u8 = 0x02;
    let mut world = World::new(1, 0, 8);
    let pair = world.connected("10.0.0.1:9");
    for ahead in [0, 77_777_777, 1 << 31] {
        let segment = forged(&mut world, pair, SYN, ahead);
        assert_challenged(&mut world, pair, &segment, 1);
    }
    let segment = forged(&mut world, pair, SYN, 1);
    world.ends[1] = World::new(2, 0, 8).ends.into_iter().nth(1).unwrap();
    world.arrive(0, &segment);
    assert_eq!(world.recv(0, pair[0]), Err(ErrorKind::Reset));
}

/// The stranger has asked from the client's address and port, and answers nothing.
#[test]
fn a_stranger_who_began_with_the_clients_port_does_not_keep_the_client_out() {
    for ahead in [1, 77_777_777, 1 << 31] {
        let mut world = World::new(1, 0, 8);
        let client = world.connect("10.0.0.1:9");
        let first = world.cables[1].0.pop().unwrap();
        let mut strange = first.clone();
        let sequence = u32::from_be_bytes(first[24..28].try_into().unwrap());
        strange[24..28].copy_from_slice(&sequence.wrapping_add(ahead).to_be_bytes());
        world.arrive(0, &strange);
        world.cables[0].0.clear();
        let before = world.now;
        world.arrive(0, &first);
        let (server, _) = world.until("accept", |world| world.ends[0].accept(world.acceptor));
        assert_eq!(world.transfer((1, client), (0, server), b"in"), b"in");
        assert!(world.now - before < Duration::from_secs(2), "it took {:?}", world.now - before);
    }
}

/// Returns the first segment of a connection from a stranger.
fn syn(world: &mut World, number: u32) -> Vec<u8> {
    syn_to(world, 9, number)
}

#[test]
fn a_flood_of_strangers_costs_little_and_shuts_nobody_out() {
    let mut world = World::new(1, 0, 8);
    for number in 0..1000 {
        let syn = syn(&mut world, number);
        world.arrive(0, &syn);
        // The server gets no answer.
        world.cables[0].0.clear();
        assert!(world.ends[0].len() <= 128);
    }
    let before = world.now;
    let [server, client] = world.connected("10.0.0.1:9");
    world.send(1, client, b"through");
    assert_eq!(world.recv(0, server), Ok(b"through".to_vec()));
    assert!(world.now - before < Duration::from_millis(10), "it took {:?}", world.now - before);
    // In the end the strangers are removed.
    world.until("the time out", |world| (world.ends[0].len() == 1).then_some(()));
}

/// Fills the room for peers in the middle of the handshake.
fn flood(world: &mut World) {
    let first = world.rng.random_range(0..1 << 20);
    for number in first..first + 200 {
        let syn = syn(world, number);
        world.arrive(0, &syn);
        world.cables[0].0.clear();
    }
    assert!(world.ends[0].len() >= 128);
}

/// Returns true if the segment answers the first one of a connection.
fn is_answer(packet: &[u8]) -> bool {
    let header = if packet[0] >> 4 == 4 { 20 } else { 40 };
    packet[header + 13] & 0x12 == 0x12
}

/// Connects, and returns the client and the server's answer. The strangers have the client's address, so a client may
/// get the port of a stranger for whom the server waits; then another port is tried.
fn answered(world: &mut World, to: &str) -> (usize, Vec<u8>) {
    for _ in 0..5 {
        let client = world.connect(to);
        let first = world.cables[1].0.pop().unwrap();
        world.arrive(0, &first);
        if let Some(answer) = world.cables[0].0.pop().filter(|answer| is_answer(answer)) {
            return (client, answer);
        }
        world.ends[1].let_go(client, world.now);
        world.step(1, client);
        world.cables[1].0.clear();
    }
    panic!("five clients had the ports of strangers");
}

/// The connections come about while the flood goes on, by cookies: their numbers differ inside and outside.
#[test]
fn connections_amid_a_flood_are_as_good_as_others() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    for (number, to) in ["10.0.0.1:9", "[fd00::1]:9"].into_iter().enumerate() {
        for loss in [0, 5] {
            let mut world = World::new(seed + number as u64, 0, 8);
            let pairs: Vec<[usize; 2]> = (0..14)
                .map(|_| {
                    flood(&mut world);
                    let (client, answer) = answered(&mut world, to);
                    // The client's answer is slow.
                    flood(&mut world);
                    world.now += Duration::from_millis(500);
                    world.cables[0].0.push(answer);
                    let (server, _) = world.until("accept", |world| world.ends[0].accept(world.acceptor));
                    [server, client]
                })
                .collect();
            world.loss = loss;
            for [server, client] in pairs {
                for len in [1, 1400, 100_000] {
                    let message: Vec<u8> = (0..len).map(|at| (at * 31 % 251) as u8).collect();
                    for [from, to] in [[(0, server), (1, client)], [(1, client), (0, server)]] {
                        assert!(world.transfer(from, to, &message) == message, "{len} bytes, loss {loss}");
                    }
                }
                world.ends[1].let_go(client, world.now);
                world.step(1, client);
                assert_eq!(world.recv(0, server), Err(ErrorKind::Closed));
            }
        }
    }
}

/// The client's last segment of the handshake is lost, and its first message takes its place.
#[test]
fn a_cookie_may_come_back_with_the_first_message() {
    let mut world = World::new(1, 0, 8);
    flood(&mut world);
    let client = world.connect("10.0.0.1:9");
    world.until("the answer", |world| world.ends[1].get_mut(client).unwrap().is_open().then_some(()));
    world.cables[1].0.clear();
    world.send(1, client, b"hello");
    let (server, _) = world.until("accept", |world| world.ends[0].accept(world.acceptor));
    assert_eq!(world.recv(0, server), Ok(b"hello".to_vec()));
}

#[test]
fn a_cookie_that_was_not_given_opens_nothing() {
    let mut world = World::new(1, 0, 8);
    flood(&mut world);
    let client = world.connect("10.0.0.1:9");
    world.until("the answer", |world| world.ends[1].get_mut(client).unwrap().is_open().then_some(()));
    let genuine = world.cables[1].0.pop().unwrap();
    for at in [21, 27, 31] {
        let mut forged = genuine.clone();
        forged[at] ^= 1;
        world.arrive(0, &forged);
        assert!(world.ends[0].accept(world.acceptor).is_none());
        assert_eq!(world.cables[0].0.pop().unwrap()[33] & 0x04, 0x04, "it is reset");
    }
    world.now += Duration::from_secs(200);
    world.arrive(0, &genuine);
    assert!(world.ends[0].accept(world.acceptor).is_none(), "it is too old");
}
