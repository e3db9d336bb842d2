//! The client's side of a handshake whose offer carries messages.

use super::client::{Handshake, Progress};
use super::expected::Expected;
use super::ticket::HeldTicket;
use crate::Session;
use crate::wire::{Answer, CLAIM, COOKIE, PresentedTicket, early_capacity, early_cost, envelop};
use bertha_core::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A client that has proposed its stack, together with its first messages over the stack that it expects.
///
/// Works as [`Handshake`]. In addition, [`push`](Self::push) adds a message, which is sent at once with all
/// before it; the first transmission waits for a message, for [`hurry`](Self::hurry), or for some time.
#[derive(Debug)]
pub struct FirstFlight {
    handshake: Handshake,
    expected: Expected,
    claim: [u8; CLAIM],
    ticket: HeldTicket,
    /// The ticket that was sent last.
    presented: PresentedTicket,
    /// The messages that go with the offer; after the answer, the messages that the server has taken.
    messages: Vec<Vec<u8>>,
    /// The number of bytes left for messages, and the number of messages that may be added.
    room: usize,
    places: usize,
    /// Time at which the offer is sent if no call needs it earlier; `None` once it was sent.
    held_until: Option<Instant>,
    has_news: bool,
    /// True if no message can be added any more: there was an answer, or the offer was sent without messages.
    /// The server can't tell a repetition of that offer from an offer that has messages for the first time.
    is_closed: bool,
    is_answered: bool,
}

/// The effect of a message on a client with a first flight.
#[derive(Debug)]
pub enum Flight {
    /// The message is to be dropped and counted.
    Ignored,
    /// The server asks for the offer once more: call [`poll_transmit`](FirstFlight::poll_transmit).
    Again,
    /// The message is data that overtook the answer, and is to be kept.
    Early,
    /// The server agreed as expected, and has taken some of the messages. The rest is to be sent as data
    /// before any other message.
    Confirmed {
        /// The answer.
        answer: Answer,
        /// Its session.
        session: Arc<Session>,
        /// The messages that the server has not taken.
        rest: Vec<Vec<u8>>,
    },
    /// The server agreed to another stack, over which the messages of the flight have no meaning. It has
    /// taken none of them.
    Replaced(Answer, Arc<Session>),
}

/// The client's expectation of the answer, as its first flight states it.
pub(crate) struct Claim {
    pub(crate) expected: Expected,
    /// The digest of `expected`.
    pub(crate) claim: [u8; CLAIM],
    pub(crate) ticket: HeldTicket,
}

impl FirstFlight {
    /// The offer, without messages.
    pub(crate) fn offer(&self) -> &[u8] {
        self.handshake.current()
    }

    /// Makes the first flight of `handshake` with a ticket of the server, over a base connection that carries
    /// `mtu` bytes. Its offer waits `delay` for a message, and takes at most `most` messages.
    pub fn new(
        handshake: Handshake,
        expected: Expected,
        ticket: HeldTicket,
        mtu: usize,
        most: usize,
        delay: Duration,
        now: Instant,
    ) -> Self {
        let claim = expected.claim();
        Self::claiming(handshake, Claim { expected, claim, ticket }, mtu, most, delay, now)
    }

    /// Works as [`new`](Self::new), with a claim that was computed before.
    pub(crate) fn claiming(
        handshake: Handshake,
        Claim { expected, claim, ticket }: Claim,
        mtu: usize,
        most: usize,
        delay: Duration,
        now: Instant,
    ) -> Self {
        let room = early_capacity(handshake.offer().len(), mtu, handshake.seals_early());
        Self {
            handshake,
            expected,
            claim,
            ticket,
            presented: ticket.presented(now),
            messages: Vec::new(),
            room,
            places: most,
            held_until: Some(now + delay),
            has_news: false,
            is_closed: false,
            is_answered: false,
        }
    }

    /// Returns the connection id.
    pub fn id(&self) -> u64 {
        self.handshake.id()
    }

    /// Returns the number of forged messages in the server's name.
    pub fn forged(&self) -> u64 {
        self.handshake.forged()
    }

    /// Adds a message, which is sent until there is an answer. Returns false if the message does not fit,
    /// there was an answer, or the offer was sent without messages.
    pub fn push(&mut self, message: &[u8]) -> bool {
        let cost = early_cost(message);
        if self.is_closed || self.places == 0 || cost > self.room || message.len() > usize::from(u16::MAX) {
            return false;
        }
        self.places -= 1;
        self.room -= cost;
        self.messages.push(message.to_vec());
        (self.has_news, self.held_until) = (true, None);
        true
    }

    /// Makes the offer due, since the application waits. Returns false if the offer was sent before.
    pub fn hurry(&mut self) -> bool {
        self.held_until.take().is_some()
    }

    /// Returns the time for the next call of [`poll_transmit`](Self::poll_transmit), if no message is added.
    pub fn poll_timeout(&self) -> Instant {
        self.held_until.unwrap_or_else(|| self.handshake.poll_timeout())
    }

    /// Returns the offer with all messages so far, if it is to be sent now.
    ///
    /// # Errors
    /// The errors of [`Handshake::poll_transmit`].
    pub fn poll_transmit(&mut self, now: Instant) -> Result<Option<Vec<u8>>, Error> {
        if self.is_answered || self.held_until.is_some_and(|until| now < until) {
            return Ok(None);
        }
        self.held_until = None;
        let is_due = self.handshake.poll_transmit(now)?.is_some();
        if !is_due && !std::mem::take(&mut self.has_news) {
            return Ok(None);
        }
        self.has_news = false;
        self.is_closed |= self.messages.is_empty();
        self.presented = self.ticket.presented(now);
        Ok(Some(self.with_messages(self.handshake.current())))
    }

    /// Returns the offer with the messages that the server has taken, for a server that has had to forget the
    /// offer before its confirmation, and may want this cookie by now. The age of the ticket is not updated:
    /// once the time of the ticket is over, the server may have forgotten that it has received the messages.
    pub(crate) fn again(&self, cookie: Option<&[u8; COOKIE]>) -> Option<Vec<u8>> {
        let returned = cookie.map(|cookie| envelop(cookie, self.handshake.offer()));
        match returned {
            Some(returned) => Some(self.with_messages(&returned?)),
            None => Some(self.with_messages(self.handshake.current())),
        }
    }

    fn with_messages(&self, offer: &[u8]) -> Vec<u8> {
        let messages = self.messages.iter().map(|message| &message[..]);
        self.handshake.with_early(offer, &self.claim, self.presented, messages)
    }

    /// Handles a received message.
    ///
    /// # Errors
    /// The errors of [`Handshake::handle`].
    pub fn handle(&mut self, message: &[u8]) -> Result<Flight, Error> {
        if self.is_answered {
            return Ok(Flight::Ignored);
        }
        let (answer, session) = match self.handshake.handle(message)? {
            Progress::Ignored => return Ok(Flight::Ignored),
            Progress::Again => return Ok(Flight::Again),
            Progress::Early => return Ok(Flight::Early),
            Progress::Agreed(answer, session) => (answer, session),
        };
        let is_expected = self.handshake.expectation(&answer) == self.expected;
        let taken = usize::from(answer.early);
        if taken > self.messages.len() || (taken > 0 && !is_expected) {
            return Ok(Flight::Ignored);
        }
        (self.is_answered, self.is_closed) = (true, true);
        if !is_expected {
            return Ok(Flight::Replaced(answer, session));
        }
        let rest = self.messages.split_off(taken);
        Ok(Flight::Confirmed { answer, session, rest })
    }
}
