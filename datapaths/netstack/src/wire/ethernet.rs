//! Ethernet headers, with or without a VLAN tag (IEEE 802.3, 802.1Q).

use crate::MacAddr;

/// Length of a header without a tag.
pub(crate) const HEADER: usize = 14;

/// Length of a tag.
pub(crate) const TAG: usize = 4;

/// The protocol of a frame's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EtherType(pub(crate) u16);

impl EtherType {
    pub(crate) const IPV4: Self = Self(0x0800);
    pub(crate) const ARP: Self = Self(0x0806);
    pub(crate) const IPV6: Self = Self(0x86dd);
    const VLAN: Self = Self(0x8100);
}

/// An Ethernet header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EthernetHeader {
    pub(crate) destination: MacAddr,
    pub(crate) source: MacAddr,
    /// Number of the VLAN. A tag that has only a priority counts as `None`.
    pub(crate) vlan: Option<u16>,
    pub(crate) ethertype: EtherType,
}

impl EthernetHeader {
    /// Parses the header at the front of `frame`, and returns it with its length; `None` if the frame is too
    /// short.
    #[inline]
    pub(crate) fn parse(frame: &[u8]) -> Option<(Self, usize)> {
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *frame.first_chunk()?;
        let mut header = Self {
            destination: MacAddr([d0, d1, d2, d3, d4, d5]),
            source: MacAddr([s0, s1, s2, s3, s4, s5]),
            vlan: None,
            ethertype: EtherType(u16::from_be_bytes([t0, t1])),
        };
        if header.ethertype != EtherType::VLAN {
            return Some((header, HEADER));
        }
        let [v0, v1, t0, t1] = *frame.get(HEADER..)?.first_chunk()?;
        let number = u16::from_be_bytes([v0, v1]) & 0xfff;
        header.vlan = (number != 0).then_some(number);
        header.ethertype = EtherType(u16::from_be_bytes([t0, t1]));
        Some((header, HEADER + TAG))
    }

    /// Returns the length of a header that is emitted in the VLAN `vlan`, or without a tag.
    pub(crate) fn len(vlan: Option<u16>) -> usize {
        if vlan.is_some() { HEADER + TAG } else { HEADER }
    }

    /// Writes the header to the front of `frame`, which is long enough, and returns its length.
    pub(crate) fn emit(&self, frame: &mut [u8]) -> usize {
        frame[..6].copy_from_slice(&self.destination.0);
        frame[6..12].copy_from_slice(&self.source.0);
        let len = Self::len(self.vlan);
        if let Some(number) = self.vlan {
            frame[12..14].copy_from_slice(&EtherType::VLAN.0.to_be_bytes());
            frame[14..16].copy_from_slice(&number.to_be_bytes());
        }
        frame[len - 2..len].copy_from_slice(&self.ethertype.0.to_be_bytes());
        len
    }
}
