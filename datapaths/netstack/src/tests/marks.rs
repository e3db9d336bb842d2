//! Congestion marks.

use super::ends::{datagram, path};
use super::{address, stack};
use crate::wire::checksum::Sum;
use crate::{Arrival, Checksums, Flow, is_marked};
use std::time::Instant;

/// Offset of the IP header.
const IP: usize = 14;

#[test]
fn routers_may_mark_what_is_sent_so_and_marks_are_seen() {
    for (v6, vlan) in [(false, None), (true, None), (false, Some(7)), (true, Some(7))] {
        let now = Instant::now();
        let mut stacks = [stack(0, vlan, now), stack(1, vlan, now)];
        let path = path(&mut stacks, Flow::new(address(1, v6, 9), 4000), now);
        let ip = if vlan.is_some() { IP + 4 } else { IP };
        let field = |frame: &[u8]| if v6 { frame[ip + 1] >> 4 & 3 } else { frame[ip + 1] & 3 };
        let plain = datagram(&path, b"some bytes");
        assert_eq!((field(&plain), is_marked(&plain)), (0, false));

        let mut frame = datagram(&path.markable(), b"some bytes");
        assert_eq!((field(&frame), is_marked(&frame)), (0b10, false));
        let payload = frame.len() - 10..frame.len();
        let expected = Arrival::Datagram { flow: Flow::new(address(0, v6, 4000), 9), payload };
        assert_eq!(stacks[1].receive(&mut frame.clone(), Checksums::Unknown, now), expected);
        // A router marks the packet.
        frame[ip + 1] |= if v6 { 0x10 } else { 1 };
        if !v6 {
            frame[ip + 10..ip + 12].fill(0);
            let checksum = Sum::of(&frame[ip..ip + 20]).checksum();
            frame[ip + 10..ip + 12].copy_from_slice(&checksum);
        }
        assert!(is_marked(&frame), "IPv6: {v6}, VLAN {vlan:?}");
        assert_eq!(stacks[1].receive(&mut frame, Checksums::Unknown, now), expected);
    }
}

#[test]
fn frames_of_any_length_and_kind_are_looked_at() {
    for len in 0..40 {
        assert!(!is_marked(&vec![0; len]));
    }
    // The frame is neither IPv4 nor IPv6.
    assert!(!is_marked(&[0xff; 60]));
}
