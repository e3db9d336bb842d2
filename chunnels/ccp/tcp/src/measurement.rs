//! The measurement of a flow.

use crate::fields::Fields;
use bertha_chunnels::congestion::{Ack, Flow};
use std::time::Duration;

/// The bits of `flags`.
const WAS_TIMEOUT: u32 = 1;
const IS_APP_LIMITED: u32 = 2;
const HAS_ENDED: u32 = 4;
const IS_WINDOW_UNUSED: u32 = 8;

/// The events of a flow since its measurement before: `struct measurement` in bpf/exchange.h.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Measurement {
    pub(crate) flow: u64,
    /// The number among the measurements of the flow, from 1 on.
    pub(crate) number: u64,
    /// The time since the flow began, in microseconds.
    now: u64,
    bytes_acked: u64,
    bytes_misordered: u64,
    rate_outgoing: u64,
    rate_incoming: u64,
    packets_acked: u32,
    packets_misordered: u32,
    packets_marked: u32,
    packets_lost: u32,
    packets_in_flight: u32,
    /// Microseconds; 0 before the first sample.
    rtt: u32,
    /// Bytes of a packet.
    packet: u32,
    flags: u32,
    /// Acknowledgements at which the kernel obeyed a decision.
    pub(crate) acks_obeyed: u32,
    /// Acknowledgements at which the kernel controlled the flow itself.
    pub(crate) acks_alone: u32,
}

impl Measurement {
    /// Reads a measurement. Returns `None` if the bytes are no measurement.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let measurement = Self {
            flow: fields.u64()?,
            number: fields.u64()?,
            now: fields.u64()?,
            bytes_acked: fields.u64()?,
            bytes_misordered: fields.u64()?,
            rate_outgoing: fields.u64()?,
            rate_incoming: fields.u64()?,
            packets_acked: fields.u32()?,
            packets_misordered: fields.u32()?,
            packets_marked: fields.u32()?,
            packets_lost: fields.u32()?,
            packets_in_flight: fields.u32()?,
            rtt: fields.u32()?,
            packet: fields.u32()?,
            flags: fields.u32()?,
            acks_obeyed: fields.u32()?,
            acks_alone: fields.u32()?,
        };
        fields.0.is_empty().then_some(measurement)
    }

    /// Returns true if the flow is over; nothing else is measured then.
    pub(crate) fn has_ended(&self) -> bool {
        self.flags & HAS_ENDED != 0
    }

    /// Returns the signals for a congestion control.
    pub(crate) fn signals(&self) -> (Ack, Flow) {
        let packet = u64::from(self.packet);
        let now = Duration::from_micros(self.now);
        // The kernel does not tell when these packets were sent; it was a round trip ago.
        let sent = now.saturating_sub(Duration::from_micros(self.rtt.into()));
        let was_delivered = self.packets_acked + self.packets_misordered > 0;
        let ack = Ack {
            bytes_acked: self.bytes_acked,
            packets_acked: self.packets_acked.into(),
            bytes_misordered: self.bytes_misordered,
            packets_misordered: self.packets_misordered.into(),
            ecn_bytes: packet * u64::from(self.packets_marked),
            ecn_packets: self.packets_marked.into(),
            lost_pkts_sample: self.packets_lost.into(),
            now,
            newest_acked_sent: was_delivered.then_some(sent),
            newest_lost_sent: (self.packets_lost > 0).then_some(sent),
            spread: Duration::ZERO,
        };
        let flow = Flow {
            was_timeout: self.flags & WAS_TIMEOUT != 0,
            rtt_sample_us: self.rtt.into(),
            rate_outgoing: self.rate_outgoing,
            rate_incoming: self.rate_incoming,
            bytes_in_flight: packet * u64::from(self.packets_in_flight),
            packets_in_flight: self.packets_in_flight.into(),
            is_app_limited: self.flags & IS_APP_LIMITED != 0,
            is_window_unused: self.flags & IS_WINDOW_UNUSED != 0,
            bytes_pending: 0,
        };
        (ack, flow)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the measurement in which this many packets of 1,000 bytes were acknowledged and lost.
    pub(crate) fn measured(flow: u64, number: u64, acked: u32, lost: u32) -> Measurement {
        Measurement {
            flow,
            number,
            now: 50_000 * number,
            bytes_acked: 1_000 * u64::from(acked),
            packets_acked: acked,
            packets_lost: lost,
            rtt: 20_000,
            packet: 1_000,
            ..Measurement::default()
        }
    }

    /// Returns the measurement with which a flow ends.
    pub(crate) fn end(flow: u64) -> Measurement {
        Measurement { flow, flags: HAS_ENDED, ..Measurement::default() }
    }

    #[test]
    fn every_field_is_read_from_its_place() {
        let words: [u64; 7] = [1, 2, 3, 4, 5, 6, 7];
        let halves: [u32; 10] =
            [8, 9, 10, 11, 12, 2, 13, WAS_TIMEOUT | IS_APP_LIMITED | IS_WINDOW_UNUSED, 14, 15];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.extend(halves.iter().flat_map(|half| half.to_ne_bytes()));
        let measurement = Measurement::read(&bytes).unwrap();
        assert_eq!((measurement.flow, measurement.number, measurement.has_ended()), (1, 2, false));
        assert_eq!((measurement.acks_obeyed, measurement.acks_alone), (14, 15));
        let (ack, flow) = measurement.signals();
        let sent = Some(Duration::from_micros(1));
        let expected = Ack {
            bytes_acked: 4,
            packets_acked: 8,
            bytes_misordered: 5,
            packets_misordered: 9,
            ecn_bytes: 130,
            ecn_packets: 10,
            lost_pkts_sample: 11,
            now: Duration::from_micros(3),
            newest_acked_sent: sent,
            newest_lost_sent: sent,
            spread: Duration::ZERO,
        };
        assert_eq!(ack, expected);
        let expected = Flow {
            was_timeout: true,
            rtt_sample_us: 2,
            rate_outgoing: 6,
            rate_incoming: 7,
            bytes_in_flight: 156,
            packets_in_flight: 12,
            is_app_limited: true,
            is_window_unused: true,
            bytes_pending: 0,
        };
        assert_eq!(flow, expected);
        for length in (0..bytes.len()).chain([bytes.len() + 1]) {
            bytes.resize(length, 0);
            assert_eq!(Measurement::read(&bytes), None, "{length}");
        }
    }
}
