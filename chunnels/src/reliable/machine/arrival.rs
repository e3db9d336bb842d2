//! What arrives.

use super::recovery::{Outcome, Sent};
use super::{Closing, Machine};
use crate::congestion::Ack;
use crate::reliable::wire::{self, Acknowledgement, Fault, Header, Messages};
use bertha_core::{Buf, ErrorKind};
use std::time::Duration;

impl Machine {
    /// Takes in a packet. One that is damaged is dropped and counted; one that no peer sends ends the connection.
    pub(in crate::reliable) fn handle_packet(&mut self, packet: Buf, now: Duration) {
        if self.end.is_some() {
            return;
        }
        let Some(header) = wire::decode(&packet) else {
            self.counters.damaged += 1;
            tracing::debug!(len = packet.len(), "dropped a damaged packet");
            return;
        };
        self.counters.packets_received += 1;
        self.last_heard = now;
        self.unanswered = 0;
        if let Some(fault) = header.abort {
            self.fail(ErrorKind::Reset, format!("the peer gave up, since this end {fault}"));
            return;
        }
        if let Err(fault) = self.take_in(packet, &header, now) {
            tracing::debug!(?fault, "the peer broke the protocol");
            self.refuse(fault);
        }
    }

    fn take_in(&mut self, packet: Buf, header: &Header, now: Duration) -> Result<(), Fault> {
        if let Some(grant) = header.grant {
            self.outgoing.granted(grant);
        }
        if let Some(ack) = &header.ack {
            self.handle_ack(ack, now)?;
        }
        if let Some(number) = header.number {
            self.counters.duplicates += u64::from(!self.acks.received(number, now));
        }
        if let Some(messages) = header.messages {
            self.handle_messages(packet, messages)?;
        }
        if let Some(last) = header.last {
            self.incoming.ends_at(last)?;
        }
        self.settle();
        Ok(())
    }

    /// Hands on the messages of a packet, each a part of it without a copy.
    fn handle_messages(&mut self, mut packet: Buf, mut messages: Messages) -> Result<(), Fault> {
        // How much of the packet was cut off in front.
        let mut gone = 0;
        loop {
            // Positions are those in what is left of the packet.
            let mut here = Messages { at: messages.at - gone, ..messages };
            let Some(message) = here.take(&packet) else { return Ok(()) };
            messages = Messages { first: here.first, at: here.at + gone };
            let len = message.bytes.len();
            if !self.incoming.accept(message.number, len)? {
                self.counters.duplicates += 1;
                continue;
            }
            let is_last = message.bytes.end == packet.len();
            // Fails for no packet, since the decoder has checked all positions.
            if packet.advance(message.bytes.start).is_err() {
                return Ok(());
            }
            if is_last {
                self.incoming.push(packet);
                return Ok(());
            }
            match packet.split_to(len) {
                Ok(message) => self.incoming.push(message),
                Err(_) => return Ok(()),
            }
            gone = messages.at;
        }
    }

    fn handle_ack(&mut self, ack: &Acknowledgement, now: Duration) -> Result<(), Fault> {
        let mut report = Ack::default();
        let Self { recovery, outgoing, rate, closing, .. } = self;
        let delay = Duration::from_micros(ack.delay_us);
        let any = recovery.acked(&ack.ranges, delay, now, |sent, outcome| {
            outgoing.acked(sent.contents.first, sent.contents.count);
            if sent.contents.last && *closing != Closing::No {
                *closing = Closing::Confirmed;
            }
            let Outcome::Acked { in_order } = outcome else { return };
            rate.acked(sent.bytes, sent.at, sent.snapshot, now);
            report.newest_acked_sent = report.newest_acked_sent.max(Some(sent.at));
            if in_order {
                report.bytes_acked += sent.bytes;
                report.packets_acked += 1;
            } else {
                report.bytes_misordered += sent.bytes;
                report.packets_misordered += 1;
            }
        })?;
        if any {
            self.last_progress = now;
            self.find_lost(report, now);
        }
        Ok(())
    }

    /// Looks for lost packets and reports them, with what was acknowledged.
    pub(super) fn find_lost(&mut self, mut report: Ack, now: Duration) {
        let Self { recovery, outgoing, incoming, closing, .. } = self;
        let is_persistent = recovery.find_lost(now, |sent: &Sent, _| {
            outgoing.lost(sent.contents.first, sent.contents.count);
            if sent.contents.grant {
                incoming.grant_lost();
            }
            if sent.contents.last && *closing == Closing::Told {
                *closing = Closing::Due;
            }
            report.lost_pkts_sample += 1;
            report.newest_lost_sent = report.newest_lost_sent.max(Some(sent.at));
        });
        self.report(report, is_persistent, now);
    }
}
