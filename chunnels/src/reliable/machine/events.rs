//! The events of a connection for `tracing`. None of them is on the path of a message that arrives in time.

use super::Machine;
use crate::congestion::Ack;
use crate::reliable::target::TARGET;
use bertha_core::ErrorKind;
use std::time::Duration;

impl Machine {
    /// Tells the signs of congestion in an acknowledgement, and the reaction of the congestion control.
    #[cold]
    pub(super) fn tell_congestion(&self, ack: &Ack, is_persistent: bool, window_before: u64) {
        let peer = &self.peer;
        let (window, rtt) = (self.congestion.window(), self.recovery.rtt.smoothed());
        tracing::trace!(
            target: TARGET,
            %peer,
            lost = ack.lost_pkts_sample,
            marked = ack.ecn_packets,
            window_before,
            window,
            rate = self.pacing_rate(),
            in_flight = self.recovery.bytes_in_flight,
            ?rtt,
            "packets are lost or marked"
        );
        if is_persistent {
            tracing::debug!(target: TARGET, %peer, window_before, window, ?rtt, "the path loses all packets for long");
        }
    }

    /// Tells that the peer is probed.
    #[cold]
    pub(super) fn tell_probe(&mut self) {
        #[cfg(feature = "qlog")]
        self.log_probe();
        tracing::debug!(
            target: TARGET,
            peer = %self.peer,
            in_a_row = self.recovery.timeouts,
            in_flight = self.recovery.bytes_in_flight,
            rtt = ?self.recovery.rtt.smoothed(),
            "nothing was acknowledged in time, so the peer is probed"
        );
    }

    /// Records and tells that the next message exceeds the peer's grant, if it does.
    #[cold]
    pub(super) fn note_held(&mut self, now: Duration) {
        if self.held_since.is_none() && self.outgoing.is_held_by_grant() {
            self.held_since = Some(now);
            #[cfg(feature = "qlog")]
            self.log_blocked(true, now);
            tracing::trace!(
                target: TARGET,
                peer = %self.peer,
                waiting = self.outgoing.unacknowledged(),
                "the peer's grant is used up: its application has to receive first"
            );
        }
    }

    /// Records and tells that the peer's grant allows the next message again, if it does.
    #[cold]
    pub(super) fn note_granted(&mut self, now: Duration) {
        if let Some(since) = self.held_since.take_if(|_| !self.outgoing.is_held_by_grant()) {
            let held = now.saturating_sub(since);
            #[cfg(feature = "qlog")]
            self.log_blocked(false, now);
            tracing::trace!(target: TARGET, peer = %self.peer, ?held, "the peer grants more messages");
        }
    }

    /// Tells that the path loses all large packets.
    #[cold]
    pub(super) fn tell_black_hole(&mut self) {
        #[cfg(feature = "qlog")]
        self.log_mtu(self.packet, self.black_hole.safe());
        tracing::debug!(
            target: TARGET,
            peer = %self.peer,
            safe = self.black_hole.safe(),
            "the path loses all large packets, which leave in pieces now"
        );
    }

    /// Tells that the path carries large packets again.
    #[cold]
    pub(super) fn tell_large_packets(&mut self) {
        #[cfg(feature = "qlog")]
        self.log_mtu(self.black_hole.safe(), self.packet);
        tracing::debug!(target: TARGET, peer = %self.peer, "a large packet has arrived, so large packets leave whole again");
    }

    /// Tells the end of the connection, with its statistics, and its kind if it is an error.
    #[cold]
    pub(super) fn tell_end(&mut self, kind: Option<ErrorKind>, reason: &str) {
        if std::mem::replace(&mut self.is_end_told, true) {
            return;
        }
        #[cfg(feature = "qlog")]
        self.log_end(kind, reason);
        let statistics = self.statistics();
        tracing::debug!(
            target: TARGET,
            peer = %self.peer,
            ?kind,
            reason,
            sent = statistics.packets_sent,
            received = statistics.packets_received,
            lost = statistics.packets_lost,
            repeated = statistics.messages_repeated,
            timeouts = statistics.timeouts,
            damaged = statistics.damaged,
            window = statistics.window,
            rtt = ?statistics.rtt,
            min_rtt = ?statistics.min_rtt,
            unacknowledged = statistics.to_send_messages,
            "the connection ends"
        );
    }
}
