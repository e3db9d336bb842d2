//! The values that a connection reports and computes with.

use super::super::timers::Timer;
use super::*;
use crate::reliable::wire::{Acknowledgement, Draft, Ranges, write};

fn machine_at(window: u64) -> Machine {
    Machine::new(settings(), |packet| FixedWindow(window).start(packet), Check::Crc, 1400, 1)
}

fn failure() -> Error {
    Error::new(ErrorKind::Closed, "no socket")
}

fn send_all(machine: &mut Machine, now: Duration) -> usize {
    std::iter::from_fn(|| machine.poll_packet(now, |len| Buf::new(len, 0))).count()
}

/// Hands `machine` the acknowledgement of a packet.
fn acknowledge(machine: &mut Machine, number: u64, now: Duration) {
    let mut ranges = Ranges::NONE;
    ranges.insert(number);
    let ack = Some(Acknowledgement { delay_us: 0, ranges });
    let draft = Draft { ack, ..Draft::default() };
    let mut packet = Buf::new(machine.check.len() + draft.size(), 0).unwrap();
    write(&draft, [].into_iter(), machine.check, &mut packet);
    machine.handle_packet(packet, now);
}

#[test]
fn the_pace_allows_two_packets_or_two_milliseconds_at_once() {
    assert_eq!(pace(0, 1_000), token_bucket::Rate { per_second: 0, burst: 2_000 });
    assert_eq!(pace(1_000_000, 1_000), token_bucket::Rate { per_second: 1_000_000, burst: 2_000 });
    assert_eq!(pace(10_000_000, 1_000), token_bucket::Rate { per_second: 10_000_000, burst: 20_000 });
}

#[test]
fn without_a_rate_of_its_own_a_window_is_paced_over_four_fifths_of_a_round_trip() {
    let mut machine = Machine::new(settings(), |packet| NewReno.start(packet), Check::Crc, 1400, 1);
    machine.recovery.rtt.sample(100 * MS, Duration::ZERO, MS);
    assert_eq!(machine.pacing_rate(), machine.congestion.window() * 10 * 5 / 4);
}

#[test]
fn statistics_count_what_happened() {
    let mut machine = machine_at(100_000);
    (0..5).for_each(|number| machine.send(message(number, 1_100)));
    assert_eq!(send_all(&mut machine, MS), 5);
    let before = machine.statistics();
    assert_eq!((before.packets_sent, before.packets_received, before.packets_lost), (5, 0, 0));
    assert!((5_500..6_000).contains(&before.bytes_in_flight), "{before:?}");
    assert_eq!((before.window, before.rate, before.packets_marked), (100_000, u64::MAX, 0));
    acknowledge(&mut machine, 4, 21 * MS);
    machine.handle_packet(Buf::copy_of(&[1, 2, 3], 0).unwrap(), 22 * MS);
    let after = machine.statistics();
    assert_eq!((after.packets_received, after.damaged, machine.damaged.get()), (1, 1, 1));
    // The last packet is acknowledged, and two packets are three numbers before it or more.
    assert_eq!((after.packets_lost, after.rtt), (2, 20 * MS));
    assert_eq!(after.bytes_in_flight, before.bytes_in_flight / 5 * 2);
}

/// An acknowledgement is due, and the longest messages leave no space for it.
#[test]
fn a_packet_counts_as_in_flight_whether_or_not_an_acknowledgement_fits_into_it() {
    for length in 1_380..=1_391 {
        let mut machine = machine_at(100_000);
        let draft = Draft { number: Some(0), first: Some(0), ..Draft::default() };
        let mut packet = Buf::new(machine.check.len() + draft.size() + 1 + 5, 0).unwrap();
        write(&draft, [&b"hello"[..]].into_iter(), machine.check, &mut packet);
        machine.handle_packet(packet, MS);
        machine.send(message(0, length));
        send_all(&mut machine, MS);
        let in_flight = machine.statistics().bytes_in_flight;
        assert!(in_flight > length as u64, "{in_flight} bytes of {length}");
    }
}

#[test]
fn messages_that_come_again_are_counted_and_come_once() {
    let mut machine = machine_at(100_000);
    for number in 0..3 {
        let draft = Draft { number: Some(number), first: Some(0), ..Draft::default() };
        let mut packet = Buf::new(machine.check.len() + draft.size() + 1 + 5, 0).unwrap();
        write(&draft, [&b"hello"[..]].into_iter(), machine.check, &mut packet);
        machine.handle_packet(packet, MS);
    }
    assert!(matches!(machine.receive(), Received::Message(message) if message[..] == *b"hello"));
    assert!(matches!(machine.receive(), Received::Nothing));
    assert_eq!((machine.repeated.get(), machine.statistics().duplicates), (2, 2));
    machine.close();
    machine.count_after_end(DropCounter::default());
    machine.fail(ErrorKind::TimedOut, "over".into());
    let counter = DropCounter::default();
    machine.count_after_end(counter.clone());
    machine.handle_packet(Buf::copy_of(&[1, 2, 3], 0).unwrap(), MS);
    assert_eq!(counter.get(), 1);
}

#[test]
fn a_connection_is_drained_once_all_is_acknowledged_and_not_after_a_failure() {
    let mut machine = machine_at(100_000);
    assert!(machine.is_drained().unwrap() && !machine.is_over());
    machine.send(message(0, 8));
    assert!(!machine.is_drained().unwrap());
    assert_eq!(send_all(&mut machine, MS), 1);
    acknowledge(&mut machine, 0, 2 * MS);
    assert!(machine.is_drained().unwrap());
    machine.on_base_end(&failure());
    assert_eq!(machine.is_drained().unwrap_err().context(), "no socket");
    assert!(machine.is_over() && machine.closed().unwrap().is_err());
}

#[test]
fn the_end_of_the_connection_below_completes_a_close_that_lacks_nothing_else() {
    for (closes, is_acknowledged, is_done) in [(true, true, true), (true, false, false), (false, true, false)]
    {
        let mut machine = machine_at(100_000);
        machine.send(message(0, 8));
        send_all(&mut machine, MS);
        if is_acknowledged {
            acknowledge(&mut machine, 0, 2 * MS);
        }
        if closes {
            machine.close();
            assert!(machine.closed().is_none());
        }
        machine.on_base_end(&failure());
        assert_eq!(machine.closed().unwrap().is_ok(), is_done, "{closes} {is_acknowledged}");
    }
}

/// Handles the close of a peer that has sent nothing.
fn peer_closes(machine: &mut Machine) {
    let draft = Draft { number: Some(0), last: Some(0), ..Draft::default() };
    let mut packet = Buf::new(machine.check.len() + draft.size(), 0).unwrap();
    write(&draft, [].into_iter(), machine.check, &mut packet);
    machine.handle_packet(packet, MS);
}

#[test]
fn a_close_behind_that_of_the_peer_fails_only_if_messages_are_missing() {
    let left = failure;
    for (sends, is_acknowledged, end, is_done) in [
        (false, false, left(), true),
        (true, true, left(), true),
        (true, false, left(), false),
        (false, false, Error::new(ErrorKind::Reset, "cut"), false),
    ] {
        let mut machine = machine_at(100_000);
        if sends {
            machine.send(message(0, 8));
            send_all(&mut machine, MS);
        }
        if is_acknowledged {
            acknowledge(&mut machine, 0, 2 * MS);
        }
        peer_closes(&mut machine);
        machine.on_base_end(&end);
        machine.close();
        assert_eq!(machine.closed().unwrap().is_ok(), is_done, "{sends} {is_acknowledged} {end}");
    }
}

#[test]
fn only_an_end_whose_peer_has_closed_parts() {
    let mut machine = machine_at(100_000);
    assert!(!machine.part());
    peer_closes(&mut machine);
    assert!(machine.part() && !machine.part());
    assert_eq!(machine.closing, Closing::Due);
}

#[test]
fn timers_expire_after_the_times_that_the_documentation_names() {
    let idle = settings().idle;
    let mut machine = machine_at(100_000);
    acknowledge(&mut machine, 0, MS);
    assert!(machine.end.is_some(), "nothing was sent");
    let mut machine = machine_at(100_000);
    assert_eq!(machine.expiry(Timer::KeepAlive), Some(idle / 3));
    assert_eq!((machine.expiry(Timer::Idle), machine.expiry(Timer::Delivery)), (Some(idle), None));
    machine.send(message(0, 8));
    send_all(&mut machine, 5 * MS);
    assert_eq!(machine.expiry(Timer::KeepAlive), None);
    assert_eq!(machine.expiry(Timer::Delivery), Some(5 * MS + idle));
    // Another message is acknowledged later, and the oldest still waits.
    machine.send(message(1, 8));
    send_all(&mut machine, 6 * MS);
    acknowledge(&mut machine, 1, 2 * idle);
    assert_eq!(machine.expiry(Timer::Delivery), Some(5 * MS + 2 * idle));
    assert_eq!(machine.expiry(Timer::Idle), Some(3 * idle));
}

#[test]
fn a_close_is_repeated_to_a_silent_peer_twelve_times_and_four_times_after_its_own() {
    for (is_peer_gone, most) in [(false, 12), (true, 4)] {
        let mut machine = machine_at(100_000);
        machine.is_peer_gone = is_peer_gone;
        machine.close();
        send_all(&mut machine, MS);
        let mut timeouts = 0;
        while machine.closed().is_none() {
            timeouts += 1;
            let now = machine.expiry(Timer::LossDetection).unwrap();
            machine.on_timeout(now);
            send_all(&mut machine, now);
        }
        assert_eq!((timeouts, machine.closing), (most + 1, Closing::Done));
    }
}
