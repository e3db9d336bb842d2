//! The signals that programs read.

use std::fmt;

/// The signals of one acknowledgement, and the state of the flow after it: tables 4.2 and 4.3 of the thesis, with the units and the
/// order of libccp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Signals {
    /// Bytes that were acknowledged in order.
    pub bytes_acked: u64,
    /// Bytes that were acknowledged out of order.
    pub bytes_misordered: u64,
    /// Bytes in packets that a router marked for congestion.
    pub ecn_bytes: u64,
    /// Packets that a router marked for congestion.
    pub ecn_packets: u64,
    /// Packets that were just found lost.
    pub lost_pkts_sample: u64,
    /// The time since the flow began, in microseconds.
    pub now: u64,
    /// Packets that were acknowledged in order.
    pub packets_acked: u64,
    /// Packets that were acknowledged out of order.
    pub packets_misordered: u64,
    /// Bytes that were sent and are neither acknowledged nor lost.
    pub bytes_in_flight: u64,
    /// Bytes of a bundle's flows that wait in a sendbox; 0 for a connection.
    pub bytes_pending: u64,
    /// Packets that were sent and are neither acknowledged nor lost.
    pub packets_in_flight: u64,
    /// The rate at which the peer received, in bytes per second; 0 without a sample.
    pub rate_incoming: u64,
    /// The rate at which this end sent, in bytes per second; 0 without a sample.
    pub rate_outgoing: u64,
    /// A sample of the round-trip time, in microseconds. Programs read 0, which means no sample, as 2^32 - 1.
    pub rtt_sample_us: u64,
    /// 1 if a time-out expired, else 0.
    pub was_timeout: u64,
}

/// The number of signals.
pub(crate) const COUNT: usize = 15;

/// The value of the round-trip time without a sample, which libccp calls infinity.
const NO_SAMPLE: u64 = u32::MAX as u64;

impl Signals {
    /// Returns the values as programs read them, in the order of [`Signal::ALL`].
    pub(crate) fn values(&self) -> [u64; COUNT] {
        [
            self.bytes_acked,
            self.bytes_misordered,
            self.ecn_bytes,
            self.ecn_packets,
            self.lost_pkts_sample,
            self.now,
            self.packets_acked,
            self.packets_misordered,
            self.bytes_in_flight,
            self.bytes_pending,
            self.packets_in_flight,
            self.rate_incoming,
            self.rate_outgoing,
            if self.rtt_sample_us == 0 { NO_SAMPLE } else { self.rtt_sample_us },
            self.was_timeout,
        ]
    }
}

/// A signal of [`Signals`], by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the fields of `Signals` say what each is")]
pub enum Signal {
    BytesAcked,
    BytesMisordered,
    EcnBytes,
    EcnPackets,
    LostPktsSample,
    Now,
    PacketsAcked,
    PacketsMisordered,
    BytesInFlight,
    BytesPending,
    PacketsInFlight,
    RateIncoming,
    RateOutgoing,
    RttSampleUs,
    WasTimeout,
}

impl Signal {
    /// All signals, each at the index by which messages name it.
    pub const ALL: [Self; COUNT] = [
        Self::BytesAcked,
        Self::BytesMisordered,
        Self::EcnBytes,
        Self::EcnPackets,
        Self::LostPktsSample,
        Self::Now,
        Self::PacketsAcked,
        Self::PacketsMisordered,
        Self::BytesInFlight,
        Self::BytesPending,
        Self::PacketsInFlight,
        Self::RateIncoming,
        Self::RateOutgoing,
        Self::RttSampleUs,
        Self::WasTimeout,
    ];

    /// Returns the name in programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::BytesAcked => "Ack.bytes_acked",
            Self::BytesMisordered => "Ack.bytes_misordered",
            Self::EcnBytes => "Ack.ecn_bytes",
            Self::EcnPackets => "Ack.ecn_packets",
            Self::LostPktsSample => "Ack.lost_pkts_sample",
            Self::Now => "Ack.now",
            Self::PacketsAcked => "Ack.packets_acked",
            Self::PacketsMisordered => "Ack.packets_misordered",
            Self::BytesInFlight => "Flow.bytes_in_flight",
            Self::BytesPending => "Flow.bytes_pending",
            Self::PacketsInFlight => "Flow.packets_in_flight",
            Self::RateIncoming => "Flow.rate_incoming",
            Self::RateOutgoing => "Flow.rate_outgoing",
            Self::RttSampleUs => "Flow.rtt_sample_us",
            Self::WasTimeout => "Flow.was_timeout",
        }
    }
}

/// A set of signals.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct SignalSet(u16);

impl SignalSet {
    /// All signals.
    pub const ALL: Self = Self((1 << COUNT) - 1);

    /// Returns the set with `signal`.
    #[must_use]
    pub const fn with(self, signal: Signal) -> Self {
        Self(self.0 | (1 << signal as u16))
    }

    /// Returns the set without `signal`.
    #[must_use]
    pub const fn without(self, signal: Signal) -> Self {
        Self(self.0 & !(1 << signal as u16))
    }

    /// Returns the signals of this set that `other` lacks.
    #[must_use]
    pub const fn missing_in(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns true if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the signals in the set.
    pub fn iter(self) -> impl Iterator<Item = Signal> {
        Signal::ALL.into_iter().filter(move |signal| self.0 & (1 << *signal as u16) != 0)
    }
}

impl fmt::Display for SignalSet {
    /// Shows the names, separated by commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, signal) in self.iter().enumerate() {
            write!(f, "{}{}", if at == 0 { "" } else { ", " }, signal.name())?;
        }
        Ok(())
    }
}

impl fmt::Debug for SignalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}
