//! The protocol without I/O: bytes, time and randomness come in as arguments.
//!
//! Times are those since the connection began. What happens to a packet that arrives is in `arrival`, what goes out
//! and when in `departure`.

mod acks;
mod arrival;
mod delivery_rate;
mod departure;
mod incoming;
mod outgoing;
mod reach;
mod recovery;
mod rtt;
#[cfg(test)]
mod tests;

use super::settings::Settings;
use super::wire::{Fault, Grant};
use crate::congestion::{Ack, Algorithm, CongestionControl, Flow};
use acks::Acks;
use bertha_core::token_bucket::{self, TokenBucket};
use bertha_core::{Buf, Error, ErrorKind};
use delivery_rate::DeliveryRate;
use incoming::Incoming;
use outgoing::{Limits, Outgoing};
use reach::Reach;
use recovery::Recovery;
use std::time::Duration;

/// What both ends take for granted before they hear from each other.
pub(super) const INITIAL_GRANT: Grant = Grant { messages: 64, bytes: 128 * 1024 };

/// The largest message: half the smallest window, so that a peer that waits for room for one is always told of it.
pub(super) const LARGEST_MESSAGE: usize = 64 * 1024;

/// How much time's worth of bytes may go at once, since timers are not finer, and systems take packets in bursts.
const BURST: Duration = Duration::from_millis(2);

/// How many packets may go at once in any case.
const MIN_BURST: u64 = 2;

/// One end of a connection.
#[derive(Debug)]
pub(super) struct Machine {
    settings: Settings,
    /// The size that packets are filled up to.
    packet: usize,
    /// The largest packet.
    most: usize,
    outgoing: Outgoing,
    incoming: Incoming,
    recovery: Recovery,
    acks: Acks,
    rate: DeliveryRate,
    reach: Reach,
    pacer: TokenBucket,
    /// Behind a pointer, so that no type that a user spells depends on it: one call per acknowledgement.
    congestion: Box<dyn CongestionControl>,
    /// How many packets go whatever the window says.
    probes: u32,
    /// Until when the pacer holds back what could go.
    paced_until: Option<Duration>,
    /// Until when to wait after the datapath had no buffer.
    starved_until: Option<Duration>,
    last_heard: Duration,
    /// When something was last acknowledged, or sent while nothing was in flight.
    last_progress: Duration,
    /// The next packet number to leave out.
    skip: u64,
    dice: u64,
    closing: Closing,
    /// How many time-outs the peer was told of the end without a word from it.
    unanswered: u32,
    /// Whether the peer has closed, and all that it sent before has arrived.
    is_peer_gone: bool,
    end: Option<End>,
    /// Whether the peer still has to be told why this end gives up.
    abort: Option<Fault>,
    counters: Counters,
}

/// What this end has done to close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closing {
    /// Nothing.
    No,
    /// The peer has to be told, perhaps again.
    Due,
    /// The peer was told and has not confirmed it.
    Told,
    /// The peer has confirmed it, or is taken to know.
    Confirmed,
    /// It has confirmed all messages as well.
    Done,
}

/// Why nothing more can be sent or will arrive.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) kind: ErrorKind,
    pub(super) what: String,
}

impl End {
    pub(super) fn error(&self) -> Error {
        Error::new(self.kind, self.what.clone()).at("Reliable")
    }
}

/// What happened so far. See [`Statistics`](super::Statistics).
#[derive(Debug, Default)]
struct Counters {
    packets_sent: u64,
    packets_lost: u64,
    packets_received: u64,
    damaged: u64,
    duplicates: u64,
}

/// What the application gets.
#[derive(Debug)]
pub(super) enum Received {
    Message(Buf),
    Nothing,
    End(Error),
}

impl Machine {
    /// A new connection, whose packets have at most `most` bytes.
    pub(super) fn new(settings: Settings, algorithm: &dyn Algorithm, most: usize, seed: u64) -> Self {
        let packet = settings.packet.clamp(super::wire::OVERHEAD, most.max(super::wire::OVERHEAD));
        let window = Grant { messages: settings.messages as u64, bytes: settings.bytes as u64 };
        let limits = Limits { messages: settings.messages, bytes: settings.bytes };
        let congestion = algorithm.start(packet as u64);
        Self {
            packet,
            most,
            outgoing: Outgoing::new(limits, INITIAL_GRANT),
            incoming: Incoming::new(window, INITIAL_GRANT),
            recovery: Recovery::new(),
            acks: Acks::default(),
            rate: DeliveryRate::default(),
            reach: Reach::default(),
            pacer: TokenBucket::new(congestion.window()),
            congestion,
            probes: 0,
            paced_until: None,
            starved_until: None,
            last_heard: Duration::ZERO,
            last_progress: Duration::ZERO,
            skip: 64 + seed % 256,
            dice: seed,
            closing: Closing::No,
            unanswered: 0,
            is_peer_gone: false,
            end: None,
            abort: None,
            counters: Counters::default(),
            settings,
        }
    }

    /// Whether a message of `len` bytes can be taken now.
    ///
    /// # Errors
    /// Once this end closes, the peer has closed, or the connection has failed.
    pub(super) fn has_room(&self, len: usize) -> Result<bool, Error> {
        match self.ended() {
            Some(error) => Err(error),
            None => Ok(self.outgoing.has_room(len, self.reach.bytes(self.packet))),
        }
    }

    /// Takes a message to be sent. Ask [`has_room`](Self::has_room) before.
    pub(super) fn send(&mut self, message: Buf) {
        // What goes is a copy, and the message stays for a round trip at least.
        self.outgoing.push(message.kept());
    }

    /// The next message that has arrived. What arrived before the end can still be had after it.
    pub(super) fn receive(&mut self) -> Received {
        match self.incoming.pop() {
            Some(message) => Received::Message(message),
            None => self.ended().map_or(Received::Nothing, Received::End),
        }
    }

    /// Why nothing can be sent any more, and nothing will arrive.
    fn ended(&self) -> Option<Error> {
        if self.closing != Closing::No {
            return Some(closed("this end closed the connection"));
        }
        if self.is_peer_gone {
            return Some(closed("the peer closed the connection"));
        }
        self.end.as_ref().map(End::error)
    }

    /// Whether telling the peer what it may send now is worth a packet.
    pub(super) fn is_grant_due(&self) -> bool {
        self.incoming.grant_due().is_some()
    }

    /// Begins to close: what was sent before still arrives, and what arrives is dropped.
    pub(super) fn close(&mut self) {
        if self.closing == Closing::No {
            self.closing = Closing::Due;
            self.incoming.discard();
        }
    }

    /// How the close went, once it is over.
    pub(super) fn closed(&self) -> Option<Result<(), Error>> {
        match (self.closing, &self.end) {
            (Closing::Done, _) => Some(Ok(())),
            (_, Some(end)) => Some(Err(end.error())),
            _ => None,
        }
    }

    /// Whether the peer has everything that was sent.
    ///
    /// # Errors
    /// Once it can't get the rest any more.
    pub(super) fn is_drained(&self) -> Result<bool, Error> {
        match &self.end {
            _ if self.outgoing.is_empty() && self.end.is_none() => Ok(true),
            Some(end) => Err(end.error()),
            None => Ok(false),
        }
    }

    /// The connection below has ended. That is as good as a confirmation if only that was missing.
    pub(super) fn lost_base(&mut self, error: &Error) {
        if self.closing != Closing::No && self.outgoing.is_empty() && self.end.is_none() {
            self.closing = Closing::Done;
        }
        self.fail(error.kind(), error.context().to_owned());
    }

    /// Whether there is nothing left to send, ever.
    pub(super) fn is_over(&self) -> bool {
        (self.end.is_some() && self.abort.is_none()) || self.closing == Closing::Done
    }

    pub(super) fn statistics(&self) -> super::Statistics {
        super::Statistics {
            packets_sent: self.counters.packets_sent,
            packets_lost: self.counters.packets_lost,
            packets_received: self.counters.packets_received,
            damaged: self.counters.damaged,
            duplicates: self.counters.duplicates,
            window: self.congestion.window(),
            rate: self.pacing_rate(),
            bytes_in_flight: self.recovery.bytes_in_flight,
            rtt: self.recovery.rtt.smoothed(),
        }
    }

    /// Settles what follows from what just arrived or expired.
    fn settle(&mut self) {
        if !self.is_peer_gone && self.incoming.is_over() {
            self.is_peer_gone = true;
            // It receives nothing any more. Our own end, if it was on its way, has to be told again.
            self.outgoing.clear();
            self.recovery.clear();
            if self.closing == Closing::Told {
                self.closing = Closing::Due;
            }
        }
        if self.closing == Closing::Confirmed && self.outgoing.is_empty() && self.end.is_none() {
            self.closing = Closing::Done;
        }
    }

    fn fail(&mut self, kind: ErrorKind, what: String) {
        self.end.get_or_insert(End { kind, what });
        self.outgoing.clear();
        self.recovery.clear();
    }

    /// Gives up on a peer that breaks the protocol, and tells it so.
    fn refuse(&mut self, fault: Fault) {
        if self.end.is_none() {
            self.abort = Some(fault);
        }
        self.fail(ErrorKind::Malformed, format!("the peer {fault}"));
    }

    /// Reports to the congestion control.
    fn report(&mut self, mut ack: Ack, is_persistent: bool, now: Duration) {
        let rates = self.rate.take(self.recovery.rtt.least());
        self.reach.sample(rates.incoming.min(rates.outgoing), self.recovery.rtt.latest, now);
        ack.now = now;
        self.counters.packets_lost += ack.lost_pkts_sample;
        let flow = Flow {
            was_timeout: is_persistent,
            rtt_sample_us: self.recovery.rtt.latest.as_micros() as u64,
            rate_outgoing: rates.outgoing,
            rate_incoming: rates.incoming,
            bytes_in_flight: self.recovery.bytes_in_flight,
            packets_in_flight: self.recovery.packets_in_flight,
            is_app_limited: rates.is_app_limited,
        };
        self.congestion.on_ack(&ack, &flow);
    }

    /// How fast to send, in bytes per second: a little faster than the window turns round, where the algorithm leaves it
    /// open, so that the window and not the pace is what limits (RFC 9002, section 7.7).
    fn pacing_rate(&self) -> u64 {
        self.congestion.rate().unwrap_or_else(|| {
            let rtt = self.recovery.rtt.smoothed().as_nanos().max(1);
            let rate = u128::from(self.congestion.window()) * 1_250_000_000 / rtt;
            u64::try_from(rate).unwrap_or(u64::MAX)
        })
    }
}

/// The rate of the pacer for `per_second` bytes, in packets of up to `packet` bytes.
fn pace(per_second: u64, packet: u64) -> token_bucket::Rate {
    let mut rate = token_bucket::Rate { per_second, burst: MIN_BURST * packet };
    rate.burst = rate.burst.max(rate.earned_in(BURST));
    rate
}

fn closed(what: &'static str) -> Error {
    Error::new(ErrorKind::Closed, what).at("Reliable")
}
