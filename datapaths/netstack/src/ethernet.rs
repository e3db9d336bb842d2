//! Ethernet headers, with or without a VLAN tag (IEEE 802.3, 802.1Q).

use crate::MacAddr;

/// The length of a header without a tag.
pub(crate) const HEADER: usize = 14;

/// The length of a tag.
pub(crate) const TAG: usize = 4;

/// What a frame carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EtherType(pub(crate) u16);

impl EtherType {
    pub(crate) const IPV4: Self = Self(0x0800);
    pub(crate) const ARP: Self = Self(0x0806);
    pub(crate) const IPV6: Self = Self(0x86dd);
    const VLAN: Self = Self(0x8100);
}

/// A header that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ethernet {
    pub(crate) destination: MacAddr,
    pub(crate) source: MacAddr,
    /// The number of the VLAN. A tag that only has a priority counts as none.
    pub(crate) vlan: Option<u16>,
    pub(crate) carries: EtherType,
    /// The length of the header.
    pub(crate) len: usize,
}

impl Ethernet {
    /// The header at the beginning of `frame`; nothing if that is too short.
    #[inline]
    pub(crate) fn read(frame: &[u8]) -> Option<Self> {
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = *frame.first_chunk()?;
        let mut header = Self {
            destination: MacAddr([d0, d1, d2, d3, d4, d5]),
            source: MacAddr([s0, s1, s2, s3, s4, s5]),
            vlan: None,
            carries: EtherType(u16::from_be_bytes([t0, t1])),
            len: HEADER,
        };
        if header.carries == EtherType::VLAN {
            let [v0, v1, t0, t1] = *frame.get(HEADER..)?.first_chunk()?;
            let number = u16::from_be_bytes([v0, v1]) & 0xfff;
            header.vlan = (number != 0).then_some(number);
            header.carries = EtherType(u16::from_be_bytes([t0, t1]));
            header.len = HEADER + TAG;
        }
        Some(header)
    }

    /// The length of a header in the VLAN `vlan`, or in none.
    pub(crate) fn len(vlan: Option<u16>) -> usize {
        if vlan.is_some() { HEADER + TAG } else { HEADER }
    }

    /// Writes a header to the beginning of `frame`, which is long enough, and returns its length.
    pub(crate) fn write(
        frame: &mut [u8],
        destination: MacAddr,
        source: MacAddr,
        vlan: Option<u16>,
        carries: EtherType,
    ) -> usize {
        frame[..6].copy_from_slice(&destination.0);
        frame[6..12].copy_from_slice(&source.0);
        let len = Self::len(vlan);
        if let Some(number) = vlan {
            frame[12..14].copy_from_slice(&EtherType::VLAN.0.to_be_bytes());
            frame[14..16].copy_from_slice(&number.to_be_bytes());
        }
        frame[len - 2..len].copy_from_slice(&carries.0.to_be_bytes());
        len
    }
}
