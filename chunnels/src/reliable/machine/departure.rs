//! What goes out, and when.

use super::outgoing::Run;
use super::recovery::Contents;
use super::{Closing, Machine, pace};
use crate::congestion::Ack;
use crate::reliable::wire::{self, Draft, Fault};
use bertha_core::{Buf, Error, ErrorKind};
use std::time::Duration;

/// How many time-outs the end is told to a silent peer, once it has confirmed all messages.
const FAREWELLS: u32 = 12;

/// The same for a peer that has closed before: most likely it is gone.
const ANSWERS: u32 = 4;

/// How many packets a time-out lets go at once (RFC 9002, section 6.2.4).
const PROBES: u32 = 2;

/// How long to wait after the datapath had no buffer.
const STARVED: Duration = Duration::from_millis(1);

impl Machine {
    /// The next packet to be sent now, if there is one, in a buffer that `make` gives for a length.
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
        let mut draft =
            Draft { ack: self.acks.pending(now), grant: self.incoming.grant_due(), ..Draft::default() };
        let run = if self.recovery.is_full() { None } else { self.choose(&draft, now) };
        let tells_end = self.closing == Closing::Due && self.outgoing.is_sent();
        let is_ping = run.is_none() && (self.probes > 0 || self.is_quiet(now));
        if run.is_some() || tells_end || is_ping || draft.grant.is_some() {
            draft.number = Some(self.number(now));
        } else if self.acks.due().is_none_or(|due| now < due) {
            return None;
        }
        // A probe says it again: nothing else is left to send.
        let repeats_end = is_ping && self.closing == Closing::Told;
        draft.last = (tells_end || repeats_end).then(|| self.outgoing.next());
        draft.first = run.map(|run| run.first);
        if draft.size() + run.map_or(0, |run| run.size) > self.most {
            // A message that needs all the room: the rest goes by itself.
            draft = Draft { number: draft.number, first: draft.first, ..Draft::default() };
        }
        let packet = self.write(&draft, run, now, make);
        match (&packet, run) {
            (Some(packet), _) => self.note(&draft, run, packet.len() as u64, now),
            (None, Some(run)) => self.outgoing.lost(run.first, run.count),
            (None, None) => {}
        }
        packet
    }

    /// The messages for the next packet, as far as window, pace and the peer's grant let any go.
    fn choose(&mut self, draft: &Draft, now: Duration) -> Option<Run> {
        self.paced_until = None;
        let room = draft.size() + wire::size(self.recovery.next()) + wire::size(self.outgoing.next());
        let space = self.packet.saturating_sub(room);
        if self.probes > 0 {
            return self.outgoing.take(space).or_else(|| self.outgoing.oldest());
        }
        let in_flight = self.recovery.bytes_in_flight;
        if in_flight + self.packet as u64 > self.congestion.window() {
            return None;
        }
        // A window that is not used because the path has no use for it must not grow either.
        if in_flight >= self.reach.bytes(self.packet) || !self.outgoing.is_ready() {
            self.rate.limited(in_flight);
            return None;
        }
        let rate = pace(self.pacing_rate(), self.packet as u64);
        self.paced_until = self.pacer.ready_at(now, rate);
        if self.paced_until.is_some() { None } else { self.outgoing.take(space) }
    }

    /// The number of the next packet. Now and then one is left out, so that a peer that acknowledges what it has not
    /// received gives itself away.
    fn number(&mut self, now: Duration) -> u64 {
        if self.recovery.next() == self.skip {
            self.recovery.skip(now);
            // Only has to be hard to guess from what was left out before: a step of a linear generator.
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
        let len = draft.size() + run.map_or(0, |run| run.size);
        match make(len) {
            Ok(mut packet) => {
                // The one copy: the datapath takes packets for good, and messages may have to go again.
                let messages = run.into_iter().flat_map(|run| self.outgoing.contents(run));
                wire::write(draft, messages, &mut packet);
                Some(packet)
            }
            Err(error) => {
                tracing::debug!(%error, "no buffer for a packet");
                self.starved_until = Some(now + STARVED);
                None
            }
        }
    }

    /// Remembers a packet that goes.
    fn note(&mut self, draft: &Draft, run: Option<Run>, bytes: u64, now: Duration) {
        self.counters.packets_sent += 1;
        if draft.ack.is_some() {
            self.acks.sent();
        }
        if let Some(grant) = draft.grant {
            self.incoming.grant_sent(grant);
        }
        if draft.last.is_some() {
            self.closing = Closing::Told;
        }
        if draft.number.is_none() {
            return;
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
        };
        let snapshot = self.rate.sent(now, in_flight);
        self.recovery.sent(now, bytes, contents, snapshot);
        self.pacer.spend(bytes);
        self.probes = self.probes.saturating_sub(1);
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due, or [`poll_packet`](Self::poll_packet) may have something.
    pub(in crate::reliable) fn poll_timeout(&self) -> Option<Duration> {
        if self.is_over() {
            return None;
        }
        // Without a buffer nothing goes, whatever is due: a time that has passed would come again and again.
        let sending = match self.starved_until {
            Some(until) => [Some(until), None],
            None => [self.acks.due(), self.paced_until],
        };
        let waiting = if self.is_waiting() { self.waiting_timers() } else { [None; 3] };
        sending.into_iter().chain(waiting).flatten().min()
    }

    /// When [`handle_timeout`](Self::handle_timeout) may give the peer up. That does not depend on whether anything can be sent.
    pub(in crate::reliable) fn poll_patience(&self, now: Duration) -> Duration {
        let idle = self.settings.idle;
        if self.end.is_some() || !self.is_waiting() {
            return now + idle;
        }
        let is_in_flight = self.recovery.packets_in_flight > 0;
        idle + if is_in_flight { self.last_heard.min(self.last_progress) } else { self.last_heard }
    }

    /// Whether the peer has to answer. One that has closed need not, until this end closes as well.
    fn is_waiting(&self) -> bool {
        !self.is_peer_gone || self.closing != Closing::No
    }

    fn waiting_timers(&self) -> [Option<Duration>; 3] {
        let idle = self.settings.idle;
        let is_in_flight = self.recovery.packets_in_flight > 0;
        let patience = if is_in_flight { self.last_progress + idle } else { self.last_heard + idle / 3 };
        [self.recovery.timer(idle), Some(self.last_heard + idle), Some(patience)]
    }

    /// Does what is due.
    pub(in crate::reliable) fn handle_timeout(&mut self, now: Duration) {
        if self.is_over() || !self.is_waiting() {
            return;
        }
        let idle = self.settings.idle;
        let is_silent = now >= self.last_heard + idle;
        if is_silent && self.is_peer_gone {
            // It closed before, and need not be there to hear of this end's.
            self.closing = Closing::Confirmed;
            self.settle();
        } else if is_silent {
            self.fail(ErrorKind::TimedOut, format!("nothing was heard from the peer for {idle:?}"));
        } else if self.recovery.packets_in_flight > 0 && now >= self.last_progress + idle {
            self.refuse(Fault::NeverAcknowledged);
        } else if self.recovery.timer(idle).is_some_and(|at| at <= now) {
            if self.recovery.is_loss_due(now) {
                self.find_lost(Ack::default(), now);
            } else {
                self.probe();
            }
            self.settle();
        }
    }

    /// Nothing was acknowledged for long: sends something again.
    fn probe(&mut self) {
        self.recovery.timeouts += 1;
        self.probes = PROBES;
        self.incoming.grant_lost();
        if self.closing == Closing::Told {
            let enough = if self.is_peer_gone { ANSWERS } else { FAREWELLS };
            self.unanswered += 1;
            let is_told = self.outgoing.is_empty() && self.unanswered > enough;
            self.closing = if is_told { Closing::Confirmed } else { Closing::Due };
        }
    }

    /// Whether the peer should be asked whether it is still there.
    fn is_quiet(&self, now: Duration) -> bool {
        self.is_waiting()
            && self.recovery.packets_in_flight == 0
            && now >= self.last_heard + self.settings.idle / 3
    }
}
