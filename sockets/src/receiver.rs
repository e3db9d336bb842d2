//! The end of a direction that reads.

use crate::Side;
use crate::control::{ANSWERED, ASKED, Field};
use bertha_ring::{Broken, Consumer, Cursor, Word};

/// The place of the next bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The ring has bytes.
    Ring,
    /// The stream is on the carrier.
    Carrier,
    /// The stream is in the ring, which is empty. This many bells may lie on the carrier, and have to be taken before the stream is
    /// there again.
    Bells(u64),
}

/// The words of the sender as they are for a receiver that looks at them no more: those of a stream that has moved back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Severed {
    pub(crate) moved: u64,
    pub(crate) ring_at: u64,
    pub(crate) ring_end: u64,
    pub(crate) back_at: u64,
}

/// The state of the end that reads. All of its methods have to get the side that belongs to it.
#[derive(Debug)]
pub struct Receiver {
    consumer: Consumer,
    pub(crate) cursor: Cursor,
    /// The number of moves that were followed, odd in the ring.
    moves: u64,
    /// The bytes that were taken from the carrier, bells included.
    carrier: u64,
    /// The bytes that were taken from the ring.
    pub(crate) ring: u64,
    recalled: bool,
    /// The bytes of the ring up to which they come from there, whatever the sender answers to the question for the stream.
    pub(crate) claimed: u64,
    pub(crate) severed: Option<Severed>,
}

impl Receiver {
    /// Creates the state of a receiver that has taken `carrier` bytes from the socket, and sleeps.
    pub fn new<W: Word>(side: Side<'_, W>, carrier: u64) -> Self {
        let consumer = Consumer::new(side.longest);
        let cursor = consumer.cursor();
        Self { consumer, cursor, moves: 0, carrier, ring: 0, recalled: false, claimed: 0, severed: None }
    }

    /// Tells the sender that the ring is read from now on.
    pub fn attach<W: Word>(&self, side: Side<'_, W>) {
        Consumer::fall_asleep(side.ring);
        side.control.set(Field::Attached, 1);
    }

    /// Returns true if the stream is in the ring, as far as the receiver has followed it.
    #[inline]
    pub fn is_in_ring(&self) -> bool {
        self.moves % 2 == 1
    }

    /// Returns true if the sender has gone back to the carrier, where the receiver has not followed it yet.
    #[inline]
    pub fn is_left<W: Word>(&self, side: Side<'_, W>) -> bool {
        self.is_in_ring() && self.word(side, Field::Moved) != self.moves
    }

    /// Returns the bytes that were taken from the carrier, bells included.
    pub(crate) fn carrier(&self) -> u64 {
        self.carrier
    }

    /// Returns the number of moves that were followed.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Follows the sender as far as all bytes before a move are taken, and tells where the next bytes are.
    ///
    /// # Errors
    /// Fails if the sender claims an impossible place.
    #[inline]
    pub fn next<W: Word>(&mut self, side: Side<'_, W>) -> Result<Source, Broken> {
        // A sender moves once more only after its move back was acknowledged, so an honest one ends this.
        for _ in 0..4 {
            if !self.is_in_ring() {
                if self.word(side, Field::Moved) == self.moves {
                    return Ok(Source::Carrier);
                }
                match self.left_before_ring(side)? {
                    0 => self.moves += 1,
                    _ => return Ok(Source::Carrier),
                }
                continue;
            }
            if self.has_bytes(side) {
                return Ok(Source::Ring);
            }
            if self.word(side, Field::Moved) == self.moves {
                let bells = self.word(side, Field::Rung).saturating_sub(self.carrier);
                return Ok(Source::Bells(bells));
            }
            // The sender has moved back, and before that it may have written.
            if self.has_bytes(side) {
                return Ok(Source::Ring);
            }
            let end = self.word(side, Field::RingEnd);
            if end != self.ring {
                return Err(Broken::Position(end));
            }
            let back = self.word(side, Field::BackAt);
            match back.checked_sub(self.carrier) {
                Some(0) => {
                    self.moves += 1;
                    side.control.set(Field::Seen, self.moves);
                }
                Some(bells) => return Ok(Source::Bells(bells)),
                None => return Err(Broken::Position(back)),
            }
        }
        Err(Broken::Position(self.word(side, Field::Moved)))
    }

    /// The bytes of the carrier before the place where the stream moved into the ring.
    #[inline]
    pub(crate) fn left_before_ring<W: Word>(&self, side: Side<'_, W>) -> Result<u64, Broken> {
        let at = self.word(side, Field::RingAt);
        at.checked_sub(self.carrier).ok_or(Broken::Position(at))
    }

    #[inline]
    pub(crate) fn has_bytes<W: Word>(&self, side: Side<'_, W>) -> bool {
        self.consumer.has_message(side.ring) && (!self.recalled || self.is_kept(side))
    }

    /// Returns true if the bytes in the ring do not come again on the carrier: the sender has not answered, or it left the ring before it
    /// saw that the stream is asked for.
    #[cold]
    fn is_kept<W: Word>(&self, side: Side<'_, W>) -> bool {
        if self.ring < self.claimed || self.severed.is_some() {
            return self.ring < self.claimed;
        }
        let is_left_behind =
            || self.word(side, Field::Moved) != self.moves && self.word(side, Field::RingEnd) != self.ring;
        side.control.get(Field::Recall) != ANSWERED || is_left_behind()
    }

    /// Takes the question for the stream back, to take bytes of the ring. Returns false if the sender has answered.
    #[cold]
    pub(crate) fn withdraw<W: Word>(&self, side: Side<'_, W>) -> bool {
        let is_answered = side.control.swap(Field::Recall, 0) == ANSWERED;
        if is_answered {
            side.control.set(Field::Recall, ANSWERED);
        }
        !is_answered
    }

    /// Takes bytes out of the ring. Returns their number, zero also if the sender has just begun to send them on the carrier.
    ///
    /// # Errors
    /// Fails if the sender announces a message that is too long.
    #[inline]
    pub fn take<W: Word>(&mut self, side: Side<'_, W>, into: &mut [u8]) -> Result<usize, Broken> {
        if !self.has_bytes(side) {
            return Ok(0);
        }
        let most = self.claimed_among(into.len());
        let is_asked = self.recalled && self.ring >= self.claimed;
        if is_asked && !self.withdraw(side) {
            return Ok(0);
        }
        let mut cursor = self.cursor;
        let copied = cursor.copy(side.ring, side.longest as u64, &mut into[..most])?;
        self.advance(side, cursor, copied);
        if is_asked {
            self.ask(side, self.cursor, self.ring);
        }
        Ok(copied)
    }

    #[inline]
    fn advance<W: Word>(&mut self, side: Side<'_, W>, cursor: Cursor, bytes: usize) {
        self.cursor = cursor;
        self.ring += bytes as u64;
        self.consumer.take_until(side.ring, cursor);
        // The sender waits for no room: it goes to the carrier.
        let _ = self.consumer.release(side.ring, false);
    }

    /// Returns the number of bytes in the ring, as far as `most`.
    pub fn waiting<W: Word>(&self, side: Side<'_, W>, most: usize) -> usize {
        match self.has_bytes(side) {
            false => 0,
            true => {
                let most = self.claimed_among(most);
                self.cursor.clone().skip(side.ring, side.longest as u64, most).unwrap_or(0)
            }
        }
    }

    /// Returns true if the ring has bytes, also such as come again on the carrier.
    pub fn has_any<W: Word>(&self, side: Side<'_, W>) -> bool {
        match self.severed {
            None => self.consumer.has_message(side.ring),
            Some(_) => self.has_bytes(side),
        }
    }

    /// Returns the number of bells that may lie on the carrier while the stream is in the ring.
    pub fn bells<W: Word>(&self, side: Side<'_, W>) -> u64 {
        match self.is_in_ring() {
            true => self.word(side, Field::Rung).saturating_sub(self.carrier),
            false => 0,
        }
    }

    /// Returns the place up to which the ring was read.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Tells how many of the `peeked` bytes that lie first on the carrier are data. The caller has looked at them without taking them,
    /// while the stream was on the carrier.
    ///
    /// # Errors
    /// Fails if the sender claims an impossible place.
    #[inline]
    pub fn data_among<W: Word>(&self, side: Side<'_, W>, peeked: usize) -> Result<usize, Broken> {
        if self.word(side, Field::Moved) == self.moves {
            // Nothing behind a move was written before the look at the bytes.
            return Ok(peeked);
        }
        let left = self.left_before_ring(side)?;
        // The conversion is exact, as the minimum is a length.
        Ok(left.min(peeked as u64) as usize)
    }

    /// Counts bytes that were taken from the carrier, data or bells.
    #[inline]
    pub fn took(&mut self, bytes: usize) {
        self.carrier += bytes as u64;
    }

    /// Announces that this end sleeps: the sender rings for the next bytes in the ring. Returns false if the next bytes are there already,
    /// or if the sender claims an impossible place, of which the next read tells.
    #[inline]
    pub fn fall_asleep<W: Word>(&mut self, side: Side<'_, W>) -> bool {
        Consumer::fall_asleep(side.ring);
        // The ring may have bytes before those of the carrier that precede them have come: the kernel wakes this end for these.
        matches!(self.next(side), Ok(Source::Bells(_) | Source::Carrier))
    }

    /// Returns true if the sender rings for the next bytes.
    #[inline]
    pub fn is_asleep<W: Word>(side: Side<'_, W>) -> bool {
        Consumer::is_asleep(side.ring)
    }

    /// Asks for the stream back. What is in the ring comes again on the carrier once the sender answers. Until then, and if the sender
    /// has left the ring by itself, the receiver reads what is there as before.
    pub fn recall<W: Word>(&mut self, side: Side<'_, W>) {
        if !self.recalled {
            self.recalled = true;
            self.ask(side, self.cursor, self.ring);
        }
    }

    /// Asks for what lies behind a place in the ring, before which there are so many bytes.
    pub(crate) fn ask<W: Word>(&self, side: Side<'_, W>, from: Cursor, taken: u64) {
        side.control.set(Field::RecallPosition, from.position());
        side.control.set(Field::RecallOffset, from.offset());
        side.control.set(Field::RecallTaken, taken);
        side.control.set(Field::Recall, ASKED);
        // The sender has a fence between what it writes and its look at this word, so at least one end sees what the other end wrote.
        W::fence();
    }

    /// Returns true if everything that comes is on the carrier and all bells are taken: the socket can be read by a program that knows
    /// nothing of rings. A sender that has not answered a [recall](Self::recall) sees it before its next bytes count as sent, and its next
    /// bell, so an empty ring needs no answer.
    ///
    /// # Errors
    /// Fails if the sender claims an impossible place.
    pub fn is_home<W: Word>(&mut self, side: Side<'_, W>) -> Result<bool, Broken> {
        let is_asked = self.recalled || side.control.get(Field::Barred) == 1;
        let is_empty = match self.next(side)? {
            Source::Carrier => self.word(side, Field::Moved) == self.moves,
            Source::Bells(0) => self.recalled && !self.is_left(side) && !self.has_any(side),
            _ => false,
        };
        Ok(is_asked && is_empty)
    }
}
