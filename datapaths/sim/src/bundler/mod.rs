//! Two boxes at the ends of a path that others own, in the manner of Bundler (thesis 4.7.6; Cangialosi and others, EuroSys 2021).
//!
//! All packets from one site to another pass through a [`Sendbox`] and, behind the path, a [`Receivebox`]. The receivebox tells the
//! sendbox how much has arrived, some times per round trip. From this the sendbox computes the delay in the path's queue and the rate at
//! which packets leave it, and sends just so fast that a short queue stays there. What the senders send beyond that waits at the sendbox,
//! which, unlike the path, can choose the packets that go first. The connections through it know nothing of it.
//!
//! Without I/O: packets, feedback and the time go in, and packets come out.

mod inner_loop;
mod packets;

pub use packets::Scheduling;

use inner_loop::{InnerLoop, Measurement};
use packets::Packets;
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// The epochs in a round trip: each ends with a packet whose arrival is reported.
const EPOCHS: f64 = 4.0;

/// The reports that are awaited at most. Those of lost packets never come.
const MAX_AWAITED: usize = 256;

/// The settings of a [`Sendbox`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundle {
    /// The order in which packets leave.
    pub scheduling: Scheduling,
    /// The bytes that wait at most. A packet beyond that is dropped: the last of the flow that has the most.
    pub buffer: u64,
    /// The delay in the path's queue that is aimed at: enough that the path never runs dry, ten milliseconds for instance.
    pub target: Duration,
}

/// The box at the senders' site.
///
/// The shortest round trip so far counts as that without a queue, so the path's queue has to be empty at first. The bundle is taken for the
/// only traffic of the path. Beside traffic that fills the queue it would starve; the thesis then leaves the
/// queue to the senders, by Nimbus's detector.
pub struct Sendbox<P> {
    packets: Packets<P>,
    inner_loop: InnerLoop,
    /// The time from which on the next packet may leave.
    free_at: Duration,
    sent: u64,
    /// The count of sent bytes at which the epoch ends.
    epoch_end: u64,
    /// Whether packets have waited ever since the last epoch ended.
    is_backlogged: bool,
    /// The ends of epochs that were not reported, oldest first, and the number of the next.
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
    /// The number of the epoch that ends with it, for [`Receivebox::on_packet`]; a box on a real path would hash packets for it.
    pub epoch: Option<u64>,
}

/// The report of a [`Receivebox`] on the end of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    epoch: u64,
    /// The bytes that have arrived so far.
    received: u64,
}

/// The box at the receivers' site.
#[derive(Debug, Default)]
pub struct Receivebox {
    received: u64,
}

impl Receivebox {
    /// Counts a packet of `len` bytes. If an epoch ends with it, the result has to reach the sendbox.
    pub fn on_packet(&mut self, len: u64, epoch: Option<u64>) -> Option<Feedback> {
        self.received += len;
        epoch.map(|epoch| Feedback { epoch, received: self.received })
    }
}

impl<P> Sendbox<P> {
    /// An empty box, which lets everything pass until the first queue shows.
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

    /// Takes in a packet of `len` bytes of the flow with this hash. Returns the number of packets that were dropped for lack of room,
    /// which may be packets of other flows.
    pub fn push(&mut self, flow: u64, len: u64, packet: P) -> usize {
        self.packets.push(flow, len, packet)
    }

    /// The packet that leaves at `now`, if one may. Ask again until there is none, and at [`next_at`](Self::next_at).
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

    /// The time of the next packet: `None` if there is none.
    pub fn next_at(&self) -> Option<Duration> {
        (self.packets.bytes() > 0).then_some(self.free_at)
    }

    /// Takes in a report. One that comes twice, or after a later one, counts for nothing.
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

    /// The rate at which packets leave, in bytes per second; infinite until a queue has shown.
    pub fn rate(&self) -> f64 {
        self.inner_loop.rate()
    }

    /// The time that all packets which wait now take.
    pub fn queueing_delay(&self) -> Duration {
        self.inner_loop.time_of(self.packets.bytes())
    }

    /// Ends the epoch if it is long enough.
    fn end_epoch(&mut self, now: Duration) -> Option<u64> {
        if self.sent < self.epoch_end {
            return None;
        }
        // Each packet, as long as the path is not known: the first ones see it without a queue.
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
