//! The protocol without I/O: bytes, time and randomness come in as arguments.
//!
//! Times are durations since the connection began. `arrival` handles received packets, `departure` chooses the packets to send,
//! `timers` has the times at which something is due.

mod acks;
mod arrival;
mod black_hole;
mod departure;
mod events;
mod incoming;
mod marking;
mod outgoing;
mod pieces;
#[cfg(feature = "qlog")]
mod qlog;
mod reach;
mod recovery;
mod reordering;
mod rtt;
#[cfg(test)]
mod tests;
mod timers;

#[cfg(feature = "qlog")]
use super::qlog::Log;
use super::settings::ReliableSettings;
use super::wire::{Check, Fault, Grant};
use crate::congestion::delivery_rate::DeliveryRate;
use crate::congestion::{Ack, CongestionControl, Flow};
use acks::Acks;
use bertha_core::token_bucket::{self, TokenBucket};
use bertha_core::{Addr, Buf, DropCounter, EcnMarks, Error, ErrorKind};
use black_hole::BlackHole;
use incoming::Incoming;
use marking::Marking;
use outgoing::{BufferLimits, Outgoing};
use pieces::{Assembly, Cut};
use reach::Reach;
use recovery::Recovery;
use std::time::Duration;

/// The grant that both ends assume at first.
pub(super) const INITIAL_GRANT: Grant = Grant { messages: 64, bytes: 128 * 1024 };

/// The largest message: half the smallest window, so that a grant is always sent before the peer lacks space for one message.
pub(super) const LARGEST_MESSAGE: usize = 64 * 1024;

/// The time whose bytes may be sent at once, since timers are no finer, and systems take packets in bursts.
const BURST: Duration = Duration::from_millis(2);

/// The number of packets that may be sent at once in any case.
const MIN_BURST: u64 = 2;

/// One end of a connection.
#[derive(Debug)]
pub(super) struct Machine {
    settings: ReliableSettings,
    check: Check,
    /// The size that packets are filled up to.
    packet: usize,
    /// The largest packet.
    max_packet: usize,
    outgoing: Outgoing,
    incoming: Incoming,
    recovery: Recovery,
    acks: Acks,
    rate: DeliveryRate,
    reach: Reach,
    /// `None` if the datapath or the peer carries no marks, or they are off.
    marking: Option<Marking>,
    pacer: TokenBucket,
    /// Boxed, so that it is no type parameter of the Chunnel; called once per acknowledgement.
    congestion: Box<dyn CongestionControl>,
    /// The number of packets to send regardless of the window.
    probes: u32,
    /// The latest time at which the window was full.
    full_at: Option<Duration>,
    /// The time until which the pacer holds packets back.
    paced_until: Option<Duration>,
    /// The time until which to wait after the datapath had no buffer.
    starved_until: Option<Duration>,
    /// The knowledge of a path that loses large packets.
    black_hole: BlackHole,
    /// The packet that is leaving in pieces.
    cut: Option<Cut>,
    /// The packets that have left in pieces.
    cuts: u64,
    assembly: Assembly,
    last_heard: Duration,
    /// The time of the last new acknowledgement, or of the last packet sent while none was in flight.
    last_progress: Duration,
    oldest: Option<Oldest>,
    /// The next packet number to skip.
    skip: u64,
    /// The state of the generator of `skip`.
    dice: u64,
    closing: Closing,
    /// The number of time-outs since the close was sent without a packet from the peer.
    unanswered: u32,
    /// True if the peer has closed, and all its messages have arrived.
    is_peer_gone: bool,
    /// True if messages of this end were not acknowledged when the peer closed.
    is_short: bool,
    end: Option<ReliableEnd>,
    /// True once the end was told, which has one reason.
    is_end_told: bool,
    /// The fault that still has to be sent to the peer.
    abort: Option<Fault>,
    counters: Counters,
    /// Time since which the next message exceeds the peer's grant, as far as it was noticed.
    held_since: Option<Duration>,
    /// The peer's address when the connection began, for events.
    pub(in crate::reliable) peer: Addr,
    /// The packets of `counters.damaged`, for the connection's report.
    pub(in crate::reliable) damaged: DropCounter,
    /// Messages that arrived again, for the connection's report.
    pub(in crate::reliable) repeated: DropCounter,
    #[cfg(feature = "qlog")]
    log: Option<Box<Log>>,
}

/// The oldest message that was sent and is not acknowledged.
#[derive(Debug, Clone, Copy)]
struct Oldest {
    number: u64,
    /// Time at which the message became the oldest.
    since: Duration,
}

/// The progress of the close of this end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// Not closed.
    No,
    /// The close has to be sent, perhaps again.
    Due,
    /// The close was sent and is not acknowledged.
    Sent,
    /// The close is acknowledged, or assumed to be known.
    Confirmed,
    /// All messages are acknowledged as well.
    Done,
}

/// The error that ended the connection.
#[derive(Debug, Clone)]
pub(super) struct ReliableEnd {
    pub(super) kind: ErrorKind,
    pub(super) what: String,
}

impl ReliableEnd {
    pub(super) fn error(&self) -> Error {
        Error::new(self.kind, self.what.clone()).at("Reliable").ending_connection()
    }
}

/// The counters of [`ReliableStatistics`](super::ReliableStatistics).
#[derive(Debug, Default)]
struct Counters {
    packets_sent: u64,
    packets_lost: u64,
    packets_received: u64,
    damaged: u64,
    duplicates: u64,
    timeouts: u64,
}

/// The result of [`Machine::receive`].
#[derive(Debug)]
pub(super) enum Received {
    Message(Buf),
    Nothing,
    End(Error),
}

impl Machine {
    /// Makes the machine of a new connection, whose packets have at most `max` bytes. `control` starts its congestion control, for the
    /// size that packets are filled up to.
    pub(super) fn new(
        settings: ReliableSettings,
        control: impl FnOnce(u64) -> Box<dyn CongestionControl>,
        check: Check,
        max: usize,
        seed: u64,
    ) -> Self {
        let packet = settings.packet.clamp(super::wire::OVERHEAD, max.max(super::wire::OVERHEAD));
        let window = Grant { messages: settings.messages as u64, bytes: settings.bytes as u64 };
        let limits = BufferLimits { messages: settings.messages, bytes: settings.bytes };
        let congestion = control(packet as u64);
        Self {
            check,
            packet,
            max_packet: max,
            outgoing: Outgoing::new(limits, INITIAL_GRANT),
            incoming: Incoming::new(window, INITIAL_GRANT),
            recovery: Recovery::new(),
            acks: Acks::default(),
            rate: DeliveryRate::default(),
            reach: Reach::default(),
            marking: settings.ecn.then(Marking::default),
            pacer: TokenBucket::new(congestion.window()),
            congestion,
            probes: 0,
            full_at: None,
            paced_until: None,
            starved_until: None,
            black_hole: BlackHole::beyond(usize::MAX),
            cut: None,
            cuts: 0,
            assembly: Assembly::default(),
            last_heard: Duration::ZERO,
            last_progress: Duration::ZERO,
            oldest: None,
            skip: 64 + seed % 256,
            dice: seed,
            closing: Closing::No,
            unanswered: 0,
            is_peer_gone: false,
            is_short: false,
            end: None,
            is_end_told: false,
            abort: None,
            counters: Counters::default(),
            held_since: None,
            peer: Addr::Unnamed,
            damaged: DropCounter::default(),
            repeated: DropCounter::default(),
            #[cfg(feature = "qlog")]
            log: None,
            settings,
        }
    }

    /// Lets packets beyond `size` bytes leave in pieces if the path loses them.
    pub(super) fn cut_beyond(&mut self, size: usize) {
        self.black_hole = BlackHole::beyond(size);
    }

    /// Sets the counter of messages that arrive for an application that receives no more.
    pub(super) fn count_after_end(&mut self, counter: DropCounter) {
        self.incoming.after_end = counter;
    }

    /// Returns true if a message of `len` bytes fits into the buffer now.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed) once this end closes or the peer has closed; the error that ended the connection.
    pub(super) fn has_capacity(&self, len: usize) -> Result<bool, Error> {
        match self.ended() {
            Some(error) => Err(error),
            None => Ok(self.outgoing.has_capacity(len, self.reach.bytes(self.packet))),
        }
    }

    /// Buffers a message to be sent. Check [`has_capacity`](Self::has_capacity) first.
    pub(super) fn send(&mut self, message: Buf) {
        // Packets hold copies, and the message stays for at least a round trip.
        self.outgoing.push(message.kept());
    }

    /// Returns the next message that has arrived. Messages that arrived before the end are returned after the end as well.
    pub(super) fn receive(&mut self) -> Received {
        match self.incoming.pop() {
            Some(message) => Received::Message(message),
            None => self.ended().map_or(Received::Nothing, Received::End),
        }
    }

    /// Returns the reason why nothing can be sent any more, and nothing will arrive.
    fn ended(&self) -> Option<Error> {
        if self.closing != Closing::No {
            return Some(closed("this end closed the connection"));
        }
        if self.is_peer_gone {
            return Some(closed("the peer closed the connection"));
        }
        self.end.as_ref().map(ReliableEnd::error)
    }

    /// Records the marks for congestion that have arrived in all. Returns false if the peer does not count marks: they are of no use
    /// then.
    pub(super) fn on_marks(&mut self, marks: EcnMarks) -> bool {
        if self.marking.as_ref().is_some_and(Marking::is_unanswered) {
            self.marking = None;
        }
        self.marking.as_mut().map(|marking| marking.on_arrived(marks)).is_some()
    }

    /// Returns true if a new grant is worth a packet.
    pub(super) fn is_grant_due(&self) -> bool {
        self.incoming.grant_due().is_some()
    }

    /// Begins to close: buffered messages are still delivered, and received messages are dropped.
    pub(super) fn close(&mut self) {
        if self.closing == Closing::No {
            // A peer that has closed takes the connection below with it. If it had everything before, nothing is left to wait for.
            let is_whole = self.is_peer_gone && !self.is_short;
            let is_over = self.end.as_ref().is_some_and(|end| end.kind == ErrorKind::Closed);
            self.closing = if is_whole && is_over { Closing::Done } else { Closing::Due };
            self.incoming.discard();
        }
    }

    /// Records that the application has dropped the connection. Returns true if this end closes, since the peer has closed before: the
    /// peer waits until all its messages are acknowledged, and this end has nothing to lose.
    pub(super) fn part(&mut self) -> bool {
        let parts = self.is_peer_gone && self.closing == Closing::No && self.end.is_none();
        if parts {
            self.close();
        } else if self.closing == Closing::No && self.end.is_none() {
            self.tell_end(None, "this end dropped the connection");
        }
        parts
    }

    /// Returns the result of the close, once the close is complete.
    pub(super) fn closed(&self) -> Option<Result<(), Error>> {
        match (self.closing, &self.end) {
            (Closing::Done, _) => Some(Ok(())),
            (_, Some(end)) => Some(Err(end.error())),
            _ => None,
        }
    }

    /// Returns true if all messages are acknowledged.
    ///
    /// # Errors
    /// The error that ended the connection, if messages are left that can't be delivered any more.
    pub(super) fn is_drained(&self) -> Result<bool, Error> {
        match &self.end {
            _ if self.outgoing.is_empty() && self.end.is_none() => Ok(true),
            Some(end) => Err(end.error()),
            None => Ok(false),
        }
    }

    /// Handles the end of the connection below, which counts as the acknowledgement of a close if nothing else is missing.
    pub(super) fn on_base_end(&mut self, error: &Error) {
        if self.closing != Closing::No && self.outgoing.is_empty() && self.end.is_none() {
            self.done();
        }
        self.fail(error.kind(), error.context().to_owned());
    }

    /// Returns true if nothing will ever be sent again.
    pub(super) fn is_over(&self) -> bool {
        (self.end.is_some() && self.abort.is_none()) || self.closing == Closing::Done
    }

    pub(super) fn statistics(&self) -> super::ReliableStatistics {
        super::ReliableStatistics {
            packets_sent: self.counters.packets_sent,
            packets_lost: self.counters.packets_lost,
            packets_marked: self.marking.as_ref().map_or(0, |marking| marking.told().datagrams),
            packets_received: self.counters.packets_received,
            damaged: self.counters.damaged,
            duplicates: self.counters.duplicates,
            messages_repeated: self.outgoing.repeated(),
            timeouts: self.counters.timeouts,
            window: self.congestion.window(),
            rate: self.pacing_rate(),
            bytes_in_flight: self.recovery.bytes_in_flight,
            rtt: self.recovery.rtt.smoothed(),
            min_rtt: self.recovery.rtt.min(),
            to_send_messages: self.outgoing.unacknowledged() as u64,
            to_send_bytes: self.outgoing.buffered() as u64,
            is_held_by_peer: self.outgoing.is_held_by_grant(),
            to_receive_messages: self.incoming.waiting() as u64,
            packet: self.packet as u64,
            is_cut: self.black_hole.was_found(),
        }
    }

    /// Updates the state of the close after a packet or a time-out.
    fn update_closing(&mut self) {
        if !self.is_peer_gone && self.incoming.is_over() {
            self.is_peer_gone = true;
            self.is_short = !self.outgoing.is_empty();
            #[cfg(feature = "qlog")]
            self.log_peer_closed();
            // The peer receives nothing any more. A close of this end that was in flight has to be sent again.
            self.outgoing.clear();
            self.recovery.clear();
            self.oldest = None;
            if self.closing == Closing::Sent {
                self.closing = Closing::Due;
            }
        }
        if self.closing == Closing::Confirmed && self.outgoing.is_empty() && self.end.is_none() {
            self.done();
        }
    }

    /// Completes the close of this end.
    fn done(&mut self) {
        if self.closing != Closing::Done {
            self.closing = Closing::Done;
            self.tell_end(None, "this end closed the connection");
        }
    }

    fn fail(&mut self, kind: ErrorKind, what: String) {
        if self.end.is_none() && self.closing != Closing::Done {
            self.tell_end(Some(kind), &what);
        }
        self.end.get_or_insert(ReliableEnd { kind, what });
        self.outgoing.clear();
        self.recovery.clear();
        self.oldest = None;
    }

    /// Fails the connection for a fault of the peer, which is sent to the peer.
    fn refuse(&mut self, fault: Fault) {
        if self.end.is_none() {
            self.abort = Some(fault);
        }
        self.fail(ErrorKind::Malformed, format!("the peer {fault}"));
    }

    /// Reports an acknowledgement to the congestion control.
    fn report(&mut self, mut ack: Ack, is_persistent: bool, now: Duration) {
        let rates = self.rate.take(self.recovery.rtt.min());
        self.reach.sample(rates.incoming.min(rates.outgoing), self.recovery.rtt.latest, ack.spread, now);
        ack.now = now;
        if let Some(marking) = &mut self.marking {
            let marks = marking.take();
            (ack.ecn_packets, ack.ecn_bytes) = (marks.datagrams, marks.bytes);
        }
        self.counters.packets_lost += ack.lost_pkts_sample;
        // An acknowledgement is for the flight that was under way when the window was full.
        let was_full = self.full_at.is_some_and(|at| ack.newest_acked_sent.is_some_and(|sent| sent <= at));
        let flow = Flow {
            was_timeout: is_persistent,
            rtt_sample_us: self.recovery.rtt.latest.as_micros() as u64,
            rate_outgoing: rates.outgoing,
            rate_incoming: rates.incoming,
            bytes_in_flight: self.recovery.bytes_in_flight,
            packets_in_flight: self.recovery.packets_in_flight,
            is_app_limited: rates.is_app_limited,
            is_window_unused: rates.is_app_limited && !was_full,
            bytes_pending: 0,
        };
        let has_sign = ack.lost_pkts_sample > 0 || ack.ecn_packets > 0 || is_persistent;
        let window_before = has_sign.then(|| self.congestion.window());
        self.congestion.on_ack(&ack, &flow);
        if let Some(window_before) = window_before {
            self.tell_congestion(&ack, is_persistent, window_before);
        }
        #[cfg(feature = "qlog")]
        self.log_metrics(is_persistent, now);
    }

    /// Returns the pacing rate in bytes per second. If the algorithm sets no rate, it is 5/4 of a window per round trip, so that the
    /// window limits and not the pace (RFC 9002, section 7.7).
    fn pacing_rate(&self) -> u64 {
        self.congestion.rate().unwrap_or_else(|| {
            let rtt = self.recovery.rtt.smoothed().as_nanos().max(1);
            let rate = u128::from(self.congestion.window()) * 1_250_000_000 / rtt;
            u64::try_from(rate).unwrap_or(u64::MAX)
        })
    }
}

/// Returns the rate of the pacer for `per_second` bytes, in packets of up to `packet` bytes.
fn pace(per_second: u64, packet: u64) -> token_bucket::Rate {
    let mut rate = token_bucket::Rate { per_second, burst: MIN_BURST * packet };
    rate.burst = rate.burst.max(rate.earned_in(BURST));
    rate
}

fn closed(what: &'static str) -> Error {
    Error::new(ErrorKind::Closed, what).at("Reliable")
}
