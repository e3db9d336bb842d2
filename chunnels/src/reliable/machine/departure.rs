//! The packets to send.

use super::marking::Marking;
use super::outgoing::Run;
use super::pieces::Cut;
use super::recovery::Contents;
use super::timers::Timer;
use super::{Closing, Machine, Oldest, pace};
use crate::reliable::target::TARGET;
use crate::reliable::wire::{self, Draft};
use bertha_core::{Buf, Error};
use std::time::Duration;

/// The pause after the datapath had no buffer.
const STARVED_PAUSE: Duration = Duration::from_millis(1);

impl Machine {
    /// Returns the next packet to send now, or `None` if no packet is due. `make` makes a buffer of a length for it.
    pub(in crate::reliable) fn poll_packet(
        &mut self,
        now: Duration,
        make: impl FnOnce(usize) -> Result<Buf, Error>,
    ) -> Option<Buf> {
        if let Some(fault) = self.abort {
            let packet = self.write(&Draft { abort: Some(fault), ..Draft::default() }, None, now, make);
            self.abort = packet.is_none().then_some(fault);
            return packet;
        }
        if self.is_over() || self.starved_until.is_some_and(|until| now < until) {
            return None;
        }
        self.starved_until = None;
        if self.cut.is_some() {
            return self.next_piece(now, make);
        }
        let sends_messages = !self.recovery.is_full() && self.may_send(now);
        let grant = self.incoming.grant_due();
        let is_quiet = self.expiry(Timer::KeepAlive).is_some_and(|at| at <= now);
        let is_probe = self.probes > 0 || is_quiet;
        let is_ack_due = self.acks.due().is_some_and(|due| due <= now);
        // Mostly nothing is due, which is known without a copy of the acknowledgement.
        if !(sends_messages || grant.is_some() || is_probe || is_ack_due || self.is_close_due()) {
            return None;
        }
        let mut draft = Draft { ack: self.acks.pending(now), grant, ..Draft::default() };
        if draft.ack.is_some() {
            draft.marks = self.marking.as_ref().map(Marking::arrived);
        }
        let run = if sends_messages { self.choose(&draft, now) } else { None };
        let sends_close = self.is_close_due();
        let is_ping = run.is_none() && is_probe;
        if run.is_some() || sends_close || is_ping || draft.grant.is_some() {
            draft.number = Some(self.number(now));
        } else if !is_ack_due {
            return None;
        }
        // A probe repeats the close: no message is left to send.
        let repeats_close = is_ping && self.closing == Closing::Sent;
        draft.last = (sends_close || repeats_close).then(|| self.outgoing.next());
        draft.first = run.map(|run| run.first);
        let mut size = self.size(&draft, run);
        if size > self.max_packet {
            // The message needs the whole packet: acknowledgement and grant are sent by themselves.
            draft = Draft { number: draft.number, first: draft.first, ..Draft::default() };
            size = self.size(&draft, run);
        }
        // A probe has to arrive, whatever was lost.
        let is_cut = self.black_hole.is_large(size) && (self.probes > 0 || self.black_hole.is_there(now));
        if is_cut && let Some(packet) = self.write(&draft, run, now, |len| Buf::new(len, 0)) {
            match Cut::new(self.cuts, packet, self.black_hole.safe()) {
                Ok(cut) => {
                    self.cut = Some(cut);
                    self.cuts += 1;
                    self.on_sent(&draft, run, size as u64, true, now);
                    return self.next_piece(now, make);
                }
                Err(packet) => {
                    self.on_sent(&draft, run, size as u64, false, now);
                    return Some(packet);
                }
            }
        }
        let packet = self.write(&draft, run, now, make);
        match (&packet, run) {
            (Some(packet), _) => self.on_sent(&draft, run, packet.len() as u64, false, now),
            (None, Some(run)) => self.outgoing.on_lost(run.first, run.count),
            (None, None) => {}
        }
        packet
    }

    /// Returns the next piece of the packet that is leaving.
    fn next_piece(&mut self, now: Duration, make: impl FnOnce(usize) -> Result<Buf, Error>) -> Option<Buf> {
        let cut = self.cut.as_mut()?;
        match cut.next(self.check, make) {
            Ok(piece) => {
                if cut.is_over() {
                    self.cut = None;
                }
                Some(piece)
            }
            Err(error) => {
                tracing::debug!(target: TARGET, peer = %self.peer, %error, "no buffer for a piece of a packet");
                self.starved_until = Some(now + STARVED_PAUSE);
                None
            }
        }
    }

    /// Returns the size that packets are filled up to.
    fn fill(&self, now: Duration) -> usize {
        if self.black_hole.is_there(now) { self.packet.min(self.black_hole.safe()) } else { self.packet }
    }

    /// Returns true if this end closes, and the next packet may say so.
    fn is_close_due(&self) -> bool {
        self.closing == Closing::Due && self.outgoing.is_sent()
    }

    /// Returns true if window, pace and the peer's grant allow a packet of messages, of which there are some; or for a probe.
    fn may_send(&mut self, now: Duration) -> bool {
        self.paced_until = None;
        if self.probes > 0 {
            return true;
        }
        let in_flight = self.recovery.bytes_in_flight;
        if in_flight + self.packet as u64 > self.congestion.window() {
            self.full_at = Some(now);
            return false;
        }
        // A window that the path does not need is not used, and must not grow.
        if in_flight >= self.reach.bytes(self.packet) || !self.outgoing.is_ready() {
            self.rate.on_app_limited(in_flight);
            if self.outgoing.has_unsent() {
                self.note_held(now);
            }
            return false;
        }
        let rate = pace(self.pacing_rate(), self.packet as u64);
        self.paced_until = self.pacer.ready_at(now, rate);
        self.paced_until.is_none()
    }

    /// Returns the messages of the next packet, which [may be sent](Self::may_send).
    fn choose(&mut self, draft: &Draft, now: Duration) -> Option<Run> {
        let numbers = wire::size(self.recovery.next()) + wire::size(self.outgoing.next());
        let space = self.fill(now).saturating_sub(self.size(draft, None) + numbers);
        let run = self.outgoing.take(space);
        if self.probes > 0 { run.or_else(|| self.outgoing.next_probe()) } else { run }
    }

    /// Returns true if a packet may be due after packets have arrived, or a timer expires before `alarm`.
    pub(in crate::reliable) fn needs_sender(&self, now: Duration, alarm: Duration) -> bool {
        let is_ending = self.closing != Closing::No || self.abort.is_some() || self.is_over();
        let has_packet = self.cut.is_some() || self.probes > 0 || !self.outgoing.is_sent();
        let is_ack_due = self.acks.due().is_some_and(|due| due <= now);
        is_ending
            || has_packet
            || is_ack_due
            || self.is_grant_due()
            || self.next_timeout().is_some_and(|due| due < alarm)
    }

    /// Returns the number of the next packet. Numbers are skipped now and then, so that a peer that acknowledges packets it has not
    /// received is detected.
    fn number(&mut self, now: Duration) -> u64 {
        if self.recovery.next() == self.skip {
            self.recovery.skip(now);
            // Has to be hard to guess from earlier skips alone: a step of a linear congruential generator.
            self.dice = self.dice.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            self.skip += 64 + (self.dice >> 54);
        }
        self.recovery.next()
    }

    fn write(
        &mut self,
        draft: &Draft,
        run: Option<Run>,
        now: Duration,
        make: impl FnOnce(usize) -> Result<Buf, Error>,
    ) -> Option<Buf> {
        match make(self.size(draft, run)) {
            Ok(mut packet) => {
                // The one copy: the datapath consumes packets, and messages may have to be repeated.
                let messages = run.into_iter().flat_map(|run| self.outgoing.contents(run));
                wire::write(draft, messages, self.check, &mut packet);
                Some(packet)
            }
            Err(error) => {
                tracing::debug!(target: TARGET, peer = %self.peer, %error, "no buffer for a packet");
                self.starved_until = Some(now + STARVED_PAUSE);
                None
            }
        }
    }

    /// Returns the size of a packet, in bytes.
    fn size(&self, draft: &Draft, run: Option<Run>) -> usize {
        self.check.len() + draft.size() + run.map_or(0, |run| run.size)
    }

    /// Records a packet that is sent.
    fn on_sent(&mut self, draft: &Draft, run: Option<Run>, bytes: u64, is_cut: bool, now: Duration) {
        self.counters.packets_sent += 1;
        #[cfg(feature = "qlog")]
        self.log_sent(draft, run, bytes, now);
        if draft.ack.is_some() {
            self.acks.on_sent();
        }
        if let Some(grant) = draft.grant {
            self.incoming.on_grant_sent(grant);
        }
        if draft.last.is_some() {
            self.closing = Closing::Sent;
        }
        if draft.number.is_none() {
            return;
        }
        if run.is_some() {
            self.note_oldest(now);
        }
        let in_flight = self.recovery.bytes_in_flight;
        if self.recovery.packets_in_flight == 0 {
            self.last_progress = now;
        }
        let contents = Contents {
            first: run.map_or(0, |run| run.first),
            count: run.map_or(0, |run| run.count),
            last: draft.last.is_some(),
            grant: draft.grant.is_some(),
            is_cut,
        };
        let snapshot = self.rate.on_sent(now, in_flight);
        self.recovery.on_sent(now, bytes, contents, snapshot);
        self.pacer.spend(bytes);
        self.probes = self.probes.saturating_sub(1);
    }

    /// Records since when the oldest message waits for its acknowledgement.
    pub(super) fn note_oldest(&mut self, now: Duration) {
        self.oldest = self.outgoing.oldest().map(|(number, _)| match self.oldest {
            Some(known) if known.number == number => known,
            _ => Oldest { number, since: now },
        });
    }
}
