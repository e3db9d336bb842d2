//! Messages that are worked on together.

use crate::{Kind, Message, Refusal};
use std::collections::VecDeque;

/// Up to 64 messages in order, in a buffer that is used again.
#[derive(Debug)]
pub struct Burst {
    messages: Vec<Message>,
    refused: Vec<Message>,
    ended: Vec<Message>,
}

impl Default for Burst {
    fn default() -> Self {
        let empty = || Vec::with_capacity(Self::LONGEST);
        Self { messages: empty(), refused: empty(), ended: empty() }
    }
}

impl Burst {
    /// Number of messages that a burst may have.
    pub const LONGEST: usize = 64;

    /// Creates an empty burst.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the messages in their order.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the messages in their order, for changes.
    pub fn messages_mut(&mut self) -> &mut [Message] {
        &mut self.messages
    }

    /// Returns true if there is no message.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the number of messages for which there is room.
    pub fn room(&self) -> usize {
        Self::LONGEST - self.messages.len()
    }

    /// Adds a message behind the others.
    ///
    /// # Errors
    /// Returns the message if there is no room.
    pub fn push(&mut self, message: Message) -> Result<(), Message> {
        if self.room() == 0 {
            return Err(message);
        }
        self.messages.push(message);
        Ok(())
    }

    /// Takes the messages out.
    pub fn drain(&mut self) -> impl Iterator<Item = Message> {
        self.messages.drain(..)
    }

    /// Moves the requests behind so many first messages to the end of a queue. Cancellations stay: they need not wait.
    pub fn hold_requests(&mut self, first: usize, queue: &mut VecDeque<Message>) {
        if first >= self.messages.len() {
            return;
        }
        queue.extend(self.messages.extract_if(first.., |message| message.kind == Kind::Request));
    }

    /// Moves the requests that are to wait to the end of a queue.
    pub fn hold_if(&mut self, queue: &mut VecDeque<Message>, mut is_to_wait: impl FnMut(&Message) -> bool) {
        let waiting = |message: &mut Message| message.kind == Kind::Request && is_to_wait(message);
        queue.extend(self.messages.extract_if(.., waiting));
    }

    /// Ends each cancellation whose request waits in this queue, and the request: no engine behind sees them.
    pub fn cancel_held(&mut self, queue: &mut VecDeque<Message>) {
        let Self { messages, ended, .. } = self;
        let mut requests = Vec::new();
        let cancelled = messages.extract_if(.., |message| {
            if message.kind != Kind::Cancellation {
                return false;
            }
            let place = queue.iter().position(|held| held.call == message.call);
            requests.extend(place.and_then(|place| queue.remove(place)));
            place.is_some()
        });
        ended.extend(cancelled);
        ended.append(&mut requests);
    }

    pub(crate) fn requests_mut(&mut self) -> impl Iterator<Item = &mut Message> {
        self.messages.iter_mut().filter(|message| message.kind == Kind::Request)
    }

    /// Refuses the messages for which there is a reason. Their callers get failures.
    pub fn refuse_if(&mut self, mut reason: impl FnMut(&mut Message) -> Option<Refusal>) {
        let mut is_refused = |message: &mut Message| match reason(message) {
            Some(refusal) => {
                message.kind = Kind::Failure(refusal);
                true
            }
            None => false,
        };
        // Most bursts have none, and are looked at without a move.
        if let Some(first) = self.messages.iter_mut().position(&mut is_refused) {
            let mut is_first = true;
            let refused = self
                .messages
                .extract_if(first.., |message| std::mem::take(&mut is_first) || is_refused(message));
            self.refused.extend(refused);
        }
    }

    /// Refuses a message that an engine has held.
    pub fn refuse_held(&mut self, mut message: Message, refusal: Refusal) {
        message.kind = Kind::Failure(refusal);
        self.refused.push(message);
    }

    /// Moves messages from the beginning of a queue to the end of the burst: at most so many, and as far as there is room.
    pub fn take_from(&mut self, queue: &mut VecDeque<Message>, most: usize) {
        let count = most.min(self.room()).min(queue.len());
        self.messages.extend(queue.drain(..count));
    }

    /// Puts what was refused behind the others: an outcome that is refused is another outcome.
    #[inline]
    pub(crate) fn keep_refused(&mut self) {
        if self.has_refused() {
            self.messages.append(&mut self.refused);
        }
    }

    /// Returns true if something was refused.
    #[inline]
    pub(crate) fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    pub(crate) fn take_refused(&mut self) -> impl Iterator<Item = Message> {
        self.refused.drain(..)
    }

    /// Takes the messages that were ended, whose memory nobody needs any more.
    pub fn take_ended(&mut self) -> impl Iterator<Item = Message> {
        self.ended.drain(..)
    }
}
