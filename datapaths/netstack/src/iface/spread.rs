//! The queue of a port that a frame belongs to: receive-side scaling, by the port or in software.

use super::Flow;
use super::toeplitz::{REPEATED, symmetric};
use crate::wire::ethernet::{EtherType, EthernetHeader};
use crate::wire::ipv4::Ipv4Header;
use crate::wire::ipv6::Ipv6Header;
use crate::wire::{IpProtocol, icmpv4, icmpv6};
use std::net::IpAddr;

/// Number of entries of the table, if the port has no table of its own.
const ENTRIES: usize = 128;

/// The assignment of an interface's flows to queues: the Toeplitz hash of addresses and ports is the index of
/// a table, whose entries name the queues in turn.
///
/// A port that hashes with this key and table puts the datagrams of a flow into the queue that is computed
/// here; for any other port, the polling thread hands them over. The key is symmetric: both ends of a flow
/// compute the same queue if their numbers of queues are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    queues: usize,
    entries: usize,
}

/// The queue where a frame is to be received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// The queue with this number: the frame is a datagram.
    Queue(usize),
    /// The first queue: the frame belongs to a protocol whose flows are not spread.
    First,
    /// The queue in which the frame arrived. All other queues have to overhear the frame, since it is about
    /// neighbours, paths or flows.
    All,
    /// The queue in which the frame arrived.
    Here,
}

impl Spread {
    /// Creates a spread over at least one queue, by a table of `entries` entries; 0 if the port has no table.
    pub fn new(queues: usize, entries: usize) -> Self {
        Self { queues: queues.max(1), entries: if entries == 0 { ENTRIES } else { entries } }
    }

    /// Returns the number of queues.
    pub fn queues(&self) -> usize {
        self.queues
    }

    /// Returns the key for a port that wants `len` bytes.
    pub fn key(len: usize) -> impl Iterator<Item = u8> {
        REPEATED.to_be_bytes().into_iter().cycle().take(len)
    }

    /// Returns the queue that the table's entry with this number names.
    fn entry(&self, number: usize) -> usize {
        number % self.entries % self.queues
    }

    /// Returns the queue of a flow's datagrams, in both directions. `own` is this interface's address of the
    /// peer's family.
    #[inline]
    pub fn queue_of(&self, flow: Flow, own: IpAddr) -> usize {
        // IPv4 addresses are mapped into IPv6 here, all with equal words in front, which cancel out.
        let own = Flow::between(own, 0, 0);
        self.entry(symmetric(flow.folded() ^ own.folded()) as usize)
    }

    /// Returns the destination of a frame. Nothing in the frame is verified: the queue's
    /// [`Stack`](crate::Stack) does so.
    #[inline]
    pub fn destination(&self, frame: &[u8]) -> Destination {
        let Some((link, at)) = EthernetHeader::parse(frame) else { return Destination::Here };
        let packet = &frame[at..];
        let (protocol, payload, source, own): (_, _, IpAddr, IpAddr) = match link.ethertype {
            EtherType::ARP => return Destination::All,
            EtherType::IPV4 => match Ipv4Header::parse(packet, true) {
                Ok(it) => (it.protocol, &packet[it.payload()], it.source.into(), it.destination.into()),
                Err(_) => return Destination::Here,
            },
            EtherType::IPV6 => match Ipv6Header::parse(packet) {
                Ok(it) => (it.protocol, &packet[it.payload()], it.source.into(), it.destination.into()),
                Err(_) => return Destination::Here,
            },
            _ => return Destination::Here,
        };
        match (protocol, payload) {
            (IpProtocol::UDP, &[s0, s1, d0, d1, ..]) => {
                let [peer_port, local_port] = [[s0, s1], [d0, d1]].map(u16::from_be_bytes);
                Destination::Queue(self.queue_of(Flow::between(source, peer_port, local_port), own))
            }
            (IpProtocol::ICMP, &[icmpv4::ECHO_REQUEST, ..])
            | (IpProtocol::ICMPV6, &[icmpv6::ECHO_REQUEST, ..])
            | (IpProtocol::UDP, _) => Destination::Here,
            (IpProtocol::ICMP | IpProtocol::ICMPV6, _) => Destination::All,
            _ => Destination::First,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iface::toeplitz::toeplitz;
    use crate::tests::{address, stack, transmits};
    use crate::{Checksums, Route};
    use std::time::Instant;

    fn hashed(parts: &[&[u8]]) -> usize {
        toeplitz(&Spread::key(40).collect::<Vec<_>>(), &parts.concat()) as usize
    }

    #[test]
    fn a_flow_is_in_the_queue_that_a_port_would_choose() {
        let spread = Spread::new(3, 512);
        let flow = Flow::new("10.0.0.2:4660".parse().unwrap(), 50_000);
        let hash = hashed(&[&[10, 0, 0, 2, 10, 0, 0, 1], &[0x12, 0x34], &50_000_u16.to_be_bytes()]);
        assert_eq!(spread.queue_of(flow, [10, 0, 0, 1].into()), hash % 512 % 3);
        let [peer, own]: [std::net::Ipv6Addr; 2] =
            ["2001:db8::5:6", "fd00:1::77"].map(|ip| ip.parse().unwrap());
        let flow = Flow::new((peer, 4660).into(), 50_000);
        let ports = [[0x12, 0x34], 50_000_u16.to_be_bytes()].concat();
        let hash = hashed(&[&peer.octets(), &own.octets(), &ports]);
        assert_eq!(spread.queue_of(flow, own.into()), hash % 512 % 3);
    }

    #[test]
    fn both_ends_of_a_flow_find_the_same_queue() {
        let spread = Spread::new(7, 0);
        for v6 in [false, true] {
            for port in 1..1000 {
                let [ours, theirs] = [address(0, v6, port), address(1, v6, 9)];
                let here = spread.queue_of(Flow::new(theirs, port), ours.ip());
                assert_eq!(here, spread.queue_of(Flow::new(ours, 9), theirs.ip()), "{port}");
            }
        }
    }

    #[test]
    fn ephemeral_ports_reach_all_queues_alike() {
        for queues in [2, 3, 4, 8, 16, 64] {
            let (spread, mut found) = (Spread::new(queues, 0), vec![0; queues]);
            for port in 49_152..=65_535 {
                found[spread.queue_of(Flow::new(address(1, false, 9), port), [10, 0, 0, 1].into())] += 1;
            }
            let fair = 16_384 / queues;
            assert!(found.iter().all(|&count| count > fair / 2 && count < fair * 2), "{found:?}");
        }
    }

    #[test]
    fn frames_go_where_they_belong() {
        let (now, spread) = (Instant::now(), Spread::new(4, 0));
        for (v6, vlan) in [(false, None), (true, None), (false, Some(7))] {
            let mut stacks = [stack(0, vlan, now), stack(1, vlan, now)];
            let flow = Flow::new(address(1, v6, 9), 4000);
            let _ = stacks[0].route(flow, now);
            for (from, to) in [(0, 1), (1, 0)] {
                for mut frame in transmits(&mut stacks[from]) {
                    assert_eq!(spread.destination(&frame), Destination::All);
                    stacks[to].receive(&mut frame, Checksums::Unknown, now);
                }
            }
            let Route::Ready(path) = stacks[0].route(flow, now) else { panic!("no answer") };
            let mut frame = vec![1; path.len() + 20];
            path.seal(&mut frame);
            let queue = spread.queue_of(flow, address(0, v6, 0).ip());
            assert_eq!(spread.destination(&frame), Destination::Queue(queue));
            stacks[1].receive(&mut frame, Checksums::Unknown, now);
            stacks[1].refuse(&frame, now);
            let [error] = &transmits(&mut stacks[1])[..] else { panic!("one error") };
            assert_eq!(spread.destination(error), Destination::All);
            // The frames belong to another protocol, are cut short, or have no protocol.
            let protocol = path.len() - 8 - if v6 { 34 } else { 11 };
            let mut other = frame.clone();
            other[protocol] = 6;
            assert_eq!(spread.destination(&other), Destination::First);
            assert_eq!(spread.destination(&frame[..30]), Destination::Here);
            assert_eq!(spread.destination(&[]), Destination::Here);
        }
    }
}
