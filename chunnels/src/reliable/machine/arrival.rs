//! The handling of received packets.

use super::recovery::{Outcome, Sent};
use super::{Closing, Machine};
use crate::congestion::Ack;
use crate::reliable::target::TARGET;
use crate::reliable::wire::{self, Acknowledgement, Fault, Header, Messages};
use bertha_core::{Buf, ErrorKind};
use std::time::Duration;

impl Machine {
    /// Handles a packet. A damaged packet is dropped and counted; a packet that breaks the protocol ends the connection.
    pub(in crate::reliable) fn handle_packet(&mut self, packet: Buf, now: Duration) {
        if self.end.is_some() {
            self.incoming.after_end.add(1);
            return;
        }
        let packet = match wire::decode_piece(&packet, self.check) {
            None => packet,
            Some(piece) => match self.assembly.insert(&piece, packet) {
                Some(packet) => packet,
                None => return,
            },
        };
        let Some(header) = wire::decode(&packet, self.check) else {
            self.counters.damaged += 1;
            self.damaged.add(1);
            #[cfg(feature = "qlog")]
            self.log_dropped(packet.len(), now);
            tracing::debug!(target: TARGET, peer = %self.peer, len = packet.len(), "dropped a damaged packet");
            return;
        };
        self.counters.packets_received += 1;
        #[cfg(feature = "qlog")]
        self.log_received(&header, packet.len(), now);
        self.last_heard = now;
        self.unanswered = 0;
        if let Some(fault) = header.abort {
            self.fail(ErrorKind::Reset, format!("the peer gave up, since this end {fault}"));
            return;
        }
        if let Err(fault) = self.handle_header(packet, &header, now) {
            tracing::debug!(target: TARGET, peer = %self.peer, %fault, "the peer broke the protocol");
            self.refuse(fault);
        }
    }

    fn handle_header(&mut self, packet: Buf, header: &Header, now: Duration) -> Result<(), Fault> {
        if let Some(grant) = header.grant {
            self.outgoing.on_grant(grant);
            if self.held_since.is_some() {
                self.note_granted(now);
            }
        }
        if let Some(ack) = &header.ack {
            if let Some(marking) = &mut self.marking {
                marking.on_ack(header.marks);
            }
            self.handle_ack(ack, now)?;
        }
        if let Some(number) = header.number {
            self.counters.duplicates += u64::from(!self.acks.on_packet(number, now));
        }
        if let Some(messages) = header.messages {
            self.handle_messages(packet, messages)?;
        }
        if let Some(last) = header.last {
            self.incoming.on_close(last)?;
        }
        self.update_closing();
        Ok(())
    }

    /// Delivers the messages of a packet, each a part of it without a copy.
    fn handle_messages(&mut self, mut packet: Buf, mut messages: Messages) -> Result<(), Fault> {
        // The bytes split off at the front of the packet.
        let mut consumed = 0;
        loop {
            // Positions in the rest of the packet.
            let mut here = Messages { at: messages.at - consumed, ..messages };
            let Some(message) = here.pop(&packet) else { return Ok(()) };
            messages = Messages { first: here.first, at: here.at + consumed };
            let len = message.bytes.len();
            if !self.incoming.accept(message.number, len)? {
                self.counters.duplicates += 1;
                self.repeated.add(1);
                continue;
            }
            let is_last = message.bytes.end == packet.len();
            // Never fails, since the decoder has checked all positions.
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
            consumed = messages.at;
        }
    }

    fn handle_ack(&mut self, ack: &Acknowledgement, now: Duration) -> Result<(), Fault> {
        let mut report = Ack::default();
        let mut sent_at = Duration::ZERO;
        let was_black = self.black_hole.was_found();
        let Self { recovery, outgoing, rate, closing, black_hole, .. } = self;
        let delay = Duration::from_micros(ack.delay_us);
        let any = recovery.on_ack(&ack.ranges, delay, now, |sent, outcome| {
            outgoing.on_ack(sent.contents.first, sent.contents.count);
            if !sent.contents.is_cut {
                black_hole.on_arrived(sent.bytes as usize);
            }
            if sent.contents.last && *closing != Closing::No {
                *closing = Closing::Confirmed;
            }
            // Late ones were delivered as well.
            rate.on_ack(sent.bytes, sent.at, sent.snapshot, now);
            let Outcome::Acked { in_order } = outcome else { return };
            sent_at += sent.at;
            report.newest_acked_sent = report.newest_acked_sent.max(Some(sent.at));
            if in_order {
                report.bytes_acked += sent.bytes;
                report.packets_acked += 1;
            } else {
                report.bytes_misordered += sent.bytes;
                report.packets_misordered += 1;
            }
        })?;
        if was_black && !self.black_hole.was_found() {
            self.tell_large_packets();
        }
        if any {
            let packets = (report.packets_acked + report.packets_misordered).max(1);
            let mean = sent_at / u32::try_from(packets).unwrap_or(u32::MAX);
            report.spread = report.newest_acked_sent.unwrap_or_default().saturating_sub(mean);
            self.last_progress = now;
            self.note_oldest(now);
            self.find_lost(report, now);
        }
        Ok(())
    }

    /// Finds lost packets, and reports them with the acknowledged ones.
    pub(super) fn find_lost(&mut self, mut report: Ack, now: Duration) {
        let was_black = self.black_hole.is_there(now);
        #[cfg(feature = "qlog")]
        let log = &mut self.log;
        let Self { recovery, outgoing, incoming, closing, black_hole, .. } = self;
        let is_persistent = recovery.find_lost(now, |sent: &Sent, _lost| {
            #[cfg(feature = "qlog")]
            super::qlog::log_lost(log, _lost, now);
            outgoing.on_lost(sent.contents.first, sent.contents.count);
            if !sent.contents.is_cut {
                black_hole.on_lost(sent.bytes as usize, sent.at, now);
            }
            if sent.contents.grant {
                incoming.on_grant_lost();
            }
            if sent.contents.last && *closing == Closing::Sent {
                *closing = Closing::Due;
            }
            report.lost_pkts_sample += 1;
            report.newest_lost_sent = report.newest_lost_sent.max(Some(sent.at));
        });
        if !was_black && self.black_hole.is_there(now) {
            self.tell_black_hole();
        }
        self.report(report, is_persistent, now);
    }
}
