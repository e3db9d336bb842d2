//! The traits of an algorithm.

use super::{Ack, Flow};
use bertha_core::Addr;
use std::fmt;
use std::sync::Arc;

/// The congestion control of one flow: a state machine from signals to window and rate.
///
/// # For implementers
///
/// [`on_ack`](Self::on_ack) runs once per acknowledgement, so it should neither allocate nor lock. Window and rate are
/// read after it.
///
/// # For datapaths
///
/// Call [`on_ack`](Self::on_ack) for every acknowledgement with new information, and when loss is found or a
/// time-out expires without an acknowledgement. Keep `bytes_in_flight` within [`window`](Self::window),
/// except for the probes of a time-out, and pace by [`rate`](Self::rate).
pub trait CongestionControl: fmt::Debug + Send + 'static {
    /// Handles the signals of one acknowledgement.
    fn on_ack(&mut self, ack: &Ack, flow: &Flow);

    /// Returns the number of bytes that may be in flight.
    fn window(&self) -> u64;

    /// Returns the rate at which to send, in bytes per second. With `None` the transport spreads the window
    /// over a round trip (RFC 9002, section 7.7).
    fn rate(&self) -> Option<u64> {
        None
    }
}

/// A congestion control algorithm, as a value that holds its configuration and starts flows.
///
/// ```
/// use bertha_chunnels::congestion::{Algorithm, NewReno};
/// assert_eq!(NewReno.start(1200).window(), 12_000);
/// ```
pub trait Algorithm: fmt::Debug + Send + Sync + 'static {
    /// Starts a flow whose packets have at most `packet` bytes.
    fn start(&self, packet: u64) -> Box<dyn CongestionControl>;

    /// Starts a flow of which more is known: algorithms that control several flows together need its
    /// addresses, and algorithms that react to marks of routers need to know if there will be marks. The
    /// default calls [`start`](Self::start).
    fn start_flow(&self, flow: &NewFlow) -> Box<dyn CongestionControl> {
        self.start(flow.packet)
    }
}

impl<A: Algorithm + ?Sized> Algorithm for Arc<A> {
    fn start(&self, packet: u64) -> Box<dyn CongestionControl> {
        (**self).start(packet)
    }

    fn start_flow(&self, flow: &NewFlow) -> Box<dyn CongestionControl> {
        (**self).start_flow(flow)
    }
}

/// A flow that begins, for [`Algorithm::start_flow`].
#[derive(Debug, Clone)]
pub struct NewFlow {
    /// Maximum number of bytes of a packet.
    pub packet: u64,
    /// The address of this end; [`Addr::Unnamed`] where it is not known.
    pub local: Addr,
    /// The address of the peer; [`Addr::Unnamed`] where it is not known.
    pub peer: Addr,
    /// True if the transport reports the number of packets that routers marked for congestion
    /// ([`Ack::ecn_packets`]).
    pub has_marks: bool,
}

impl NewFlow {
    /// Makes a flow of which only the packet size is known, and whose transport has no marks.
    pub const fn unnamed(packet: u64) -> Self {
        Self { packet, local: Addr::Unnamed, peer: Addr::Unnamed, has_marks: false }
    }
}

/// Returns the initial window of a flow, in bytes: ten packets, within the limits of RFC 9002, section 7.2.
pub(super) fn initial_window(packet: u64) -> u64 {
    (10 * packet).min((2 * packet).max(14_720))
}

/// Returns the smallest window, in bytes (RFC 9002, section 7.2).
pub(super) fn min_window(packet: u64) -> u64 {
    2 * packet
}
