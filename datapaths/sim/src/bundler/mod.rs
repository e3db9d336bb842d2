//! Two boxes at the ends of a path that they don't control, in the manner of Bundler (thesis 4.7.6;
//! Cangialosi and others, EuroSys 2021).
//!
//! All packets from a site to another site pass through a [`Sendbox`] and, behind the path, a [`Receivebox`].
//! The receivebox reports the number of arrived bytes to the sendbox, several times per round trip. From
//! these reports the sendbox computes the delay in the path's queue and the rate at which packets leave it,
//! and sends at a rate at which only a short queue stays there. Packets beyond this rate wait at the sendbox,
//! which, unlike the path, can choose the packets that go first. The connections through the boxes know
//! nothing of them.
//!
//! The boxes have no I/O: packets, feedback and the time are arguments, and packets are results.

mod inner_loop;
mod packets;

pub use packets::Scheduling;

use inner_loop::{InnerLoop, Measurement};
use packets::Packets;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// Number of epochs in a round trip: each ends with a packet whose arrival is reported.
const EPOCHS: f64 = 4.0;

/// Largest number of awaited reports. The reports of lost packets never come.
const MAX_AWAITED: usize = 256;

/// The settings of a [`Sendbox`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundle {
    /// The order in which packets leave.
    pub scheduling: Scheduling,
    /// Largest number of waiting bytes. When a packet exceeds it, the last packet of the longest flow is
    /// dropped.
    pub buffer: u64,
    /// Delay in the path's queue that the box aims at: enough that the path never runs dry, ten milliseconds
    /// for instance.
    pub target: Duration,
}

/// The box at the senders' site.
///
/// The shortest round trip so far counts as the round trip without a queue, so the path's queue has to be
/// empty at first. The box assumes that the bundle is the only traffic of the path. Beside traffic that fills
/// the queue the bundle would starve; the thesis then leaves the queue to the senders, by Nimbus's detector.
pub struct Sendbox<P> {
    packets: Packets<P>,
    inner_loop: InnerLoop,
    /// Time from which on the next packet may leave.
    free_at: Duration,
    sent: u64,
    /// Number of sent bytes at which the epoch ends.
    epoch_end: u64,
    /// True if packets have waited ever since the last epoch ended.
    is_backlogged: bool,
    /// The ends of epochs that were not reported, the oldest first, and the number of the next epoch.
    awaited: VecDeque<EpochEnd>,
    next_number: u64,
    reported: Option<Reported>,
}

#[derive(Debug)]
struct EpochEnd {
    number: u64,
    sent_at: Duration,
    is_backlogged: bool,
}

/// The last feedback, and the time at which it came.
#[derive(Debug, Clone, Copy)]
struct Reported {
    at: Duration,
    received: u64,
}

/// A packet that leaves a [`Sendbox`].
#[derive(Debug)]
pub struct Departure<P> {
    /// The packet.
    pub packet: P,
    /// The number of the epoch that ends with the packet, for [`Receivebox::on_packet`]; a box on a real path
    /// would hash packets for it.
    pub epoch: Option<u64>,
}

/// The report of a [`Receivebox`] on the end of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    epoch: u64,
    /// Number of bytes that have arrived so far.
    received: u64,
}

/// The box at the receivers' site.
#[derive(Debug, Default)]
pub struct Receivebox {
    received: u64,
}

impl Receivebox {
    /// Counts a packet of `len` bytes. If an epoch ends with it, the returned feedback has to reach the
    /// sendbox.
    pub fn on_packet(&mut self, len: u64, epoch: Option<u64>) -> Option<Feedback> {
        self.received += len;
        epoch.map(|epoch| Feedback { epoch, received: self.received })
    }
}

impl<P> Sendbox<P> {
    /// Creates an empty box, which lets all packets pass until the first queue shows.
    pub fn new(bundle: Bundle) -> Self {
        Self {
            packets: Packets::new(bundle.scheduling, bundle.buffer),
            inner_loop: InnerLoop::new(bundle.target),
            free_at: Duration::ZERO,
            sent: 0,
            epoch_end: 0,
            is_backlogged: false,
            awaited: VecDeque::new(),
            next_number: 0,
            reported: None,
        }
    }

    /// Takes a packet of `len` bytes of the flow with this hash. Returns the number of packets that were
    /// dropped for lack of room, which may belong to other flows.
    pub fn push(&mut self, flow: u64, len: u64, packet: P) -> usize {
        self.packets.push(flow, len, packet)
    }

    /// Returns the packet that leaves at `now`, if one may leave. The caller calls it again until there is
    /// none, and at [`next_at`](Self::next_at).
    pub fn pop(&mut self, now: Duration) -> Option<Departure<P>> {
        if self.free_at > now {
            return None;
        }
        let (len, packet) = self.packets.pop()?;
        self.free_at = now + self.inner_loop.time_of(len);
        self.sent += len;
        let epoch = self.end_epoch(now);
        self.is_backlogged &= self.packets.bytes() > 0;
        Some(Departure { packet, epoch })
    }

    /// Returns the time of the next packet; `None` if there is no packet.
    pub fn next_at(&self) -> Option<Duration> {
        (self.packets.bytes() > 0).then_some(self.free_at)
    }

    /// Takes a report. A report that comes twice, or after a later report, has no effect.
    pub fn on_feedback(&mut self, now: Duration, feedback: Feedback) {
        while self.awaited.pop_front_if(|end| end.number < feedback.epoch).is_some() {}
        let Some(end) = self.awaited.pop_front_if(|end| end.number == feedback.epoch) else { return };
        let round_trip = now.saturating_sub(end.sent_at);
        self.inner_loop.on_round_trip(round_trip);
        let before = self.reported.replace(Reported { at: now, received: feedback.received });
        let Some(before) = before else { return };
        let seconds = now.saturating_sub(before.at).as_secs_f64();
        if seconds > 0.0 {
            let received = feedback.received.saturating_sub(before.received);
            self.inner_loop.on_epoch(&Measurement {
                round_trip,
                arriving: received as f64 / seconds,
                is_backlogged: end.is_backlogged,
            });
        }
    }

    /// Returns the rate at which packets leave, in bytes per second; infinite until a queue has shown.
    pub fn rate(&self) -> f64 {
        self.inner_loop.rate()
    }

    /// Returns the time that all packets which wait now take.
    pub fn queueing_delay(&self) -> Duration {
        self.inner_loop.time_of(self.packets.bytes())
    }

    /// Ends the epoch if it is long enough. Returns its number.
    fn end_epoch(&mut self, now: Duration) -> Option<u64> {
        if self.sent < self.epoch_end {
            return None;
        }
        // As long as the path is not known, each packet ends an epoch: the first packets meet no queue.
        self.epoch_end = self.sent + (self.inner_loop.in_flight() / EPOCHS) as u64;
        let number = self.next_number;
        self.next_number += 1;
        let is_backlogged = std::mem::replace(&mut self.is_backlogged, true);
        if self.awaited.len() == MAX_AWAITED {
            self.awaited.pop_front();
        }
        self.awaited.push_back(EpochEnd { number, sent_at: now, is_backlogged });
        Some(number)
    }
}

impl<P> fmt::Debug for Sendbox<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sendbox")
            .field("bytes", &self.packets.bytes())
            .field("inner_loop", &self.inner_loop)
            .finish_non_exhaustive()
    }
}
