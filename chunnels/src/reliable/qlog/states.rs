//! The rare events: the beginning and the end of a connection, and changes of its state.

use super::json::Json;
use super::log::Log;
use bertha_core::{Addr, ErrorKind};
use std::net::IpAddr;
use std::time::Duration;

/// The parameters of an end, which last as long as the connection.
#[derive(Debug, Clone, Copy)]
pub(in crate::reliable) struct Parameters {
    pub(in crate::reliable) idle: Duration,
    /// The largest packet, and the size that packets are filled up to, in bytes.
    pub(in crate::reliable) largest: usize,
    pub(in crate::reliable) packet: usize,
    /// The bytes that the peer may send at first.
    pub(in crate::reliable) granted: u64,
    pub(in crate::reliable) max_ack_delay: Duration,
    pub(in crate::reliable) initial_rtt: Duration,
    pub(in crate::reliable) granularity: Duration,
    pub(in crate::reliable) reordering_threshold: u64,
    pub(in crate::reliable) window: u64,
}

/// The end of a connection.
#[derive(Debug, Clone, Copy)]
pub(in crate::reliable) enum End {
    /// The application of this end closed or dropped the connection.
    ByApplication,
    /// The connection failed.
    Failed(ErrorKind),
}

impl Log {
    /// Writes the two ends of the connection.
    pub(super) fn connection_started(&mut self, local: &Addr, peer: &Addr) {
        if let Some(mut json) = self.begin(",\"name\":\"quic:connection_started\",\"data\":{\"local\":{") {
            endpoint(&mut json, local);
            json.raw("},\"remote\":{");
            endpoint(&mut json, peer);
            self.end(json, "}}}");
        }
    }

    /// Writes the parameters.
    pub(in crate::reliable) fn parameters_set(&mut self, parameters: &Parameters) {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        if let Some(mut json) = self.begin(
            ",\"name\":\"quic:parameters_set\",\"data\":{\"initiator\":\"local\",\"max_idle_timeout\":",
        ) {
            json.number(ms(parameters.idle));
            json.raw(",\"max_udp_payload_size\":").number(parameters.largest as u64);
            json.raw(",\"max_ack_delay\":").number(ms(parameters.max_ack_delay));
            json.raw(",\"initial_max_data\":").number(parameters.granted);
            self.end(json, "}}");
        }
        if let Some(mut json) =
            self.begin(",\"name\":\"quic:recovery_parameters_set\",\"data\":{\"reordering_threshold\":")
        {
            json.number(parameters.reordering_threshold).raw(",\"time_threshold\":1.125");
            json.raw(",\"timer_granularity\":").number(ms(parameters.granularity));
            json.raw(",\"initial_rtt\":").ms(parameters.initial_rtt);
            json.raw(",\"max_datagram_size\":").number(parameters.packet as u64);
            json.raw(",\"initial_congestion_window\":").number(parameters.window);
            self.end(json, ",\"persistent_congestion_threshold\":3}}");
        }
    }

    /// Writes that packets beyond a size leave in pieces from now on, or whole again.
    #[cold]
    pub(in crate::reliable) fn mtu_updated(&mut self, old: usize, new: usize) {
        if let Some(mut json) = self.begin(",\"name\":\"quic:mtu_updated\",\"data\":{\"old\":") {
            json.number(old as u64).raw(",\"new\":").number(new as u64);
            self.end(json, "}}");
        }
    }

    /// Writes that the peer's grant is used up, or allows more messages.
    #[cold]
    pub(in crate::reliable) fn blocked_updated(&mut self, is_blocked: bool) {
        if let Some(mut json) =
            self.begin(",\"name\":\"quic:connection_data_blocked_updated\",\"data\":{\"old\":")
        {
            let states = ["\"unblocked\",\"new\":\"blocked\"", "\"blocked\",\"new\":\"unblocked\""];
            json.raw(states[usize::from(!is_blocked)]);
            self.end(json, ",\"reason\":\"connection_flow_control\"}}");
        }
    }

    /// Writes that an acknowledgement is overdue, so that the peer is probed.
    #[cold]
    pub(in crate::reliable) fn probe_timer_expired(&mut self) {
        if let Some(json) = self.begin(
            ",\"name\":\"quic:timer_updated\",\"data\":{\"timer_type\":\"pto\",\"event_type\":\"expired\"",
        ) {
            self.end(json, "}}");
        }
    }

    /// Writes that the path lost all packets for long.
    #[cold]
    pub(in crate::reliable) fn persistent_congestion(&mut self) {
        if let Some(json) = self
            .begin(",\"name\":\"quic:congestion_state_updated\",\"data\":{\"new\":\"persistent_congestion\"")
        {
            self.end(json, "}}");
        }
    }

    /// Writes that the peer has closed, and all its messages have arrived.
    #[cold]
    pub(in crate::reliable) fn peer_closed(&mut self) {
        if let Some(json) =
            self.begin(",\"name\":\"quic:connection_state_updated\",\"data\":{\"new\":\"draining\"")
        {
            self.end(json, "}}");
        }
    }

    /// Writes the end of the connection, and all records that wait.
    #[cold]
    pub(in crate::reliable) fn connection_closed(&mut self, end: End, reason: &str) {
        if let Some(mut json) = self.begin(",\"name\":\"quic:connection_closed\",\"data\":{\"initiator\":") {
            json.raw(match end {
                End::ByApplication => "\"local\",\"trigger\":\"application\"",
                End::Failed(ErrorKind::TimedOut) => "\"local\",\"trigger\":\"idle_timeout\"",
                End::Failed(ErrorKind::Malformed) => {
                    "\"local\",\"trigger\":\"error\",\"connection_error\":\"protocol_violation\""
                }
                End::Failed(ErrorKind::Reset) => "\"remote\",\"trigger\":\"aborted\"",
                End::Failed(ErrorKind::Closed) => "\"remote\",\"trigger\":\"unspecified\"",
                End::Failed(_) => "\"local\",\"trigger\":\"error\"",
            });
            json.raw(",\"reason\":").string(reason);
            self.end(json, "}}");
            self.flush();
        }
    }
}

/// Writes an IP address and a port; other addresses have no fields.
fn endpoint(json: &mut Json, addr: &Addr) {
    let Addr::Ip(addr) = addr else { return };
    let (ip, port) = match addr.ip() {
        IpAddr::V4(_) => ("\"ip_v4\":", ",\"port_v4\":"),
        IpAddr::V6(_) => ("\"ip_v6\":", ",\"port_v6\":"),
    };
    json.raw(ip).string(&addr.ip().to_string()).raw(port).number(addr.port().into());
}
