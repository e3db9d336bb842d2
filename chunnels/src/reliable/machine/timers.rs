//! The timers of a connection: a single list, from which all waits and all time-outs are derived.

use super::{Closing, Machine};
use crate::congestion::Ack;
use crate::reliable::wire::Fault;
use bertha_core::ErrorKind;
use std::time::Duration;

/// The number of time-outs after which a close is no longer sent to a silent peer that has acknowledged all messages.
const MAX_CLOSES: u32 = 12;

/// The number of time-outs after which a close is no longer sent to a silent peer that has closed before, and most likely is gone.
const MAX_CLOSES_AFTER_PEER: u32 = 4;

/// The number of packets sent at a time-out (RFC 9002, section 6.2.4).
const PROBES: u32 = 2;

/// A timer of a connection.
///
/// A new timer is a variant here: the list [`ALL`](Self::ALL) must name it, or the compiler reports a variant that is never made. The
/// compiler also asks for its time, its need of the datapath, and its effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Timer {
    /// Time after which the peer is silent for too long.
    Idle,
    /// Time after which something has not arrived, although the peer is heard.
    Delivery,
    /// Time after which a packet in flight is lost, or the peer is probed for an acknowledgement.
    LossDetection,
    /// Time after which a peer is probed that has been silent while nothing was in flight.
    KeepAlive,
    /// Latest time of the next acknowledgement.
    Acknowledgement,
    /// Time until which the pacer holds packets back.
    Pacing,
    /// End of the pause after the datapath had no buffer.
    Starvation,
}

impl Timer {
    /// All timers, in the order in which their effects take place. An effect may end the connection, and with it the later timers.
    pub(super) const ALL: [Self; 7] = [
        Self::Idle,
        Self::Delivery,
        Self::LossDetection,
        Self::KeepAlive,
        Self::Acknowledgement,
        Self::Pacing,
        Self::Starvation,
    ];

    /// Returns true if the timer's only effect is that packets leave. Such a timer is not awaited while no packet can leave, since it
    /// would stay expired, and a task that awaits it would spin.
    fn sends(self) -> bool {
        match self {
            Self::Idle | Self::Delivery => false,
            Self::LossDetection
            | Self::KeepAlive
            | Self::Acknowledgement
            | Self::Pacing
            | Self::Starvation => true,
        }
    }
}

impl Machine {
    /// Returns the time of the next call of [`on_timeout`](Self::on_timeout), after which [`poll_packet`](Self::poll_packet) may return a
    /// packet.
    pub(in crate::reliable) fn next_timeout(&self) -> Option<Duration> {
        let is_starved = self.starved_until.is_some();
        self.earliest(|timer| timer == Timer::Starvation || !(is_starved && timer.sends()))
    }

    /// Returns the time of the next call of [`on_timeout`](Self::on_timeout) while the connection below takes no packets.
    pub(in crate::reliable) fn next_timeout_while_blocked(&self) -> Option<Duration> {
        self.earliest(|timer| !timer.sends())
    }

    /// Handles all timers that have expired.
    pub(in crate::reliable) fn on_timeout(&mut self, now: Duration) {
        for timer in Timer::ALL {
            if self.expiry(timer).is_some_and(|at| at <= now) {
                self.on_expired(timer, now);
            }
        }
    }

    /// Returns the earliest expiry of the timers that `is_awaited` selects.
    fn earliest(&self, is_awaited: impl Fn(Timer) -> bool) -> Option<Duration> {
        Timer::ALL.into_iter().filter(|timer| is_awaited(*timer)).filter_map(|timer| self.expiry(timer)).min()
    }

    /// Returns the time at which `timer` expires, or `None` if it is not set.
    pub(super) fn expiry(&self, timer: Timer) -> Option<Duration> {
        if self.is_over() {
            return None;
        }
        let idle = self.settings.idle;
        let awaits_peer = self.awaits_peer();
        match timer {
            Timer::Idle => awaits_peer.then_some(self.last_heard + idle),
            Timer::Delivery if awaits_peer => self.undelivered_at(),
            Timer::LossDetection if awaits_peer => self.recovery.timer(idle),
            Timer::KeepAlive if awaits_peer && self.recovery.packets_in_flight == 0 => {
                Some(self.last_heard + idle / 3)
            }
            Timer::Delivery | Timer::LossDetection | Timer::KeepAlive => None,
            Timer::Acknowledgement => self.acks.due(),
            Timer::Pacing => self.paced_until,
            Timer::Starvation => self.starved_until,
        }
    }

    /// Takes the effect of a timer that has expired.
    fn on_expired(&mut self, timer: Timer, now: Duration) {
        #[cfg(feature = "qlog")]
        self.set_log_time(now);
        match timer {
            Timer::Idle => self.on_silence(),
            Timer::Delivery => {
                self.abort = Some(Fault::NeverAcknowledged);
                self.fail(ErrorKind::TimedOut, self.undelivered(now));
            }
            Timer::LossDetection => {
                if self.recovery.is_loss_due(now) {
                    self.find_lost(Ack::default(), now);
                } else {
                    self.probe();
                }
                self.update_closing();
            }
            // The next packet is the effect, and `poll_packet` knows the time.
            Timer::KeepAlive | Timer::Acknowledgement | Timer::Pacing | Timer::Starvation => {}
        }
    }

    /// Returns true if the peer has to answer. A peer that has closed need not, until this end closes as well; after a failure of the
    /// connection no answer matters.
    fn awaits_peer(&self) -> bool {
        self.end.is_none() && (!self.is_peer_gone || self.closing != Closing::No)
    }

    /// Returns the time at which the connection fails because something has not arrived although the peer is heard: nothing new was
    /// acknowledged for the idle time-out, or the oldest message alone was not for twice as long.
    fn undelivered_at(&self) -> Option<Duration> {
        let idle = self.settings.idle;
        let progress = (self.recovery.packets_in_flight > 0).then_some(self.last_progress + idle);
        let oldest = self.oldest.map(|oldest| oldest.since + 2 * idle);
        progress.into_iter().chain(oldest).min()
    }

    /// Ends the connection, since the peer was silent for the idle time-out.
    fn on_silence(&mut self) {
        if self.is_peer_gone {
            // The peer has closed before, and need not be there to acknowledge the close of this end.
            self.closing = Closing::Confirmed;
            self.update_closing();
        } else {
            let idle = self.settings.idle;
            self.fail(ErrorKind::TimedOut, format!("nothing was heard from the peer for {idle:?}"));
        }
    }

    /// Describes the messages that have not arrived, for an error.
    fn undelivered(&self, now: Duration) -> String {
        match (self.outgoing.oldest(), self.oldest) {
            (Some((number, len)), Some(oldest)) => format!(
                "message {number}, of {len} bytes, was not acknowledged for {:?} although the peer was heard; if the path loses packets of \
                 its size, put Fragment above, with shorter pieces",
                now.saturating_sub(oldest.since)
            ),
            _ => format!("the peer acknowledged nothing for {:?}", self.settings.idle),
        }
    }

    /// Probes the peer, since nothing was acknowledged until the time-out.
    fn probe(&mut self) {
        self.recovery.timeouts += 1;
        self.counters.timeouts += 1;
        self.probes = PROBES;
        self.incoming.on_grant_lost();
        self.tell_probe();
        if self.closing == Closing::Sent {
            let max = if self.is_peer_gone { MAX_CLOSES_AFTER_PEER } else { MAX_CLOSES };
            self.unanswered += 1;
            let is_assumed = self.outgoing.is_empty() && self.unanswered > max;
            self.closing = if is_assumed { Closing::Confirmed } else { Closing::Due };
        }
    }
}
