//! The box at the senders' site.

mod boundaries;
mod measurement;
mod pacer;
mod window;

pub use measurement::{Measurement, SendboxStatistics};

use crate::Header;
use crate::epoch::EpochSize;
use crate::message::{Acknowledgement, Malformed, Resize};
use crate::queue::{Queues, Waiting};
use crate::scheduling::Scheduling;
use boundaries::{Boundaries, Boundary};
use pacer::Pacer;
use std::time::Duration;
use window::{Acked, Window};

/// Time without acknowledgements after which all packets pass.
const SILENCE: Duration = Duration::from_secs(1);

/// Shortest time between two messages about the size of epochs.
const RESIZE_PAUSE: Duration = Duration::from_millis(10);

/// The settings of a [`Sendbox`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The order in which packets leave.
    pub scheduling: Scheduling,
    /// Largest number of waiting bytes. When a packet exceeds it, a packet is dropped: the last of the
    /// longest flow or of the lowest class, or the new packet.
    pub buffer: u64,
    /// A number that both boxes share. A sender that has seen no message of a box can neither choose boundaries nor forge
    /// messages; a reader of one message knows the key.
    pub key: u64,
}

/// The box at the senders' site.
///
/// The caller [pushes](Self::push) packets of the bundle, [pops](Self::pop) those that may leave, hands over
/// [messages](Self::on_message) of the receivebox, and sets the [rate](Self::set_rate) after each measurement.
///
/// The shortest round trip so far counts as the round trip without a queue in the size of epochs.
#[derive(Debug)]
pub struct Sendbox<P> {
    queues: Queues<P>,
    key: u64,
    pacer: Pacer,
    sent_bytes: u64,
    sent_packets: u64,
    size: EpochSize,
    /// True if packets have waited ever since the last boundary.
    is_backlogged: bool,
    boundaries: Boundaries,
    window: Window,
    /// The receivebox that acknowledged last.
    instance: Option<u32>,
    shortest: Duration,
    /// Time of the first boundary since the last acknowledgement.
    unanswered_since: Option<Duration>,
    /// True if the receivebox has another size of epochs, and the time from which on it may be told.
    is_resize_due: bool,
    resize_at: Duration,
    statistics: SendboxStatistics,
}

impl<P> Sendbox<P> {
    /// Creates an empty box without a limit of the rate.
    pub fn new(bundle: Bundle) -> Self {
        Self {
            queues: Queues::new(bundle.scheduling, bundle.buffer),
            key: bundle.key,
            pacer: Pacer::new(None),
            sent_bytes: 0,
            sent_packets: 0,
            size: EpochSize::default(),
            is_backlogged: false,
            boundaries: Boundaries::default(),
            window: Window::default(),
            instance: None,
            shortest: Duration::MAX,
            unanswered_since: None,
            is_resize_due: false,
            resize_at: Duration::ZERO,
            statistics: SendboxStatistics::default(),
        }
    }

    /// Takes a packet with this header. The packet has the length of the header: the caller cuts a longer one, and drops a
    /// shorter one. Returns the number of packets that were dropped for lack of room,
    /// which may be others.
    pub fn push(&mut self, header: &Header, packet: P) -> usize {
        let waiting = Waiting { len: u64::from(header.len), hash: header.hash(self.key), packet };
        let dropped = self.queues.push(header, waiting);
        self.statistics.dropped += dropped as u64;
        dropped
    }

    /// Returns the packet that leaves at `now`, if one may leave. The caller calls it again until there is
    /// none, and at [`next_at`](Self::next_at).
    pub fn pop(&mut self, now: Duration) -> Option<P> {
        let is_silent = self.is_silent(now);
        if !is_silent && self.pacer.free_at() > now {
            return None;
        }
        let Waiting { len, hash, packet } = self.queues.pop()?;
        if !is_silent {
            self.pacer.on_sent(now, len);
        }
        self.sent_bytes += len;
        self.sent_packets += 1;
        self.statistics.unnamed += u64::from(hash.is_none());
        self.is_backlogged &= self.queues.packets() > 0;
        // A rate may be so low that no boundary leaves for a long time.
        if hash.is_some() {
            self.unanswered_since.get_or_insert(now);
        }
        if let Some(hash) = hash.filter(|hash| self.size.divides(*hash)) {
            let is_backlogged = std::mem::replace(&mut self.is_backlogged, true);
            let (bytes, packets) = (self.sent_bytes, self.sent_packets - self.statistics.unnamed);
            self.boundaries.add(Boundary { hash, sent_at: now, bytes, packets, is_backlogged });
            self.statistics.boundaries += 1;
        }
        Some(packet)
    }

    /// Returns the time of the next packet; `None` if there is no packet.
    pub fn next_at(&self) -> Option<Duration> {
        let silent_at = self.unanswered_since.map_or(Duration::MAX, |since| since + SILENCE);
        (self.queues.packets() > 0).then(|| self.pacer.free_at().min(silent_at))
    }

    /// Takes a message of the receivebox that came at `now`. Returns the measurement that it completes, if
    /// any: the caller gives it to a congestion control, and sets the rate.
    ///
    /// # Errors
    /// [`Malformed`] if it is no message; the box then goes on as before.
    pub fn on_message(&mut self, now: Duration, message: &[u8]) -> Result<Option<Measurement>, Malformed> {
        let acknowledgement = Acknowledgement::decode(message);
        self.statistics.malformed += u64::from(acknowledgement.is_err());
        Ok(self.on_acknowledgement(now, acknowledgement?))
    }

    /// Returns the message for the receivebox that is due at `now`, if there is one. If it gets lost, it is due
    /// again after the next acknowledgement.
    pub fn take_message(&mut self, now: Duration) -> Option<impl AsRef<[u8]> + Send + 'static + use<P>> {
        if !self.is_resize_due || now < self.resize_at {
            return None;
        }
        self.is_resize_due = false;
        // An answer needs a round trip.
        self.resize_at = now + self.shortest.clamp(RESIZE_PAUSE, SILENCE);
        self.statistics.resizes += 1;
        Some(Resize { size: self.size }.encode(self.key))
    }

    /// Sets the rate at which packets leave, in bytes per second; `None` lets all packets pass.
    pub fn set_rate(&mut self, now: Duration, rate: Option<u64>) {
        self.pacer.set_rate(now, rate);
    }

    /// Returns the rate at which packets leave, in bytes per second; `None` if all packets pass.
    pub fn rate(&self) -> Option<u64> {
        self.pacer.rate()
    }

    /// Returns the time that all packets which wait now take.
    pub fn queueing_delay(&self) -> Duration {
        self.pacer.time_of(self.queues.bytes())
    }

    /// Returns the counts so far.
    pub fn statistics(&self) -> SendboxStatistics {
        SendboxStatistics {
            packets: self.sent_packets,
            bytes: self.sent_bytes,
            waiting: self.queues.bytes(),
            awaited: self.boundaries.len() as u64,
            epoch: 1 << self.size.exponent(),
            ..self.statistics
        }
    }

    /// Returns true if acknowledgements have stopped to come.
    fn is_silent(&self, now: Duration) -> bool {
        self.unanswered_since.is_some_and(|since| now.saturating_sub(since) >= SILENCE)
    }

    fn on_acknowledgement(&mut self, now: Duration, message: Acknowledgement) -> Option<Measurement> {
        let Some(boundary) = self.boundaries.take(message.hash, now) else {
            self.statistics.unmatched += 1;
            return None;
        };
        if self.instance.replace(message.instance) != Some(message.instance) {
            self.window.clear();
        }
        let round_trip = now.saturating_sub(boundary.sent_at);
        let Some(news) = self.window.add(Acked { boundary, at: now, received: message.received }) else {
            self.statistics.implausible += 1;
            return None;
        };
        self.unanswered_since = None;
        self.shortest = self.shortest.min(round_trip);
        let rates = self.window.rates();
        if rates.packets > 0.0 {
            self.size = EpochSize::fitting(self.shortest, rates.packets);
        }
        self.is_resize_due = self.size != message.size;
        self.statistics.measurements += 1;
        self.statistics.lost += news.lost;
        Some(Measurement {
            at: now,
            sent_at: boundary.sent_at,
            round_trip,
            sending: rates.sending,
            receiving: rates.receiving,
            delivered: news.delivered,
            lost: news.lost,
            in_flight: self.sent_bytes - boundary.bytes,
            waiting: self.queues.bytes(),
            is_backlogged: boundary.is_backlogged,
        })
    }
}
