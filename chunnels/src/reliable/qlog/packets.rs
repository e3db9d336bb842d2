//! The events of packets.

use super::json::Json;
use super::log::Log;
use crate::reliable::wire::{Acknowledgement, Draft, Fault, Grant, Header};
use bertha_core::EcnMarks;
use std::time::Duration;

/// The number of the newest ranges of an acknowledgement that are written: as many as an acknowledgement adds to the one before, unless
/// many of them are lost. All would be most of the cost of a qlog.
const LOGGED_RANGES: usize = 4;

/// The messages of a packet that is sent.
#[derive(Debug, Clone, Copy)]
pub(in crate::reliable) struct SentMessages {
    pub(in crate::reliable) first: u64,
    pub(in crate::reliable) count: u32,
}

/// The parts of a packet that become frames.
struct Parts<'a> {
    ack: Option<&'a Acknowledgement>,
    marks: Option<EcnMarks>,
    grant: Option<Grant>,
    closes: bool,
    abort: Option<Fault>,
    has_messages: bool,
    /// True if the packet has a number, and so asks for an acknowledgement.
    is_numbered: bool,
}

impl Log {
    /// Writes a packet that is sent; `is_probe` if it is sent because an acknowledgement is overdue.
    #[inline]
    pub(in crate::reliable) fn packet_sent(
        &mut self,
        now: Duration,
        draft: &Draft,
        messages: Option<SentMessages>,
        length: u64,
        is_probe: bool,
    ) {
        self.at(now);
        let Some(mut json) =
            self.begin(",\"name\":\"quic:packet_sent\",\"data\":{\"header\":{\"packet_type\":\"1RTT\"")
        else {
            return;
        };
        head(&mut json, draft.number, length);
        frames(
            &mut json,
            &Parts {
                ack: draft.ack.as_ref(),
                marks: draft.marks,
                grant: draft.grant,
                closes: draft.last.is_some(),
                abort: draft.abort,
                has_messages: messages.is_some(),
                is_numbered: draft.number.is_some(),
            },
        );
        json.raw(if is_probe { ",\"trigger\":\"pto_probe\"}" } else { "}" });
        if let Some(SentMessages { first, count, .. }) = messages {
            json.raw(",\"first_message\":").number(first);
            if count > 1 {
                json.raw(",\"messages\":").number(count.into());
            }
            if first < self.sent {
                json.raw(",\"repeated_messages\":").number(count.into());
            } else {
                self.sent = first + u64::from(count);
            }
        }
        granted(&mut json, draft.grant);
        self.end(json, "}");
    }

    /// Writes a packet that has arrived undamaged.
    #[inline(never)]
    pub(in crate::reliable) fn packet_received(&mut self, now: Duration, header: &Header, length: usize) {
        self.at(now);
        let Some(mut json) =
            self.begin(",\"name\":\"quic:packet_received\",\"data\":{\"header\":{\"packet_type\":\"1RTT\"")
        else {
            return;
        };
        head(&mut json, header.number, length as u64);
        frames(
            &mut json,
            &Parts {
                ack: header.ack.as_ref(),
                marks: header.marks,
                grant: header.grant,
                closes: header.last.is_some(),
                abort: header.abort,
                has_messages: header.messages.is_some(),
                is_numbered: header.number.is_some(),
            },
        );
        json.raw("}");
        if let Some(messages) = header.messages {
            json.raw(",\"first_message\":").number(messages.first);
        }
        granted(&mut json, header.grant);
        self.end(json, "}");
    }

    /// Writes a packet that is dropped as damaged.
    #[cold]
    pub(in crate::reliable) fn packet_dropped(&mut self, now: Duration, length: usize) {
        self.at(now);
        if let Some(mut json) = self.begin(",\"name\":\"quic:packet_dropped\",\"data\":{\"raw\":{\"length\":")
        {
            json.number(length as u64);
            self.end(json, "},\"trigger\":\"invalid\"}}");
        }
    }

    /// Writes a packet that is declared lost, since its acknowledgement is overdue or since later packets were acknowledged.
    #[cold]
    pub(in crate::reliable) fn packet_lost(&mut self, now: Duration, number: u64, is_overdue: bool) {
        self.at(now);
        let begun =
            self.begin(",\"name\":\"quic:packet_lost\",\"data\":{\"header\":{\"packet_type\":\"1RTT\"");
        if let Some(mut json) = begun {
            json.raw(",\"packet_number\":").number(number).raw("},\"trigger\":");
            self.end(json, if is_overdue { "\"time_threshold\"}}" } else { "\"reordering_threshold\"}}" });
        }
    }
}

/// Writes the rest of the header, and the length.
#[inline(always)]
fn head(json: &mut Json, number: Option<u64>, length: u64) {
    if let Some(number) = number {
        json.raw(",\"packet_number\":").number(number);
    }
    json.raw("},\"raw\":{\"length\":").number(length).raw("},\"frames\":[");
}

/// Writes the frames, and the end of their list.
#[inline(always)]
fn frames(json: &mut Json, parts: &Parts<'_>) {
    if let Some(ack) = parts.ack {
        json.raw("{\"frame_type\":\"ack\",\"ack_delay\":").ms(Duration::from_micros(ack.delay_us));
        json.raw(",\"acked_ranges\":[");
        for range in ack.ranges.iter().skip(ack.ranges.iter().len().saturating_sub(LOGGED_RANGES)) {
            json.raw("[").number(*range.start());
            if range.start() != range.end() {
                json.raw(",").number(*range.end());
            }
            json.raw("],");
        }
        json.end_list().raw("]");
        if let Some(marks) = parts.marks {
            json.raw(",\"ce\":").number(marks.datagrams);
        }
        json.raw("},");
    }
    if let Some(grant) = parts.grant {
        json.raw("{\"frame_type\":\"max_data\",\"maximum\":").number(grant.bytes).raw("},");
    }
    if parts.has_messages {
        json.raw("{\"frame_type\":\"datagram\"},");
    }
    if parts.closes {
        json.raw("{\"frame_type\":\"connection_close\",\"error_space\":\"application\"},");
    }
    if let Some(fault) = parts.abort {
        let error = match fault {
            Fault::ExceededGrant => "flow_control_error",
            _ => "protocol_violation",
        };
        json.raw("{\"frame_type\":\"connection_close\",\"error_space\":\"transport\",\"error\":")
            .string(error);
        json.raw("},");
    }
    let has_only_acks =
        parts.grant.is_none() && !parts.has_messages && !parts.closes && parts.abort.is_none();
    if parts.is_numbered && has_only_acks {
        json.raw("{\"frame_type\":\"ping\"},");
    }
    json.end_list().raw("]");
}

#[inline(always)]
fn granted(json: &mut Json, grant: Option<Grant>) {
    if let Some(grant) = grant {
        json.raw(",\"granted_messages\":").number(grant.messages);
    }
}
