//! Sending replies.

use super::{BURST, Session, Step};
use crate::resp::Outcome;
use crate::resp::clients::Ending;
use crate::resp::format::Frame;
use crate::resp::wire::NO_MEMORY;
use bertha::prelude::*;
use bertha::{Error, ErrorKind};
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Replies go out at the latest when there are so many bytes of them, however much is left of a command.
const PIECE: usize = 256 << 10;

/// The bytes around a value, at most.
const LINE: usize = 32;

/// The longest reply in bytes of values, as long as Redis's longest value.
const LONGEST_REPLY: usize = 512 << 20;

/// The most memory of commands that are read while replies to earlier ones wait.
const READ_AHEAD: usize = 64 << 20;

/// Number of outcomes that are searched for operations to resume.
const RESUMED: usize = 16;

impl Session<'_> {
    /// Sends the replies in the order of the commands.
    pub(super) async fn reply(&mut self, connection: &impl Connection<Data = Frame>) -> Result<(), Error> {
        let mut steps = std::mem::take(&mut self.steps);
        for step in steps.drain(..) {
            match step {
                Step::One => {
                    let outcome = self.one().await;
                    self.write(outcome, connection).await?;
                }
                Step::Each(count) => self.each(self.next + count, connection).await?,
                Step::Sum(count) => self.sum(self.next + count).await.write(self.version, &mut self.replies),
                Step::Here(command) => {
                    if let Err(end) = self.answer(command) {
                        self.send(connection).await?;
                        return Err(end);
                    }
                }
            }
            self.send_piece(connection).await?;
        }
        self.steps = steps;
        if self.replies.is_empty() { Ok(()) } else { self.send(connection).await }
    }

    /// The next outcome.
    async fn one(&mut self) -> Outcome {
        match self.take() {
            postponed @ Outcome::Postponed(_) => {
                self.next -= 1;
                if let Some(place) = self.outcomes.get_mut(self.next) {
                    *place = postponed;
                }
                self.resume(self.outcomes.len().min(self.next + RESUMED)).await;
                self.take()
            }
            outcome => outcome,
        }
    }

    /// Sends a list of the outcomes before `end`, or an error if it is too long.
    async fn each(&mut self, end: usize, connection: &impl Connection<Data = Frame>) -> Result<(), Error> {
        let mut length = self.length(end);
        while length <= LONGEST_REPLY && self.has_postponed(end) {
            self.resume(end).await;
            length = self.length(end);
        }
        if length > LONGEST_REPLY {
            while self.next < end {
                self.take();
            }
            let what =
                format!("ERR the reply is longer than {LONGEST_REPLY} bytes; ask for fewer keys at once");
            self.replies.error(&what);
            return Ok(());
        }
        self.replies.array(end - self.next);
        while self.next < end {
            let outcome = self.take();
            self.write(outcome, connection).await?;
        }
        Ok(())
    }

    /// The sum of the numbers before `end`, or the first outcome that is none.
    async fn sum(&mut self, end: usize) -> Outcome {
        while self.has_postponed(end) {
            self.resume(end).await;
        }
        let mut sum = Outcome::Number(0);
        while self.next < end {
            sum = match (sum, self.take()) {
                (Outcome::Number(sum), Outcome::Number(number)) => Outcome::Number(sum + number),
                (Outcome::Number(_), other) | (other, _) => other,
            };
        }
        sum
    }

    /// Takes the next outcome, and so lets go of its value.
    fn take(&mut self) -> Outcome {
        let Some(place) = self.outcomes.get_mut(self.next) else { return Outcome::Nothing };
        let outcome = std::mem::replace(place, Outcome::Done);
        self.next += 1;
        if let Some(unsent) = &mut self.unsent {
            *unsent -= outcome.value_len();
        }
        outcome
    }

    fn before(&self, end: usize) -> &[Outcome] {
        self.outcomes.get(self.next..end).unwrap_or_default()
    }

    fn has_postponed(&self, end: usize) -> bool {
        self.before(end).iter().any(|it| matches!(it, Outcome::Postponed(_)))
    }

    /// The bytes of the values before `end`.
    fn length(&self, end: usize) -> usize {
        self.before(end).iter().map(Outcome::value_len).sum()
    }

    /// Carries out the postponed operations before `end`.
    async fn resume(&mut self, end: usize) {
        let mut places = Vec::new();
        for (place, outcome) in self.outcomes.iter_mut().enumerate().take(end).skip(self.next) {
            match std::mem::replace(outcome, Outcome::Done) {
                Outcome::Postponed(operation) => {
                    places.push(place);
                    self.operations.push(operation);
                }
                done => *outcome = done,
            }
        }
        let mut outcomes = Vec::with_capacity(places.len());
        self.routes.carry_out(self.store, &mut self.operations, &mut outcomes).await;
        for (place, outcome) in places.into_iter().zip(outcomes) {
            if let Some(at) = self.outcomes.get_mut(place) {
                *at = outcome;
            }
        }
        self.unsent = None;
    }

    async fn write(
        &mut self,
        outcome: Outcome,
        connection: &impl Connection<Data = Frame>,
    ) -> Result<(), Error> {
        match outcome {
            Outcome::Value(value) if value.len() > PIECE && !self.replies.make_room(PIECE + LINE) => {
                self.replies.error(NO_MEMORY);
            }
            Outcome::Value(value) if value.len() > PIECE => {
                self.in_pieces = value.len();
                self.replies.begin_bulk(value.len());
                for piece in value.chunks(PIECE) {
                    if !self.replies.make_room(piece.len() + LINE) {
                        // The value has begun, so an error would be taken for a part of it.
                        return Err(Error::new(ErrorKind::Exhausted, "no memory for the rest of a reply"));
                    }
                    self.replies.part(piece);
                    self.send_piece(connection).await?;
                }
                self.in_pieces = 0;
                self.replies.end_bulk();
            }
            outcome => outcome.write(self.version, &mut self.replies),
        }
        self.send_piece(connection).await
    }

    /// Sends the replies if there are many bytes of them.
    async fn send_piece(&mut self, connection: &impl Connection<Data = Frame>) -> Result<(), Error> {
        if self.replies.as_bytes().len() < PIECE { Ok(()) } else { self.send(connection).await }
    }

    /// Sends the replies. While the client does not take them, further commands are read: a client that writes all of its commands before it
    /// reads a reply would else wait for ever, as this end would.
    ///
    /// # Errors
    /// The errors of the connection; [`Exhausted`](ErrorKind::Exhausted) if the client has sent too much since, or all clients together leave too much
    /// unread.
    async fn send(&mut self, connection: &impl Connection<Data = Frame>) -> Result<(), Error> {
        let mut sending = pin!(connection.send(Frame::Replies(std::mem::take(&mut self.replies))));
        // Mostly they are taken at once, and nothing has to be counted.
        let sent = poll_fn(|context| Poll::Ready(sending.as_mut().poll(context))).await;
        if let Poll::Ready(sent) = sent {
            return sent;
        }
        let mut receives = !self.client.is_stranger();
        let sent = loop {
            let unsent = match self.unsent {
                Some(unsent) => unsent,
                None => *self.unsent.insert(self.length(self.outcomes.len())),
            };
            self.held.set(PIECE + self.in_pieces + unsent + self.waiting.memory())?;
            tokio::select! {
                biased;
                sent = &mut sending => break sent,
                received = connection.recv_batch(&mut self.waiting, BURST), if receives => {
                    // An end of the stream is met again once there is nothing to answer.
                    receives = received.is_ok();
                    if self.waiting.memory() > READ_AHEAD {
                        self.client.end(Ending::Behind);
                        return Err(Error::new(ErrorKind::Exhausted, Ending::Behind.to_string()));
                    }
                }
            }
        };
        self.held.give_back();
        sent
    }
}
