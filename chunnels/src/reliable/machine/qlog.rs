//! What the qlog of the connection is told, if it has a qlog.
//!
//! The work for a packet only tests if there is a qlog. All else is in cold functions, so that a connection without a qlog
//! pays for the test alone.

use super::outgoing::Run;
use super::recovery::{LostPacket, PACKET_THRESHOLD};
use super::rtt::{GRANULARITY, INITIAL, MAX_ACK_DELAY};
use super::{INITIAL_GRANT, Machine};
use crate::reliable::qlog::{End, Log, Metrics, Parameters, SentMessages};
use crate::reliable::wire::{Draft, Header};
use bertha_core::ErrorKind;
use std::time::Duration;

/// Tells a loss.
#[cold]
pub(super) fn log_lost(log: &mut Option<Box<Log>>, lost: LostPacket, now: Duration) {
    if let Some(log) = log {
        log.packet_lost(now, lost.number, lost.is_overdue);
    }
}

impl Machine {
    /// Begins to log, from the parameters on.
    pub(in crate::reliable) fn begin_log(&mut self, log: Option<Box<Log>>) {
        self.log = log;
        if let Some(log) = &mut self.log {
            log.parameters_set(&Parameters {
                idle: self.settings.idle,
                largest: self.max_packet,
                packet: self.packet,
                granted: INITIAL_GRANT.bytes,
                max_ack_delay: MAX_ACK_DELAY,
                initial_rtt: INITIAL,
                granularity: GRANULARITY,
                reordering_threshold: PACKET_THRESHOLD,
                window: self.congestion.window(),
            });
        }
        self.log_metrics(false, Duration::ZERO);
    }

    /// Sets the time of events that have none of their own.
    #[cold]
    pub(in crate::reliable) fn set_log_time(&mut self, now: Duration) {
        if let Some(log) = &mut self.log {
            log.at(now);
        }
    }

    #[inline(always)]
    pub(super) fn log_sent(&mut self, draft: &Draft, run: Option<Run>, bytes: u64, now: Duration) {
        if self.log.is_some() {
            self.write_sent(draft, run, bytes, now);
        }
    }

    #[cold]
    fn write_sent(&mut self, draft: &Draft, run: Option<Run>, bytes: u64, now: Duration) {
        let messages = run.map(|Run { first, count, .. }| SentMessages { first, count });
        let is_probe = self.probes > 0 && draft.number.is_some();
        if let Some(log) = &mut self.log {
            log.packet_sent(now, draft, messages, bytes, is_probe);
        }
    }

    #[inline(always)]
    pub(super) fn log_received(&mut self, header: &Header, length: usize, now: Duration) {
        if self.log.is_some() {
            self.write_received(header, length, now);
        }
    }

    #[cold]
    fn write_received(&mut self, header: &Header, length: usize, now: Duration) {
        if let Some(log) = &mut self.log {
            log.packet_received(now, header, length);
        }
    }

    #[cold]
    pub(super) fn log_dropped(&mut self, length: usize, now: Duration) {
        if let Some(log) = &mut self.log {
            log.packet_dropped(now, length);
        }
    }

    /// Tells the measures as they are behind an acknowledgement.
    #[inline(always)]
    pub(super) fn log_metrics(&mut self, is_persistent: bool, now: Duration) {
        if self.log.is_some() {
            self.write_metrics(is_persistent, now);
        }
    }

    #[cold]
    fn write_metrics(&mut self, is_persistent: bool, now: Duration) {
        let metrics = Metrics {
            min_rtt: self.recovery.rtt.min(),
            smoothed_rtt: self.recovery.rtt.smoothed(),
            latest_rtt: self.recovery.rtt.latest,
            rtt_variance: self.recovery.rtt.variation(),
            timeouts: self.recovery.timeouts,
            window: self.congestion.window(),
            bytes_in_flight: self.recovery.bytes_in_flight,
            packets_in_flight: self.recovery.packets_in_flight,
            rate: self.pacing_rate(),
        };
        if let Some(log) = &mut self.log {
            if is_persistent {
                log.persistent_congestion();
            }
            log.metrics_updated(now, &metrics);
        }
    }

    /// Tells that the probe timer has expired, at the time that was set.
    #[cold]
    pub(super) fn log_probe(&mut self) {
        if let Some(log) = &mut self.log {
            let now = log.now();
            log.probe_timer_expired();
            self.log_metrics(false, now);
        }
    }

    #[cold]
    pub(super) fn log_blocked(&mut self, is_blocked: bool, now: Duration) {
        if let Some(log) = &mut self.log {
            log.at(now);
            log.blocked_updated(is_blocked);
        }
    }

    #[cold]
    pub(super) fn log_mtu(&mut self, old: usize, new: usize) {
        if let Some(log) = &mut self.log {
            log.mtu_updated(old, new);
        }
    }

    #[cold]
    pub(super) fn log_peer_closed(&mut self) {
        if let Some(log) = &mut self.log {
            log.peer_closed();
        }
    }

    #[cold]
    pub(super) fn log_end(&mut self, kind: Option<ErrorKind>, reason: &str) {
        if let Some(log) = &mut self.log {
            log.connection_closed(kind.map_or(End::ByApplication, End::Failed), reason);
        }
    }
}
