//! Peers that break the protocol.

use super::*;
use crate::reliable::wire::{Acknowledgement, Draft, Ranges, write};

fn packet(draft: &Draft, messages: &[&[u8]]) -> Buf {
    let len =
        messages.iter().map(|message| crate::reliable::wire::size(message.len() as u64) + message.len());
    let mut packet = Buf::new(Check::Crc.len() + draft.size() + len.sum::<usize>(), 0).unwrap();
    write(draft, messages.iter().copied(), Check::Crc, &mut packet);
    packet
}

fn acknowledging(numbers: impl IntoIterator<Item = u64>) -> Draft {
    let mut ranges = Ranges::NONE;
    numbers.into_iter().for_each(|number| {
        ranges.insert(number);
    });
    Draft { ack: Some(Acknowledgement { delay_us: 0, ranges }), ..Draft::default() }
}

fn drain(machine: &mut Machine, now: Duration) -> Vec<Buf> {
    std::iter::from_fn(|| machine.poll_packet(now, |len| Buf::new(len, 0))).collect()
}

/// Returns the error of the machine after these packets, and the fault that it sends to the peer.
fn refusal(machine: &mut Machine, packets: impl IntoIterator<Item = Buf>) -> (Error, Option<Fault>) {
    for packet in packets {
        machine.handle_packet(packet, MS);
    }
    let Received::End(error) = machine.receive() else { panic!("not refused") };
    let last =
        drain(machine, MS).pop().and_then(|packet| crate::reliable::wire::decode(&packet, machine.check));
    assert!(drain(machine, MS).is_empty() && machine.next_timeout().is_none(), "it goes on");
    (error, last.and_then(|header| header.abort))
}

#[test]
fn acknowledging_what_was_not_sent() {
    let mut machine = machine(1);
    machine.send(message(0, 8));
    assert_eq!(drain(&mut machine, MS).len(), 1);
    let (error, told) = refusal(&mut machine, [packet(&acknowledging([1]), &[])]);
    assert_eq!((error.kind(), told), (ErrorKind::Malformed, Some(Fault::AcknowledgedUnsent)));
    assert_eq!(error.to_string(), "Reliable: malformed: the peer acknowledged a packet that was never sent");
}

#[test]
fn acknowledging_everything_in_advance_meets_a_number_that_was_left_out() {
    let mut machine = machine(1);
    for now in 1..200 {
        (0..60).for_each(|number| machine.send(message(number, 1100)));
        let sent = drain(&mut machine, now * 1000 * MS);
        assert!(!sent.is_empty());
        let newest = crate::reliable::wire::decode(sent.last().unwrap(), Check::Crc).unwrap().number.unwrap();
        let grant = Some(Grant { messages: 1 << 30, bytes: 1 << 40 });
        let draft = Draft { grant, ..acknowledging(0..=newest) };
        machine.handle_packet(packet(&draft, &[]), now * 1000 * MS + MS);
        if machine.end.is_some() {
            assert_eq!(machine.abort, Some(Fault::AcknowledgedUnsent));
            return;
        }
    }
    panic!("a peer that guesses was not found out");
}

#[test]
fn sending_more_than_was_granted() {
    for (first, len) in [(64, 8), (1 << 60, 8), (0, 128 * 1024 + 1)] {
        let draft = Draft { number: Some(0), first: Some(first), ..Draft::default() };
        let (error, told) = refusal(&mut machine(1), [packet(&draft, &[&vec![0; len]])]);
        assert_eq!((error.kind(), told), (ErrorKind::Malformed, Some(Fault::ExceededGrant)));
    }
}

#[test]
fn contradicting_its_own_end() {
    let end =
        |number, last| packet(&Draft { number: Some(number), last: Some(last), ..Draft::default() }, &[]);
    let (error, told) = refusal(&mut machine(1), [end(0, 3), end(1, 4)]);
    assert_eq!((error.kind(), told), (ErrorKind::Malformed, Some(Fault::ContradictedEnd)));
}

#[test]
fn talking_without_ever_acknowledging() {
    let mut machine = machine(1);
    machine.send(message(0, 8));
    let mut now = MS;
    let mut packets = 0;
    while machine.end.is_none() {
        packets += drain(&mut machine, now).len();
        let chatter = Draft { number: Some(now.as_millis() as u64), ..Draft::default() };
        machine.handle_packet(packet(&chatter, &[]), now);
        machine.on_timeout(now);
        now += 100 * MS;
        assert!(now < Duration::from_secs(60), "still trying after {packets} packets");
    }
    assert_eq!(machine.abort, Some(Fault::NeverAcknowledged));
}

/// The grant does not grow while a message is missing, so the messages behind it are bounded.
#[test]
fn a_peer_that_never_fills_a_gap_costs_one_window() {
    let mut machine = machine(1);
    let mut kept = 0;
    for number in 1..10_000_u64 {
        let draft = Draft { number: Some(number), first: Some(number), ..Draft::default() };
        machine.handle_packet(packet(&draft, &[&[0; 8]]), MS);
        if machine.end.is_some() {
            break;
        }
        kept += 1;
    }
    assert_eq!(kept, 63);
}

#[test]
fn a_peer_that_gives_up_says_why() {
    let mut machine = machine(1);
    let draft = Draft { abort: Some(Fault::ExceededGrant), ..Draft::default() };
    machine.handle_packet(packet(&draft, &[]), MS);
    let Received::End(error) = machine.receive() else { panic!("no error") };
    assert_eq!(error.kind(), ErrorKind::Reset);
    assert!(error.to_string().contains("this end sent more than it was granted"), "{error}");
}
