//! Refusals of frames, and the consequences of refusals by other hosts.

use super::crafted::{THEM, icmp, ipv4};
use super::judge::segment;
use super::{MACS, address, stack, transmits};
use crate::{Arrival, Checksums, Flow};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{EthernetFrame, Ipv4Packet, Ipv6Packet, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber};
use std::time::Instant;

#[test]
fn an_unknown_protocol_is_unreachable() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    let mut frame = ipv4(THEM, 99, &[1; 30]);
    assert_eq!(ours.receive(&mut frame, Checksums::Unknown, now), Arrival::Nothing);
    let [error] = &transmits(&mut ours)[..] else { panic!("one error") };
    assert_eq!((&error[..6], &error[34..36]), (&MACS[1].0[..], &[3, 2][..]));
    assert_eq!(error[42..], frame[14..42]);
    for _ in 0..1000 {
        ours.receive(&mut frame, Checksums::Unknown, now);
    }
    let counted = ours.counters().outbox_full;
    assert!(counted < 100, "at most a hundred are written at all: {counted}");
}

/// Returns an ICMP error about a datagram of the first stack.
fn error(kind: u8, code: u8) -> Vec<u8> {
    let quoted =
        [0x45, 0, 0, 40, 0, 0, 0, 0, 63, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x0f, 0xa0, 0, 9, 0, 20, 0, 0];
    ipv4(THEM, 1, &icmp(&[&[kind, code, 0, 0, 0, 0, 0, 0][..], &quoted].concat()))
}

#[test]
fn only_the_hosts_own_refusals_are_final() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    let flow = Flow::new(address(1, false, 9), 4000);
    for code in 0..16 {
        let arrival = ours.receive(&mut error(3, code), Checksums::Unknown, now);
        match code {
            2 | 3 => assert_eq!(arrival, Arrival::Refused(flow), "{code}"),
            4 => assert!(matches!(arrival, Arrival::TooBig { .. })),
            _ => assert_eq!(arrival, Arrival::Unreachable(flow), "{code}"),
        }
    }
    assert_eq!(ours.counters().errors, 16);
}

#[test]
fn segments_that_nobody_takes_are_reset_as_the_rfc_has_it() {
    let now = Instant::now();
    for v6 in [false, true] {
        let mut ours = stack(0, None, now);
        let mut reset = |control: TcpControl, ack: bool, payload: &[u8]| {
            let mut frame = segment(v6, [4000, 9], control, ack, payload);
            let arrival = ours.receive(&mut frame, Checksums::Unknown, now);
            assert!(matches!(arrival, Arrival::Segment { .. }));
            ours.refuse(&frame, now);
            let frames = transmits(&mut ours);
            frames.first().map(|frame| {
                let link = EthernetFrame::new_checked(&frame[..]).unwrap();
                assert_eq!(link.dst_addr().0, MACS[1].0);
                let segment = if v6 {
                    Ipv6Packet::new_checked(link.payload()).unwrap().payload().to_vec()
                } else {
                    let packet = Ipv4Packet::new_checked(link.payload()).unwrap();
                    assert!(packet.verify_checksum());
                    packet.payload().to_vec()
                };
                let [from, to] = [0, 1].map(|number| address(number, v6, 0).ip().into());
                let packet = TcpPacket::new_checked(&segment[..]).unwrap();
                let repr = TcpRepr::parse(&packet, &from, &to, &ChecksumCapabilities::default()).unwrap();
                assert_eq!((repr.src_port, repr.dst_port, repr.control), (9, 4000, TcpControl::Rst));
                (repr.seq_number, repr.ack_number)
            })
        };
        // The crafted segments have the sequence number 7, and acknowledge 9.
        let zero = TcpSeqNumber(0);
        assert_eq!(reset(TcpControl::Syn, false, b""), Some((zero, Some(TcpSeqNumber(8)))));
        assert_eq!(reset(TcpControl::Fin, false, b"abc"), Some((zero, Some(TcpSeqNumber(11)))));
        assert_eq!(reset(TcpControl::None, true, b"abc"), Some((TcpSeqNumber(9), None)));
        assert_eq!(reset(TcpControl::Rst, true, b""), None);
        let sent = (0..1000).filter(|_| reset(TcpControl::Syn, false, b"").is_some()).count();
        assert_eq!(sent, 97, "a hundred in a second");
    }
}
