//! Arbitrary packets and messages at both boxes of a bundle.

use bertha_bundle::{Bundle, Header, Receivebox, Scheduling, Sendbox};
use std::time::Duration;

const KEY: u64 = 7;

/// Largest number of bytes that wait at the sendbox.
const BUFFER: u64 = 10_000;

/// The rate of the sendbox, in bytes per second.
const RATE: u64 = 1_000_000;

/// Passes pieces of the bytes, each behind its length in two bytes, to both boxes, as messages and as packets. A piece whose length is
/// greater than the number of bytes left gets the rest. The boxes hear each other's messages as well.
pub fn pieces(bytes: &[u8]) {
    let bundle = Bundle { scheduling: Scheduling::FairAmongFlows, buffer: BUFFER, key: KEY };
    let (mut sendbox, mut receivebox) = (Sendbox::new(bundle), Receivebox::new(KEY, 1));
    let mut now = Duration::ZERO;
    sendbox.set_rate(now, Some(RATE));
    let (mut taken, mut left, mut dropped) = (0, 0, 0);
    let mut rest = bytes;
    while let Some((len, behind)) = rest.split_first_chunk::<2>() {
        let (piece, behind) = behind.split_at(usize::from(u16::from_be_bytes(*len)).min(behind.len()));
        rest = behind;
        now += Duration::from_micros(piece.len() as u64);
        // Pieces that are messages need the key, which a fuzzer may find: no more is asked than that the boxes go on.
        let _ = (sendbox.on_message(now, piece), receivebox.on_message(piece));
        if let Ok(header) = Header::parse(piece) {
            taken += 1;
            dropped += sendbox.push(&header, header);
        }
        while let Some(header) = sendbox.pop(now) {
            left += 1;
            if let Some(message) = receivebox.on_packet(now, &header) {
                sendbox.on_message(now, &message).expect("a message of the receivebox");
            }
        }
        if let Some(message) = sendbox.take_message(now) {
            receivebox.on_message(message.as_ref()).expect("a message of the sendbox");
        }
        assert!(sendbox.statistics().waiting <= BUFFER, "{:?}", sendbox.statistics());
        assert!(sendbox.next_at().is_none_or(|at| at > now), "a packet may leave, and stays");
    }
    while let Some(at) = sendbox.next_at() {
        left += usize::from(sendbox.pop(at).is_some());
    }
    assert_eq!(taken, left + dropped, "a packet is lost or doubled");
}

/// Returns packets of two flows of IPv4 and a packet of IPv6.
pub fn good_packets() -> Vec<u8> {
    let mut pieces = Vec::new();
    let mut add = |packet: &[u8]| {
        pieces.extend((packet.len() as u16).to_be_bytes());
        pieces.extend(packet);
    };
    for number in 0..64 {
        let (port, identification) = (80 + number % 2, 3 * number);
        let mut packet =
            vec![0x45, 0, 0, 40, 0, identification, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 1, 0, 2];
        packet.extend([0x12, 0x34, 0, port]);
        add(&packet);
    }
    add(&[&[0x60, 0, 0, 0, 0, 20, 17, 64][..], &[1; 32], &[0x12, 0x34, 0, 80]].concat());
    pieces
}
