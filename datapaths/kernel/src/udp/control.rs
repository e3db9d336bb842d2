//! Control messages: what `sendmsg` tells the kernel about a datagram beside its address and contents.

use super::remote::Remote;
use arrayvec::ArrayVec;
use nix::libc::{
    IP_PKTINFO, IP_TOS, IPPROTO_IP, IPPROTO_IPV6, IPV6_PKTINFO, IPV6_TCLASS, SOL_UDP, UDP_SEGMENT, c_int,
};
use std::net::{IpAddr, Ipv4Addr};

/// Unit of the lengths of control messages: the kernel looks for the next control message at a multiple of
/// it.
const ALIGNMENT: usize = size_of::<usize>();

/// Length of a control message without its data: its length, its level and its type.
const HEADER: usize = size_of::<usize>() + 2 * size_of::<c_int>();

/// Number of bytes that the three control messages of a datagram occupy at most. The longest data, an IPv6
/// address and an interface, have 20 bytes.
const CAPACITY: usize = 3 * (HEADER + 24);

/// The control messages of a datagram, in the format of `cmsg(3)`.
#[derive(Debug)]
pub(super) struct Control(ArrayVec<u8, CAPACITY>);

impl Control {
    /// Returns the control messages of a datagram to `to`. The kernel cuts the datagram into segments of
    /// `segment` bytes, unless that is absent.
    ///
    /// A connected socket has its own address and permission to mark, so its datagrams carry neither: the
    /// kernel would look for a route again.
    pub(super) fn new(to: &Remote, segment: Option<u16>) -> Self {
        let mut control = Self(ArrayVec::new());
        if let Some(segment) = segment {
            control.push(SOL_UDP, UDP_SEGMENT, &segment.to_ne_bytes());
        }
        if to.to().is_none() {
            return control;
        }
        if let Some(ecn) = to.ecn() {
            let ecn = c_int::from(ecn as u8).to_ne_bytes();
            // An IPv4 address on a socket of IPv6 takes the options of IPv4.
            match to.peer.ip().to_canonical() {
                IpAddr::V4(_) => control.push(IPPROTO_IP, IP_TOS, &ecn),
                IpAddr::V6(_) => control.push(IPPROTO_IPV6, IPV6_TCLASS, &ecn),
            }
        }
        // The route decides about the interface.
        const ANY_INTERFACE: [u8; 4] = [0; 4];
        match to.source {
            None => {}
            Some(IpAddr::V4(source)) => {
                let destination = Ipv4Addr::UNSPECIFIED.octets();
                let info = [ANY_INTERFACE, source.octets(), destination];
                control.push(IPPROTO_IP, IP_PKTINFO, info.as_flattened());
            }
            Some(IpAddr::V6(source)) => {
                let mut info = [0; 20];
                info[..16].copy_from_slice(&source.octets());
                info[16..].copy_from_slice(&ANY_INTERFACE);
                control.push(IPPROTO_IPV6, IPV6_PKTINFO, &info);
            }
        }
        control
    }

    /// Appends a control message of at most 24 bytes of data, of which [`CAPACITY`] holds three.
    fn push(&mut self, level: c_int, kind: c_int, data: &[u8]) {
        self.0.extend((HEADER + data.len()).to_ne_bytes());
        self.0.extend(level.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(data.iter().copied());
        let padding = self.0.len().next_multiple_of(ALIGNMENT) - self.0.len();
        self.0.extend(std::iter::repeat_n(0, padding));
    }

    /// Returns the control messages as the kernel reads them.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
