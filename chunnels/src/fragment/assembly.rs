//! The reassembly of messages, without I/O.

use super::age::Age;
use super::budget::{Account, Budget, Debtor};
use super::partial::Partial;
use super::piece::Piece;
use super::settings::FragmentSettings;
use bertha_core::{Buf, DropCounter};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The memory of all connections that a `Fragment` makes.
pub(super) type SharedBudget = Budget<Mutex<Assembly>>;

/// The incomplete messages of a connection.
#[derive(Debug)]
pub(super) struct Assembly {
    messages: BTreeMap<u32, Partial>,
    /// The numbers of the messages, oldest first: by the time at which they began, were last found to be
    /// active, or got their memory.
    by_age: BTreeMap<Age, u32>,
    next_age: Age,
    /// Maximum length of a message.
    limit: u32,
    /// Maximum number of messages that may be incomplete at a time.
    max_messages: usize,
    /// Maximum number of bytes that all messages may occupy.
    max_bytes: usize,
    /// The number of bytes that they occupy.
    account: Account<Mutex<Self>>,
    expiry: Duration,
    /// The number of messages that were evicted or have expired.
    pub(super) abandoned: DropCounter,
    /// The peer's violation of the protocol, if there was one.
    pub(super) refused: Option<Contradiction>,
}

/// The fate of a piece.
enum Step {
    /// The piece is inserted, and completes this message, if any.
    Done(Option<Buf>),
    /// Another connection has to give up a message first.
    Owed(Arc<Mutex<Assembly>>),
}

/// A violation of the protocol by the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contradiction {
    /// The message exceeds the limit.
    Limit,
    /// The message has no such piece, or a piece of another length.
    Extent,
    /// Another piece of the message states another length of the message or of its pieces.
    Shape,
    /// The piece arrived before with other content.
    Content,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Limit => "the message exceeds the limit that was agreed on",
            Self::Extent => "a piece has a length or an index that its message does not allow",
            Self::Shape => "two pieces of one message differ about its length or its pieces",
            Self::Content => "a piece came twice with different contents",
        })
    }
}

impl Assembly {
    pub(super) fn new(
        settings: FragmentSettings,
        budget: &Arc<SharedBudget>,
        abandoned: DropCounter,
    ) -> Arc<Mutex<Self>> {
        let FragmentSettings { limit, incomplete: max_messages, expiry, .. } = settings;
        let max_bytes = settings.memory_of_one();
        Arc::new_cyclic(|this| {
            let account = budget.open(this.clone());
            let (messages, by_age, next_age, refused) = Default::default();
            Mutex::new(Self {
                messages,
                by_age,
                next_age,
                limit,
                max_messages,
                max_bytes,
                account,
                expiry,
                abandoned,
                refused,
            })
        })
    }

    /// Returns the number of incomplete messages, and of the bytes that they occupy.
    pub(super) fn incomplete(&self) -> (usize, usize) {
        (self.messages.len(), self.account.bytes())
    }

    /// Inserts a piece into `this`, and returns the message that it completes, if any, with the receipts of its
    /// pieces. Reads the clock when a message begins or gets its memory.
    ///
    /// # Errors
    /// A [`Contradiction`] of the piece with itself or another piece, which the connection remembers.
    pub(super) fn insert(
        this: &Mutex<Self>,
        piece: Piece,
        bytes: Buf,
        now: impl Fn() -> Instant,
    ) -> Result<Option<Buf>, Contradiction> {
        let mut bytes = Some(bytes);
        loop {
            let step = this.lock().step(piece, &mut bytes, &now);
            match step {
                Ok(Step::Done(message)) => return Ok(message),
                // No other lock is held here, so that two connections can't wait for each other.
                Ok(Step::Owed(debtor)) => debtor.lock().evict_oldest(),
                Err(contradiction) => {
                    this.lock().refused.get_or_insert(contradiction);
                    return Err(contradiction);
                }
            }
        }
    }

    /// Inserts a piece, and takes it if it has to be kept.
    fn step(
        &mut self,
        piece: Piece,
        received: &mut Option<Buf>,
        now: impl Fn() -> Instant,
    ) -> Result<Step, Contradiction> {
        let Some(bytes) = received.as_deref() else { return Ok(Step::Done(None)) };
        if piece.length > self.limit {
            return Err(Contradiction::Limit);
        }
        piece.range().filter(|range| range.len() == bytes.len()).ok_or(Contradiction::Extent)?;
        if !self.messages.contains_key(&piece.message)
            && let Err(debtor) = self.begin(piece, now())
        {
            return Ok(Step::Owed(debtor));
        }
        let Some(partial) = self.messages.get_mut(&piece.message) else { return Ok(Step::Done(None)) };
        if !partial.has_shape_of(piece) {
            return Err(Contradiction::Shape);
        }
        if let Some(before) = partial.arrived(piece) {
            if before != bytes {
                return Err(Contradiction::Content);
            }
            partial.keep_receipt(received.take());
            return Ok(Step::Done(None));
        }
        let further = partial.further_cost(piece, bytes);
        if further > 0
            && let Err(debtor) = self.make_room(piece, further, now())
        {
            return Ok(Step::Owed(debtor));
        }
        let completed = match self.messages.get_mut(&piece.message) {
            Some(partial) => {
                let completed = partial.insert(piece, bytes);
                partial.keep_receipt(received.take());
                completed
            }
            None => false,
        };
        let message = completed.then(|| self.remove(piece.message)).flatten();
        Ok(Step::Done(message.and_then(Partial::into_message)))
    }

    /// Begins a message, and evicts the oldest messages if it needs their memory. Without memory it is not
    /// begun.
    fn begin(&mut self, piece: Piece, now: Instant) -> Result<(), Arc<Mutex<Self>>> {
        self.expire(now);
        while self.messages.len() >= self.max_messages {
            self.evict_oldest();
        }
        let cost = Partial::first_cost(piece);
        self.take(cost, 0)?;
        let age = self.advance();
        match Partial::new(piece, age, now) {
            Some(partial) => {
                self.by_age.insert(age, piece.message);
                self.messages.insert(piece.message, partial);
            }
            None => self.account.give(cost),
        }
        Ok(())
    }

    /// Gives a message its memory, and makes it the youngest. Without memory it is dropped.
    fn make_room(&mut self, piece: Piece, further: usize, now: Instant) -> Result<(), Arc<Mutex<Self>>> {
        self.refresh(piece.message, now);
        self.take(further, 1)?;
        let partial = self.messages.get_mut(&piece.message);
        if !partial.is_some_and(|partial| partial.make_room(piece)) {
            self.account.give(further);
            self.remove(piece.message);
            self.abandoned.add(1);
        }
        Ok(())
    }

    /// Takes `bytes` from the budget, and evicts the oldest messages for them, except the `kept` youngest
    /// messages.
    fn take(&mut self, bytes: usize, kept: usize) -> Result<(), Arc<Mutex<Self>>> {
        loop {
            let may_give = self.messages.len() > kept;
            if may_give && self.account.bytes() + bytes > self.max_bytes {
                self.evict_oldest();
                continue;
            }
            match self.account.take(bytes, may_give) {
                Ok(()) => return Ok(()),
                Err(Debtor::Asker) => self.evict_oldest(),
                Err(Debtor::Other(debtor)) => return Err(debtor),
            }
        }
    }

    /// Drops the oldest messages that have been waiting too long. A message that was active in the meantime
    /// begins to wait anew, so each message is visited at most once for each of its pieces.
    fn expire(&mut self, now: Instant) {
        while let Some((_, &number)) = self.by_age.first_key_value() {
            let Some(partial) = self.messages.get(&number) else { return };
            if now.saturating_duration_since(partial.since) < self.expiry {
                return;
            }
            match partial.is_active {
                true => self.refresh(number, now),
                false => self.evict_oldest(),
            }
        }
    }

    /// Makes a message the youngest.
    fn refresh(&mut self, message: u32, now: Instant) {
        let age = self.advance();
        if let Some(partial) = self.messages.get_mut(&message) {
            self.by_age.remove(&partial.age);
            self.by_age.insert(age, message);
            (partial.age, partial.since, partial.is_active) = (age, now, false);
        }
    }

    fn advance(&mut self) -> Age {
        self.next_age.0 += 1;
        self.next_age
    }

    fn evict_oldest(&mut self) {
        if let Some((_, &oldest)) = self.by_age.first_key_value() {
            self.remove(oldest);
            self.abandoned.add(1);
        }
    }

    fn remove(&mut self, message: u32) -> Option<Partial> {
        let partial = self.messages.remove(&message)?;
        self.by_age.remove(&partial.age);
        self.account.give(partial.cost);
        Some(partial)
    }
}

#[cfg(test)]
mod tests;
