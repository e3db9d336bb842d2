//! Frames of this stack before smoltcp's parser, and frames of smoltcp before this stack.

use super::{MACS, address, stack, transmits};
use crate::{Arrival, Checksums, Flow, Route};
use proptest::prelude::*;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol, EthernetRepr,
    Icmpv4Message, Icmpv4Packet, Icmpv4Repr, Icmpv6Packet, Icmpv6Repr, IpProtocol, Ipv4Packet, Ipv4Repr,
    Ipv6Packet, Ipv6Repr, NdiscRepr, RawHardwareAddress, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber,
    UdpPacket, UdpRepr,
};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Instant;

const US: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THEM: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const US6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
const THEM6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);

fn mac(number: usize) -> EthernetAddress {
    EthernetAddress(MACS[number].0)
}

/// Returns a frame of smoltcp from the second stack's address, with the payload that `emit` writes.
fn frame(
    to: EthernetAddress,
    ethertype: EthernetProtocol,
    len: usize,
    emit: impl FnOnce(&mut [u8]),
) -> Vec<u8> {
    let repr = EthernetRepr { src_addr: mac(1), dst_addr: to, ethertype };
    let mut bytes = vec![0; repr.buffer_len() + len];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes[..]);
    repr.emit(&mut frame);
    emit(frame.payload_mut());
    bytes
}

fn ipv4(protocol: IpProtocol, len: usize, emit: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let repr =
        Ipv4Repr { src_addr: THEM, dst_addr: US, next_header: protocol, payload_len: len, hop_limit: 9 };
    frame(mac(0), EthernetProtocol::Ipv4, repr.buffer_len() + len, |bytes| {
        let mut packet = Ipv4Packet::new_unchecked(bytes);
        repr.emit(&mut packet, &ChecksumCapabilities::default());
        emit(packet.payload_mut());
    })
}

fn ipv6(to: Ipv6Addr, protocol: IpProtocol, hops: u8, len: usize, emit: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let repr =
        Ipv6Repr { src_addr: THEM6, dst_addr: to, next_header: protocol, payload_len: len, hop_limit: hops };
    frame(mac(0), EthernetProtocol::Ipv6, repr.buffer_len() + len, |bytes| {
        let mut packet = Ipv6Packet::new_unchecked(bytes);
        repr.emit(&mut packet);
        emit(packet.payload_mut());
    })
}

/// Returns a segment from the second stack's address to the first stack's.
pub(super) fn segment(v6: bool, ports: [u16; 2], control: TcpControl, ack: bool, payload: &[u8]) -> Vec<u8> {
    let repr = TcpRepr {
        src_port: ports[0],
        dst_port: ports[1],
        control,
        seq_number: TcpSeqNumber(7),
        ack_number: ack.then_some(TcpSeqNumber(9)),
        window_len: 1000,
        window_scale: None,
        max_seg_size: (control == TcpControl::Syn).then_some(1460),
        sack_permitted: false,
        sack_ranges: [None; 3],
        timestamp: None,
        payload,
    };
    let emit = |bytes: &mut [u8]| {
        repr.emit(
            &mut TcpPacket::new_unchecked(bytes),
            &address(1, v6, 0).ip().into(),
            &address(0, v6, 0).ip().into(),
            &ChecksumCapabilities::default(),
        );
    };
    let len = repr.buffer_len();
    if v6 { ipv6(US6, IpProtocol::Tcp, 9, len, emit) } else { ipv4(IpProtocol::Tcp, len, emit) }
}

proptest! {
    #[test]
    fn segments_are_handed_out_whole_and_damage_is_noticed(
        payload in prop::collection::vec(any::<u8>(), 0..1400),
        ports in any::<[u16; 2]>().prop_filter("a port is not zero", |ports| ports.iter().all(|port| *port != 0)),
        v6 in any::<bool>(),
        control in prop::sample::select(vec![TcpControl::None, TcpControl::Syn, TcpControl::Fin, TcpControl::Rst]),
        ack in any::<bool>(),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let now = Instant::now();
        let mut ours = stack(0, None, now);
        let mut theirs = segment(v6, ports, control, ack, &payload);
        let whole = theirs.clone();
        let expected = Arrival::Segment {
            flow: Flow::new(address(1, v6, ports[0]), ports[1]),
            packet: 14..whole.len(),
            opens: control == TcpControl::Syn && !ack,
        };
        prop_assert_eq!(ours.receive(&mut theirs, Checksums::Unknown, now), expected.clone());
        prop_assert_eq!(&theirs, &whole);
        // Padding does not belong to the packet.
        theirs.extend([0; 7]);
        prop_assert_eq!(ours.receive(&mut theirs, Checksums::Good, now), expected);
        // The bytes lie behind the IP header, which for IPv6 has no checksum.
        let behind = 14 + if v6 { 40 } else { 20 };
        theirs.truncate(whole.len());
        theirs[behind + at.index(whole.len() - behind)] ^= 1_u8 << bit;
        prop_assert_eq!(ours.receive(&mut theirs, Checksums::Unknown, now), Arrival::Nothing);
    }

    #[test]
    fn datagrams_of_either_are_the_others(
        payload in prop::collection::vec(any::<u8>(), 0..1400),
        ports in any::<[u16; 2]>().prop_filter("a port is not zero", |ports| ports.iter().all(|port| *port != 0)),
        v6 in any::<bool>(),
    ) {
        let now = Instant::now();
        let mut ours = stack(0, None, now);
        // The datagram is smoltcp's.
        let repr = UdpRepr { src_port: ports[0], dst_port: ports[1] };
        let emit = |bytes: &mut [u8]| repr.emit(
            &mut UdpPacket::new_unchecked(bytes),
            &address(1, v6, 0).ip().into(),
            &address(0, v6, 0).ip().into(),
            payload.len(),
            |buffer| buffer.copy_from_slice(&payload),
            &ChecksumCapabilities::default(),
        );
        let len = 8 + payload.len();
        let mut theirs =
            if v6 { ipv6(US6, IpProtocol::Udp, 9, len, emit) } else { ipv4(IpProtocol::Udp, len, emit) };
        let arrival = ours.receive(&mut theirs, Checksums::Unknown, now);
        let Arrival::Datagram { flow, payload: at } = arrival else { panic!("{arrival:?}") };
        prop_assert_eq!(flow, Flow::new(address(1, v6, ports[0]), ports[1]));
        prop_assert_eq!(&theirs[at], &payload[..]);
        // The datagram is this stack's.
        let mut both = [ours, stack(1, None, now)];
        prop_assert!(matches!(both[0].route(flow, now), Route::Resolving));
        for mut request in transmits(&mut both[0]) {
            both[1].receive(&mut request, Checksums::Unknown, now);
        }
        for mut reply in transmits(&mut both[1]) {
            both[0].receive(&mut reply, Checksums::Unknown, now);
        }
        let Route::Ready(path) = both[0].route(flow, now) else { panic!("no answer") };
        let mut bytes = [&vec![0; path.len()], &payload[..]].concat();
        path.seal(&mut bytes);
        let link = EthernetFrame::new_checked(&bytes[..]).unwrap();
        prop_assert_eq!((link.src_addr(), link.dst_addr()), (mac(0), mac(1)));
        let capabilities = ChecksumCapabilities::default();
        let datagram = if v6 {
            let packet = Ipv6Packet::new_checked(link.payload()).unwrap();
            let header = Ipv6Repr::parse(&packet).unwrap();
            prop_assert_eq!((header.src_addr, header.dst_addr), (US6, THEM6));
            packet.payload().to_vec()
        } else {
            let packet = Ipv4Packet::new_checked(link.payload()).unwrap();
            let header = Ipv4Repr::parse(&packet, &capabilities).unwrap();
            prop_assert_eq!((header.src_addr, header.dst_addr), (US, THEM));
            packet.payload().to_vec()
        };
        let packet = UdpPacket::new_checked(&datagram[..]).unwrap();
        let (from, to) = (address(0, v6, 0).ip().into(), address(1, v6, 0).ip().into());
        let header = UdpRepr::parse(&packet, &from, &to, &capabilities).unwrap();
        prop_assert_eq!((header.src_port, header.dst_port), (ports[1], ports[0]));
        prop_assert_eq!(packet.payload(), &payload[..]);
    }

    #[test]
    fn echo_requests_are_answered(data in prop::collection::vec(any::<u8>(), 0..1400), ident: u16, seq_no: u16) {
        let now = Instant::now();
        let mut ours = stack(0, None, now);
        let capabilities = ChecksumCapabilities::default();
        let request = Icmpv4Repr::EchoRequest { ident, seq_no, data: &data };
        let mut bytes = ipv4(IpProtocol::Icmp, request.buffer_len(), |bytes| {
            request.emit(&mut Icmpv4Packet::new_unchecked(bytes), &capabilities);
        });
        let Arrival::Reply(len) = ours.receive(&mut bytes, Checksums::Unknown, now) else { panic!() };
        let link = EthernetFrame::new_checked(&bytes[..len]).unwrap();
        prop_assert_eq!((link.src_addr(), link.dst_addr()), (mac(0), mac(1)));
        let packet = Ipv4Packet::new_checked(link.payload()).unwrap();
        let header = Ipv4Repr::parse(&packet, &capabilities).unwrap();
        prop_assert_eq!((header.src_addr, header.dst_addr), (US, THEM));
        let answer = Icmpv4Packet::new_checked(packet.payload()).unwrap();
        let answer = Icmpv4Repr::parse(&answer, &capabilities).unwrap();
        prop_assert_eq!(answer, Icmpv4Repr::EchoReply { ident, seq_no, data: &data });

        let request = Icmpv6Repr::EchoRequest { ident, seq_no, data: &data };
        let mut bytes = ipv6(US6, IpProtocol::Icmpv6, 9, request.buffer_len(), |bytes| {
            request.emit(&THEM6, &US6, &mut Icmpv6Packet::new_unchecked(bytes), &capabilities);
        });
        let Arrival::Reply(len) = ours.receive(&mut bytes, Checksums::Unknown, now) else { panic!() };
        let link = EthernetFrame::new_checked(&bytes[..len]).unwrap();
        let packet = Ipv6Packet::new_checked(link.payload()).unwrap();
        prop_assert_eq!((packet.src_addr(), packet.dst_addr()), (US6, THEM6));
        let answer = Icmpv6Packet::new_checked(packet.payload()).unwrap();
        let answer = Icmpv6Repr::parse(&US6, &THEM6, &answer, &capabilities).unwrap();
        prop_assert_eq!(answer, Icmpv6Repr::EchoReply { ident, seq_no, data: &data });
        prop_assert_eq!(ours.counters().pings, 2);
    }
}

#[test]
fn arp_goes_both_ways() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    let request = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Request,
        source_hardware_addr: mac(1),
        source_protocol_addr: THEM,
        target_hardware_addr: EthernetAddress([0; 6]),
        target_protocol_addr: US,
    };
    let mut bytes = frame(EthernetAddress::BROADCAST, EthernetProtocol::Arp, request.buffer_len(), |bytes| {
        request.emit(&mut ArpPacket::new_unchecked(bytes));
    });
    assert_eq!(ours.receive(&mut bytes, Checksums::Unknown, now), Arrival::Nothing);
    let [reply] = &transmits(&mut ours)[..] else { panic!("one reply") };
    let link = EthernetFrame::new_checked(&reply[..]).unwrap();
    let reply = ArpRepr::parse(&ArpPacket::new_checked(link.payload()).unwrap()).unwrap();
    let expected = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Reply,
        source_hardware_addr: mac(0),
        source_protocol_addr: US,
        target_hardware_addr: mac(1),
        target_protocol_addr: THEM,
    };
    assert_eq!((link.dst_addr(), reply), (mac(1), expected));
}

#[test]
fn neighbour_discovery_goes_both_ways() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 1);
    let capabilities = ChecksumCapabilities::default();
    let solicitation = Icmpv6Repr::Ndisc(NdiscRepr::NeighborSolicit {
        target_addr: US6,
        lladdr: Some(RawHardwareAddress::from_bytes(&MACS[1].0)),
    });
    let mut bytes = ipv6(group, IpProtocol::Icmpv6, 255, solicitation.buffer_len(), |bytes| {
        solicitation.emit(&THEM6, &group, &mut Icmpv6Packet::new_unchecked(bytes), &capabilities);
    });
    bytes[..6].copy_from_slice(&[0x33, 0x33, 0xff, 0, 0, 1]);
    let mut far = bytes.clone();
    assert_eq!(ours.receive(&mut bytes, Checksums::Unknown, now), Arrival::Nothing);
    let [answer] = &transmits(&mut ours)[..] else { panic!("one advertisement") };
    let link = EthernetFrame::new_checked(&answer[..]).unwrap();
    let packet = Ipv6Packet::new_checked(link.payload()).unwrap();
    assert_eq!((link.dst_addr(), packet.hop_limit()), (mac(1), 255));
    let message = Icmpv6Packet::new_checked(packet.payload()).unwrap();
    let message = Icmpv6Repr::parse(&US6, &THEM6, &message, &capabilities).unwrap();
    let Icmpv6Repr::Ndisc(NdiscRepr::NeighborAdvert { target_addr, lladdr, .. }) = message else { panic!() };
    assert_eq!((target_addr, lladdr), (US6, Some(RawHardwareAddress::from_bytes(&MACS[0].0))));
    // The frame comes from behind a router.
    far[14 + 7] = 254;
    ours.receive(&mut far, Checksums::Unknown, now);
    assert!(transmits(&mut ours).is_empty());
}

#[test]
fn a_closed_port_is_told_as_the_rfc_has_it() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    let repr = UdpRepr { src_port: 7, dst_port: 9 };
    let mut bytes = ipv4(IpProtocol::Udp, 8 + 50, |bytes| {
        repr.emit(
            &mut UdpPacket::new_unchecked(bytes),
            &THEM.into(),
            &US.into(),
            50,
            |payload| payload.fill(5),
            &ChecksumCapabilities::default(),
        );
    });
    assert!(matches!(ours.receive(&mut bytes, Checksums::Unknown, now), Arrival::Datagram { .. }));
    ours.refuse(&bytes, now);
    let [error] = &transmits(&mut ours)[..] else { panic!("one error") };
    let link = EthernetFrame::new_checked(&error[..]).unwrap();
    let packet = Ipv4Packet::new_checked(link.payload()).unwrap();
    assert!(packet.verify_checksum());
    let message = Icmpv4Packet::new_checked(packet.payload()).unwrap();
    assert_eq!((message.msg_type(), message.msg_code()), (Icmpv4Message::DstUnreachable, 3));
    assert!(message.verify_checksum());
    assert_eq!(message.data(), &bytes[14..14 + 28]);
}

#[test]
fn a_packet_that_was_too_big_is_found_in_what_smoltcp_says() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    let capabilities = ChecksumCapabilities::default();
    let header = Ipv6Repr {
        src_addr: US6,
        dst_addr: THEM6,
        next_header: IpProtocol::Udp,
        payload_len: 1400,
        hop_limit: 64,
    };
    let data =
        [&4000_u16.to_be_bytes()[..], &9_u16.to_be_bytes(), &1400_u16.to_be_bytes(), &[0; 40]].concat();
    let message = Icmpv6Repr::PktTooBig { mtu: 1320, header, data: &data };
    let mut bytes = ipv6(US6, IpProtocol::Icmpv6, 9, message.buffer_len(), |bytes| {
        message.emit(&THEM6, &US6, &mut Icmpv6Packet::new_unchecked(bytes), &capabilities);
    });
    let flow = Flow::new(address(1, true, 9), 4000);
    let arrival = ours.receive(&mut bytes, Checksums::Unknown, now);
    assert_eq!(arrival, Arrival::TooBig { flow, mtu: 1320 });
}
