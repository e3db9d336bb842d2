//! The packets to send, and their times.

use super::marking::Marking;
use super::outgoing::Run;
use super::pieces::Cut;
use super::recovery::Contents;
use super::{Closing, Machine, pace};
use crate::congestion::Ack;
use crate::reliable::wire::{self, Draft, Fault};
use bertha_core::{Buf, Error, ErrorKind};
use std::time::Duration;

/// The number of time-outs after which a close is no longer sent to a silent peer that has acknowledged all messages.
const MAX_CLOSES: u32 = 12;

/// The same for a peer that has closed before, and most likely is gone.
const MAX_CLOSES_AFTER_PEER: u32 = 4;

/// The number of packets sent at a time-out (RFC 9002, section 6.2.4).
const PROBES: u32 = 2;

/// The pause after the datapath had no buffer.
const STARVED_PAUSE: Duration = Duration::from_millis(1);

impl Machine {
    /// The next packet to send now, if there is one, in a buffer that `make` allocates for a length.
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
        let mut draft =
            Draft { ack: self.acks.pending(now), grant: self.incoming.grant_due(), ..Draft::default() };
        if draft.ack.is_some() {
            draft.marks = self.marking.as_ref().map(Marking::arrived);
        }
        let run = if self.recovery.is_full() { None } else { self.choose(&draft, now) };
        let sends_close = self.closing == Closing::Due && self.outgoing.is_sent();
        let is_ping = run.is_none() && (self.probes > 0 || self.is_quiet(now));
        if run.is_some() || sends_close || is_ping || draft.grant.is_some() {
            draft.number = Some(self.number(now));
        } else if self.acks.due().is_none_or(|due| now < due) {
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
                    self.on_sent(&draft, run, (size as u64, true), now);
                    return self.next_piece(now, make);
                }
                Err(packet) => {
                    self.on_sent(&draft, run, (size as u64, false), now);
                    return Some(packet);
                }
            }
        }
        let packet = self.write(&draft, run, now, make);
        match (&packet, run) {
            (Some(packet), _) => self.on_sent(&draft, run, (packet.len() as u64, false), now),
            (None, Some(run)) => self.outgoing.on_lost(run.first, run.count),
            (None, None) => {}
        }
        packet
    }

    /// The next piece of the packet that is leaving.
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
                tracing::debug!(%error, "no buffer for a piece of a packet");
                self.starved_until = Some(now + STARVED_PAUSE);
                None
            }
        }
    }

    /// The bytes that packets are filled to.
    fn fill(&self, now: Duration) -> usize {
        if self.black_hole.is_there(now) { self.packet.min(self.black_hole.safe()) } else { self.packet }
    }

    /// The messages of the next packet, as far as window, pace and the peer's grant allow.
    fn choose(&mut self, draft: &Draft, now: Duration) -> Option<Run> {
        self.paced_until = None;
        let numbers = wire::size(self.recovery.next()) + wire::size(self.outgoing.next());
        let space = self.fill(now).saturating_sub(self.size(draft, None) + numbers);
        if self.probes > 0 {
            return self.outgoing.take(space).or_else(|| self.outgoing.next_probe());
        }
        let in_flight = self.recovery.bytes_in_flight;
        if in_flight + self.packet as u64 > self.congestion.window() {
            return None;
        }
        // A window that the path does not need is not used, and must not grow.
        if in_flight >= self.reach.bytes(self.packet) || !self.outgoing.is_ready() {
            self.rate.on_app_limited(in_flight);
            return None;
        }
        let rate = pace(self.pacing_rate(), self.packet as u64);
        self.paced_until = self.pacer.ready_at(now, rate);
        if self.paced_until.is_some() { None } else { self.outgoing.take(space) }
    }

    /// The number of the next packet. Numbers are skipped now and then, so that a peer that acknowledges packets it has not
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
                tracing::debug!(%error, "no buffer for a packet");
                self.starved_until = Some(now + STARVED_PAUSE);
                None
            }
        }
    }

    /// The bytes of a packet.
    fn size(&self, draft: &Draft, run: Option<Run>) -> usize {
        self.check.len() + draft.size() + run.map_or(0, |run| run.size)
    }

    /// Records a packet that is sent.
    fn on_sent(&mut self, draft: &Draft, run: Option<Run>, (bytes, is_cut): (u64, bool), now: Duration) {
        self.counters.packets_sent += 1;
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

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due, or [`poll_packet`](Self::poll_packet) may return a packet.
    pub(in crate::reliable) fn poll_timeout(&self) -> Option<Duration> {
        if self.is_over() {
            return None;
        }
        // Without a buffer nothing can be sent: a deadline in the past would make the task spin.
        let sending = match self.starved_until {
            Some(until) => [Some(until), None],
            None => [self.acks.due(), self.paced_until],
        };
        let waiting = if self.is_waiting() { self.waiting_timers() } else { [None; 4] };
        sending.into_iter().chain(waiting).flatten().min()
    }

    /// The time at which the peer may have timed out, whether or not packets can be sent.
    pub(in crate::reliable) fn poll_idle_timeout(&self, now: Duration) -> Duration {
        let idle = self.settings.idle;
        if self.end.is_some() || !self.is_waiting() {
            return now + idle;
        }
        (self.last_heard + idle).min(self.undelivered_at().unwrap_or(Duration::MAX))
    }

    /// The time at which the connection fails because something has not arrived although the peer is heard: nothing new was acknowledged
    /// for the idle time-out, or the oldest message alone was not for twice as long.
    fn undelivered_at(&self) -> Option<Duration> {
        let idle = self.settings.idle;
        let progress = (self.recovery.packets_in_flight > 0).then_some(self.last_progress + idle);
        let oldest = self.oldest.map(|(_, since)| since + 2 * idle);
        progress.into_iter().chain(oldest).min()
    }

    /// Whether the peer has to answer. A peer that has closed need not, until this end closes as well.
    fn is_waiting(&self) -> bool {
        !self.is_peer_gone || self.closing != Closing::No
    }

    fn waiting_timers(&self) -> [Option<Duration>; 4] {
        let idle = self.settings.idle;
        let is_in_flight = self.recovery.packets_in_flight > 0;
        let quiet = (!is_in_flight).then_some(self.last_heard + idle / 3);
        [self.recovery.timer(idle), Some(self.last_heard + idle), self.undelivered_at(), quiet]
    }

    /// Handles the timers that are due.
    pub(in crate::reliable) fn handle_timeout(&mut self, now: Duration) {
        if self.is_over() || !self.is_waiting() {
            return;
        }
        let idle = self.settings.idle;
        let is_silent = now >= self.last_heard + idle;
        if is_silent && self.is_peer_gone {
            // The peer has closed before, and need not be there to acknowledge the close of this end.
            self.closing = Closing::Confirmed;
            self.update_closing();
        } else if is_silent {
            self.fail(ErrorKind::TimedOut, format!("nothing was heard from the peer for {idle:?}"));
        } else if self.undelivered_at().is_some_and(|at| at <= now) {
            self.abort = Some(Fault::NeverAcknowledged);
            self.fail(ErrorKind::TimedOut, self.undelivered(now));
        } else if self.recovery.timer(idle).is_some_and(|at| at <= now) {
            if self.recovery.is_loss_due(now) {
                self.find_lost(Ack::default(), now);
            } else {
                self.probe();
            }
            self.update_closing();
        }
    }

    /// Describes the messages that have not arrived, for an error.
    fn undelivered(&self, now: Duration) -> String {
        match (self.outgoing.oldest(), self.oldest) {
            (Some((number, len)), Some((_, since))) => format!(
                "message {number}, of {len} bytes, was not acknowledged for {:?} although the peer was heard; if the path loses packets of \
                 its size, put Fragment above, with shorter pieces",
                now.saturating_sub(since)
            ),
            _ => format!("the peer acknowledged nothing for {:?}", self.settings.idle),
        }
    }

    /// Notes since when the oldest message waits for its acknowledgement.
    pub(super) fn note_oldest(&mut self, now: Duration) {
        self.oldest = self.outgoing.oldest().map(|(number, _)| match self.oldest {
            Some(known) if known.0 == number => known,
            _ => (number, now),
        });
    }

    /// Probes the peer, since nothing was acknowledged until the time-out.
    fn probe(&mut self) {
        self.recovery.timeouts += 1;
        self.probes = PROBES;
        self.incoming.on_grant_lost();
        if self.closing == Closing::Sent {
            let max = if self.is_peer_gone { MAX_CLOSES_AFTER_PEER } else { MAX_CLOSES };
            self.unanswered += 1;
            let is_assumed = self.outgoing.is_empty() && self.unanswered > max;
            self.closing = if is_assumed { Closing::Confirmed } else { Closing::Due };
        }
    }

    /// Whether the peer should be probed, since it has been silent.
    fn is_quiet(&self, now: Duration) -> bool {
        self.is_waiting()
            && self.recovery.packets_in_flight == 0
            && now >= self.last_heard + self.settings.idle / 3
    }
}
