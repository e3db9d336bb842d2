//! The measurements and counts of a sendbox.

use std::time::Duration;

/// The state of the path, as the acknowledgement of a boundary shows it. Times are those of the caller's
/// clock.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Measurement {
    /// The time of the acknowledgement.
    pub at: Duration,
    /// The time at which the boundary was sent.
    pub sent_at: Duration,
    /// The time between both.
    pub round_trip: Duration,
    /// The rate at which packets left the sendbox, in bytes per second, over the epochs of the last round trip;
    /// zero while there is only one boundary.
    pub sending: f64,
    /// The rate at which these packets arrived, in bytes per second.
    pub receiving: f64,
    /// Number of bytes that have arrived since the last measurement.
    pub delivered: u64,
    /// Number of bytes that were found lost since the last measurement: those that were missing for a round
    /// trip.
    pub lost: u64,
    /// Number of bytes that were sent after the boundary.
    pub in_flight: u64,
    /// Number of bytes that wait in the sendbox.
    pub waiting: u64,
    /// True if packets waited in the sendbox during the whole epoch before the boundary.
    pub is_backlogged: bool,
}

/// The counts of a [`Sendbox`](super::Sendbox).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SendboxStatistics {
    /// Number of packets that have left.
    pub packets: u64,
    /// Number of their bytes.
    pub bytes: u64,
    /// Number of bytes that wait.
    pub waiting: u64,
    /// Number of packets that were dropped for lack of room.
    pub dropped: u64,
    /// Number of packets without an identity that have left, which are never boundaries.
    pub unnamed: u64,
    /// Number of boundaries that were sent.
    pub boundaries: u64,
    /// Number of boundaries whose acknowledgements are awaited.
    pub awaited: u64,
    /// Number of packets with an identity in an epoch, on average.
    pub epoch: u64,
    /// Number of measurements.
    pub measurements: u64,
    /// Number of bytes that were found lost on the path.
    pub lost: u64,
    /// Number of messages to the receivebox.
    pub resizes: u64,
    /// Number of acknowledgements of packets that are no awaited boundaries: of smaller epochs, late, doubled
    /// or forged.
    pub unmatched: u64,
    /// Number of acknowledgements that came after later ones, or whose count can't be true.
    pub implausible: u64,
    /// Number of malformed messages.
    pub malformed: u64,
}
