//! Two machines and a wire between them, in virtual time.

mod faults;
mod misbehaviour;
mod pauses;
mod timers;
mod values;
mod wire;

use super::*;
use crate::congestion::{Algorithm, Bbr, Cubic, FixedWindow, NewReno};
use wire::{Faults, Wire};

const MS: Duration = Duration::from_millis(1);

/// Returns settings with the smallest buffers.
fn settings() -> ReliableSettings {
    ReliableSettings { packet: 1200, messages: 64, bytes: 128 * 1024, ..ReliableSettings::default() }
}

fn machine(seed: u64) -> Machine {
    machine_with(settings(), Check::Crc, seed)
}

fn machine_with(settings: ReliableSettings, check: Check, seed: u64) -> Machine {
    let algorithms: [&dyn Algorithm; 4] = [&NewReno, &Cubic, &Bbr, &FixedWindow(100_000)];
    let algorithm = algorithms[(seed % 4) as usize];
    Machine::new(settings, |packet| algorithm.start(packet), check, 1400, seed)
}

fn message(number: u64, len: usize) -> Buf {
    let mut message = Buf::new(len.max(8), 0).unwrap();
    message.fill(number as u8);
    message[..8].copy_from_slice(&number.to_le_bytes());
    message
}

fn number(message: &[u8]) -> u64 {
    let number = u64::from_le_bytes(message[..8].try_into().unwrap());
    assert!(message[8..].iter().all(|byte| *byte == number as u8), "message {number} was changed");
    number
}

#[test]
fn a_message_crosses_and_both_close() {
    let mut wire = Wire::new(1, Faults::NONE);
    wire.ends[0].send(message(7, 100));
    wire.run_until(|ends| matches!(ends[1].receive(), Received::Message(_)));
    wire.ends[0].close();
    wire.run_until(|ends| ends[0].closed().is_some());
    assert!(wire.ends[0].closed().unwrap().is_ok());
    let Received::End(error) = wire.ends[1].receive() else { panic!("the close did not arrive") };
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert_eq!(wire.ends[1].has_capacity(1).unwrap_err().kind(), ErrorKind::Closed);
    assert!(wire.now < 500 * MS, "took {:?}", wire.now);
}

/// The path loses message 1 once, and nothing follows that would show the loss. The path never carries message 0.
#[test]
fn a_message_that_can_not_arrive_is_named_and_delays_no_other() {
    let mut wire = Wire::new(1, Faults::NONE);
    wire.largest = 1000;
    wire.lost_message = Some(1);
    wire.ends[0].send(message(0, 1190));
    wire.ends[0].send(message(1, 8));
    wire.run_until(|ends| matches!(ends[1].receive(), Received::Message(message) if number(&message) == 1));
    assert!(wire.now < 5_000 * MS, "took {:?}", wire.now);
    wire.run_until(|ends| ends[0].end.is_some());
    let Received::End(error) = wire.ends[0].receive() else { panic!("it goes on") };
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("message 0, of 1190 bytes, was not acknowledged"), "{error}");
}

/// The path reports nothing, and acknowledgements arrive.
#[test]
fn large_packets_that_the_path_loses_leave_in_pieces() {
    for count in [1, 3, 20, 100] {
        for seed in 0..20 {
            let mut wire = Wire::new(seed, Faults { loss: seed % 3, ..Faults::NONE });
            wire.largest = 1_272;
            wire.ends.iter_mut().for_each(|end| end.cut_beyond(1_200));
            let (mut sent, mut arrived) = (0, 0);
            while arrived < count {
                while sent < count && wire.ends[0].has_capacity(1_370).unwrap() {
                    wire.ends[0].send(message(sent, 1_370));
                    sent += 1;
                }
                while let Received::Message(message) = wire.ends[1].receive() {
                    number(&message);
                    arrived += 1;
                }
                assert!(wire.now < 3_000 * MS, "{arrived} of {count} have arrived, seed {seed}");
                assert!(wire.step(wire.now + 1_000 * MS));
            }
        }
    }
}

/// Others are acknowledged all the time, so the peer is there.
#[test]
fn a_message_that_can_not_arrive_ends_a_busy_connection() {
    let mut wire = Wire::new(1, Faults::NONE);
    wire.largest = 1000;
    wire.ends[0].send(message(0, 1190));
    for number in 1.. {
        if wire.ends[0].end.is_some() {
            break;
        }
        if wire.ends[0].has_capacity(8).unwrap() {
            wire.ends[0].send(message(number, 8));
        }
        let until = wire.now + 1_000 * MS;
        while wire.step(until) {
            while let Received::Message(_) = wire.ends[1].receive() {}
        }
        wire.now = until;
        assert!(wire.now < Duration::from_secs(100), "still trying");
    }
    let Received::End(error) = wire.ends[0].receive() else { panic!("it goes on") };
    assert!(error.to_string().contains("message 0, of 1190 bytes, was not acknowledged"), "{error}");
}

/// The peer drops its end as soon as it hears of the close.
#[test]
fn a_close_succeeds_though_the_peer_is_dropped_behind_it() {
    for seed in 0..200 {
        let mut wire = Wire::new(seed, Faults { loss: 20, ..Faults::NONE });
        (0..10).for_each(|number| wire.ends[0].send(message(number, 500)));
        wire.ends[0].close();
        wire.run_until(|ends| {
            while let Received::Message(_) = ends[1].receive() {}
            matches!(ends[1].receive(), Received::End(_))
        });
        assert!(wire.ends[1].part());
        assert!(!wire.ends[1].part());
        wire.run_until(|ends| ends[0].closed().is_some());
        assert!(wire.ends[0].closed().unwrap().is_ok(), "seed {seed}");
    }
}

#[test]
fn short_messages_share_packets() {
    let mut wire = Wire::new(1, Faults::NONE);
    (0..60).for_each(|number| wire.ends[0].send(message(number, 8)));
    let mut got = 0;
    wire.run_until(|ends| {
        while let Received::Message(_) = ends[1].receive() {
            got += 1;
        }
        got == 60
    });
    assert!(wire.ends[0].statistics().packets_sent <= 2, "{:?}", wire.ends[0].statistics());
}

/// A lost packet is repeated as soon as three later ones are acknowledged, and not after a time-out, which would take a
/// second before the first round trip is measured.
#[test]
fn a_lost_packet_is_repaired_within_two_round_trips() {
    let mut wire = Wire::new(1, Faults::NONE);
    wire.lost_message = Some(1);
    (0..8).for_each(|number| wire.ends[0].send(message(number, 1100)));
    let mut got = Vec::new();
    wire.run_until(|ends| {
        while let Received::Message(message) = ends[1].receive() {
            got.push(number(&message));
        }
        got.len() == 8
    });
    assert_eq!(got, [0, 2, 3, 4, 5, 6, 7, 1]);
    assert!(wire.now < 40 * MS, "took {:?}", wire.now);
}

/// A datapath without a buffer is asked again after a pause. A deadline in the past would make the task spin, perhaps in the way of
/// the task that would release buffers.
#[test]
fn without_a_buffer_nothing_is_due_until_later() {
    let mut wire = Wire::new(1, Faults::NONE);
    (0..4).for_each(|number| wire.ends[0].send(message(number, 1100)));
    wire.run_for(20 * MS);
    let (mut now, [end, peer]) = (wire.now, &mut wire.ends);
    end.send(message(4, 8));
    let packet = end.poll_packet(now, |len| Buf::new(len, 0)).unwrap();
    // Late, so that an acknowledgement is overdue.
    peer.handle_packet(packet, now);
    now += Duration::from_secs(1);
    for _ in 0..3 {
        let none = peer.poll_packet(now, |_| Err(Error::new(ErrorKind::Exhausted, "no buffer")));
        assert!(none.is_none());
        let due = peer.next_timeout().unwrap();
        assert!(due > now, "due at {due:?}, and it is {now:?}");
        now = due;
    }
    assert!(peer.poll_packet(now, |len| Buf::new(len, 0)).is_some());
}

/// A receiver that takes no messages stops the sender, which continues when the receiver does.
#[test]
fn a_slow_receiver_holds_the_sender_back() {
    let mut wire = Wire::new(1, Faults::NONE);
    let (mut sent, mut got) = (0, 0);
    for _ in 0..200 {
        while wire.ends[0].has_capacity(1000).unwrap() {
            wire.ends[0].send(message(sent, 1000));
            sent += 1;
        }
        wire.run_for(100 * MS);
        // The window of one end and the buffer of the other.
        assert!(sent - got <= 64 + 64, "{sent} sent, {got} received");
        for _ in 0..5 {
            if let Received::Message(message) = wire.ends[1].receive() {
                assert_eq!(number(&message), got);
                got += 1;
            }
        }
    }
    assert_eq!(got, 1000);
}

#[test]
fn an_idle_connection_lasts_and_a_silent_peer_ends_it() {
    let mut wire = Wire::new(1, Faults::NONE);
    wire.run_for(Duration::from_secs(300));
    assert!(wire.ends.iter().all(|end| end.end.is_none()));
    wire.faults = Faults { loss: 100, ..Faults::NONE };
    wire.run_for(Duration::from_secs(31));
    for end in &mut wire.ends {
        let Received::End(error) = end.receive() else { panic!("still alive") };
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    }
}

#[test]
fn a_close_that_nobody_answers_fails_and_one_that_only_lacks_the_last_word_does_not() {
    let mut wire = Wire::new(1, Faults { loss: 100, ..Faults::NONE });
    wire.ends[0].send(message(0, 8));
    wire.ends[0].close();
    wire.run_for(Duration::from_secs(31));
    assert_eq!(wire.ends[0].closed().unwrap().unwrap_err().kind(), ErrorKind::TimedOut);

    let mut wire = Wire::new(1, Faults::NONE);
    wire.ends[0].send(message(0, 8));
    wire.run_for(Duration::from_secs(1));
    wire.ends[0].close();
    wire.faults = Faults { loss: 100, ..Faults::NONE };
    wire.run_until(|ends| ends[0].closed().is_some());
    assert!(wire.ends[0].closed().unwrap().is_ok());
}
