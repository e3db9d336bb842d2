//! A malicious neighbour on the wire.

use super::crafted::{NOBODY, THEM, THEM6, US, advertisement, arp, solicitation};
use super::{MACS, address, stack, transmits};
use crate::{Arrival, Checksums, Flow, Path, Route, Stack, Waiting, WaitingLimits};
use std::net::IpAddr;
use std::time::{Duration, Instant};

fn destination(path: &Path) -> [u8; 6] {
    let mut frame = vec![0; path.len()];
    path.seal(&mut frame);
    frame[..6].try_into().unwrap()
}

/// Passes questions of the first stack to the second, and its answers back.
fn talk(ours: &mut Stack, theirs: &mut Stack, now: Instant) {
    for mut frame in transmits(ours) {
        theirs.receive(&mut frame, Checksums::Unknown, now);
    }
    for mut frame in transmits(theirs) {
        ours.receive(&mut frame, Checksums::Unknown, now);
    }
}

/// Returns every frame that can name another address for the second stack.
fn poison(v6: bool) -> Vec<Vec<u8>> {
    if v6 {
        let option = [&[1, 1][..], &NOBODY.0].concat();
        return vec![
            advertisement(THEM6, NOBODY, 0x20),
            advertisement(THEM6, NOBODY, 0x60),
            advertisement(THEM6, NOBODY, 0x00),
            solicitation(THEM6, super::crafted::US6, &option),
        ];
    }
    vec![
        arp(1, THEM, NOBODY, THEM),
        arp(2, THEM, NOBODY, THEM),
        arp(2, THEM, NOBODY, US),
        arp(1, THEM, NOBODY, US),
    ]
}

#[test]
fn poison_changes_no_way_while_the_neighbour_answers() {
    for v6 in [false, true] {
        let start = Instant::now();
        let (mut ours, mut theirs) = (stack(0, None, start), stack(1, None, start));
        let flow = Flow::new(address(1, v6, 9), 4000);
        let _ = ours.route(flow, start);
        talk(&mut ours, &mut theirs, start);
        let Route::Ready(mut path) = ours.route(flow, start) else { panic!("no answer") };
        let (mut questions, mut looks) = (0, 0);
        for millisecond in 0..100_000_u64 {
            let now = start + Duration::from_millis(millisecond);
            for mut frame in poison(v6) {
                assert_eq!(ours.receive(&mut frame, Checksums::Unknown, now), Arrival::Nothing);
            }
            if ours.neighbours_due().is_some_and(|due| due <= now) {
                ours.poll_neighbours(now);
            }
            for mut frame in transmits(&mut ours) {
                // Answers to an asker in the neighbour's name go to the address that it gives; questions
                // don't.
                if frame[..6] == MACS[1].0 {
                    questions += 1;
                    theirs.receive(&mut frame, Checksums::Unknown, now);
                }
            }
            for mut frame in transmits(&mut theirs) {
                ours.receive(&mut frame, Checksums::Unknown, now);
            }
            if !ours.is_current(&path, now) {
                looks += 1;
                let Route::Ready(again) = ours.route(flow, now) else { panic!("the way is lost") };
                path = again;
            }
            assert_eq!(destination(&path), MACS[1].0, "after {millisecond} ms");
        }
        assert!(questions <= 105, "{questions} questions in 100 seconds");
        assert!(looks <= 4, "flows had to look {looks} times");
        assert!(ours.counters().disputed > 300_000);
    }
}

/// An asker in the neighbour's name may be the neighbour itself; every other claim is recognised as false.
#[test]
fn poison_before_the_first_answer_changes_nothing_either() {
    for v6 in [false, true] {
        let start = Instant::now();
        let (mut ours, mut theirs) = (stack(0, None, start), stack(1, None, start));
        let _ = theirs.route(Flow::new(address(0, v6, 4000), 9), start);
        talk(&mut theirs, &mut ours, start);
        let mut poison = poison(v6);
        poison.pop();
        let flow = Flow::new(address(1, v6, 9), 4000);
        for millisecond in 0..5000_u64 {
            let now = start + Duration::from_millis(millisecond);
            for frame in &mut poison {
                ours.receive(frame, Checksums::Unknown, now);
            }
            ours.poll_neighbours(now);
            if millisecond < 1000 {
                continue;
            }
            let Route::Ready(path) = ours.route(flow, now) else { panic!("no way after {millisecond} ms") };
            assert_eq!(destination(&path), MACS[1].0, "after {millisecond} ms");
            // The neighbour is slower than the poison.
            let questions = transmits(&mut ours);
            for frame in &mut poison {
                ours.receive(frame, Checksums::Unknown, now);
            }
            for mut frame in questions {
                assert_eq!(frame[..6], MACS[1].0);
                theirs.receive(&mut frame, Checksums::Unknown, now);
            }
            for mut frame in transmits(&mut theirs) {
                ours.receive(&mut frame, Checksums::Unknown, now);
            }
        }
    }
}

#[test]
fn a_neighbour_that_moved_is_found_although_it_only_says_so_once() {
    for v6 in [false, true] {
        let start = Instant::now();
        let (mut ours, mut theirs) = (stack(0, None, start), stack(1, None, start));
        let flow = Flow::new(address(1, v6, 9), 4000);
        let _ = ours.route(flow, start);
        talk(&mut ours, &mut theirs, start);
        let Route::Ready(path) = ours.route(flow, start) else { panic!("no answer") };
        // From now on the neighbour has another card, and answers what reaches this card.
        ours.receive(&mut poison(v6)[0].clone(), Checksums::Unknown, start);
        let found = (0..50).find(|hundredth| {
            let now = start + Duration::from_millis(10 * hundredth);
            ours.poll_neighbours(now);
            if !ours.is_current(&path, now) {
                let _ = ours.route(flow, now);
            }
            for frame in transmits(&mut ours) {
                if frame[..6] != MACS[1].0 {
                    let mut answer =
                        if v6 { advertisement(THEM6, NOBODY, 0x60) } else { arp(2, THEM, NOBODY, US) };
                    ours.receive(&mut answer, Checksums::Unknown, now);
                }
            }
            matches!(ours.route(flow, now), Route::Ready(path) if destination(&path) == NOBODY.0)
        });
        assert!(found.is_some(), "it is not found within half a second");
    }
}

/// The answers of a server to offers: frames with the number of the peer.
struct Server {
    stack: Stack,
    waiting: Waiting<Flow>,
    sent: Vec<Flow>,
    dropped: u64,
}

impl Server {
    fn answer(&mut self, flow: Flow, now: Instant) {
        match self.stack.route_back(flow, now) {
            Route::Ready(_) => self.sent.push(flow),
            Route::Resolving => self.dropped += u64::from(self.waiting.push(flow.peer().ip(), flow).is_err()),
            _ => self.dropped += 1,
        }
    }

    fn on_settled(&mut self, now: Instant) {
        if !self.stack.take_settled() {
            return;
        }
        let Self { stack, waiting, .. } = self;
        let mut sent = Vec::new();
        while let Some((hop, flow)) = waiting.pop(|hop| stack.is_resolving(hop)) {
            if stack.is_resolved(hop) {
                sent.push(flow);
            }
        }
        for flow in sent {
            self.answer(flow, now);
        }
    }
}

#[test]
fn forged_offers_delay_no_client() {
    let start = Instant::now();
    let mut server = Server {
        stack: stack(0, None, start),
        waiting: Waiting::new(WaitingLimits { frames: 4, neighbours: 64 }),
        sent: Vec::new(),
        dropped: 0,
    };
    let mut client = stack(1, None, start);
    let mut now = start;
    let mut questions = 0;
    for number in 0..20_000_u32 {
        // The peers come at a rate of 20,000 in 0.6 seconds.
        now += Duration::from_micros(30);
        let ip: IpAddr = [10, 0, 0, 100 + (number % 100) as u8].into();
        server.answer(Flow::new((ip, (1024 + number / 100) as u16).into(), 9), now);
        if server.stack.neighbours_due().is_some_and(|due| due <= now) {
            server.stack.poll_neighbours(now);
        }
        server.on_settled(now);
        let mut asked = transmits(&mut server.stack);
        questions += asked.len();
        // In the midst of the flood comes a client that knows the server's address from before, so that it is
        // asked.
        if number == 10_000 {
            let flow = Flow::new(address(1, false, 4000), 9);
            server.answer(flow, now);
            asked.extend(transmits(&mut server.stack));
            for mut frame in asked {
                client.receive(&mut frame, Checksums::Unknown, now);
            }
            for mut frame in transmits(&mut client) {
                server.stack.receive(&mut frame, Checksums::Unknown, now);
            }
            server.on_settled(now);
            assert_eq!(server.sent, [flow], "answered within the round trip that its address takes");
        }
    }
    assert!(questions < 200, "the wire hears {questions} questions");
    assert!(server.waiting.iter().count() <= 256);
    // Later, nothing is left of the flood.
    for second in 1..6 {
        now += Duration::from_secs(second);
        server.stack.poll_neighbours(now);
        server.on_settled(now);
        transmits(&mut server.stack);
    }
    assert!(server.waiting.is_empty() && server.stack.neighbours_due().is_none());
}
