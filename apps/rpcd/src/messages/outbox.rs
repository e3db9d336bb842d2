//! The news of a party, until it has heard them.

mod fair_queue;

use crate::messages::interpreter_view::into_buf;
use crate::messages::rows::outgoing::Outgoing;
use crate::messages::to_party::{Lends, Waiting};
use bertha_core::{Base, Buf, Error, Gathered};
use bertha_managed::heap::Region;
use bertha_managed::{Descriptor, Done};
use bertha_schemas::{Frame, PrivateMemory, Room};
use fair_queue::FairQueue;
use std::collections::HashSet;
use std::mem;
use std::time::Instant;

/// Maximum number of requests and cancellations that a party hears at once. Those behind them are heard by turns of the callers, so that a
/// caller with few calls does not stand behind all of another.
const TURN: usize = 64;

/// The descriptors that a party has to hear, and the messages that belong to them.
#[derive(Debug)]
pub(crate) struct Outbox {
    pub(crate) lends: Lends,
    /// Descriptors besides requests and cancellations.
    descriptors: Vec<Descriptor>,
    /// Requests and cancellations that are heard next, no more than a turn of them.
    calls: Vec<Descriptor>,
    /// Requests and cancellations that are heard later. The places for calls bound the requests, and those that were heard the cancellations.
    later: FairQueue,
    /// Calls wait that may be heard at a time, and not now.
    is_held: bool,
    done: Done,
    /// Messages of the party that two have to give up before it hears of it: the connection that sends them, and the call.
    kept: HashSet<u32>,
}

/// The message that tells a party of a descriptor.
#[derive(Debug)]
pub(crate) enum Told {
    /// The bytes.
    Whole(Buf),
    /// Bytes, and behind them rows in the heap of an application.
    InParts(Gathered),
}

/// The regions that came since the last look.
#[derive(Debug)]
pub(crate) struct News {
    /// Regions of the receive heap, and the number of bytes of all of its regions.
    pub(crate) regions: Vec<Region>,
    pub(crate) granted: usize,
}

impl Outbox {
    pub(crate) fn new(lends: Lends) -> Self {
        let (done, kept) = Default::default();
        Self {
            lends,
            descriptors: Vec::new(),
            calls: Vec::new(),
            later: FairQueue::new(),
            is_held: false,
            done,
            kept,
        }
    }

    pub(crate) fn push(&mut self, descriptor: Descriptor) {
        let has_room = self.calls.len() < TURN;
        match descriptor {
            Descriptor::Request { call, .. } if has_room && self.later.passes(call) => {
                self.calls.push(descriptor)
            }
            Descriptor::Cancellation { .. } if has_room && self.later.is_empty() => {
                self.calls.push(descriptor)
            }
            Descriptor::Request { call, .. } | Descriptor::Cancellation { call } => {
                self.later.push(call, descriptor);
            }
            _ => self.descriptors.push(descriptor),
        }
    }

    /// Cancels a call whose request was pushed. A request of which the party has not heard is taken out with its message. Returns true if the
    /// party has to hear of the cancellation.
    pub(crate) fn cancel(&mut self, call: u64) -> bool {
        match self.take_request(call) {
            Some(request) => {
                self.lends.take_back(request.message().number);
                false
            }
            None => {
                self.push(Descriptor::Cancellation { call });
                true
            }
        }
    }

    /// Takes out the request of a call if it waits.
    fn take_request(&mut self, call: u64) -> Option<Descriptor> {
        // A call that has a request here has no cancellation.
        self.later.take(call).or_else(|| {
            let is_it =
                |next: &Descriptor| matches!(next, Descriptor::Request { call: of, .. } if *of == call);
            let place = self.calls.iter().position(is_it)?;
            Some(self.calls.remove(place))
        })
    }

    /// Makes the next end of the need for a message none.
    pub(crate) fn keep(&mut self, message: u32) {
        self.kept.insert(message);
    }

    /// Adds the number of a message that is needed no more. Returns true if the party has to hear of it now, and not with other news.
    pub(crate) fn done(&mut self, message: u32) -> bool {
        if !self.kept.is_empty() && self.kept.remove(&message) {
            return false;
        }
        let has_room = self.done.push(message);
        if !has_room {
            self.close_done();
            self.done.push(message);
        }
        !has_room
    }

    /// Returns the number of descriptors besides requests and cancellations.
    pub(crate) fn answers(&self) -> usize {
        self.descriptors.len()
    }

    /// Notes that a call that the party had to answer has ended. Returns true if other calls wait for this.
    pub(crate) fn ended(&mut self, call: u64) -> bool {
        self.later.ended(call)
    }

    /// Puts the descriptors of a turn into a buffer that is empty.
    pub(crate) fn take(&mut self, descriptors: &mut Vec<Descriptor>, now: Instant) -> News {
        self.later.set_now(now);
        self.close_done();
        mem::swap(&mut self.descriptors, descriptors);
        let room = TURN.saturating_sub(self.calls.len());
        descriptors.append(&mut self.calls);
        let before = descriptors.len();
        descriptors.extend(std::iter::from_fn(|| self.later.pop()).take(room));
        self.is_held = descriptors.len() - before < room && !self.later.is_empty();
        let (regions, granted) = self.lends.take_new_regions();
        News { regions, granted }
    }

    /// Returns true if there are descriptors for another turn.
    pub(crate) fn has_more(&self) -> bool {
        !self.is_held && !self.later.is_empty()
    }

    /// Returns the time of the next turn, if calls wait for it.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.later.due().filter(|_| self.is_held)
    }

    /// Takes the message of a descriptor.
    pub(crate) fn waiting(&mut self, descriptor: &Descriptor) -> Option<Outgoing> {
        match &mut self.lends {
            Lends::Heap(_) => None,
            Lends::Frames(waiting) => waiting.take(descriptor.message().number),
        }
    }

    /// Returns what tells a party of a descriptor, in front of its message if there is one.
    pub(crate) fn told_of(&mut self, descriptor: Descriptor, base: &impl Base) -> Result<Told, Error> {
        let Some(mut message) = self.waiting(&descriptor) else {
            return bytes_of(descriptor, base).map(Told::Whole);
        };
        let head = descriptor.to_bytes();
        message.frame.bytes(Frame::MESSAGE, head.len()).copy_from_slice(&head);
        let (frame, rows, held) = message.into_parts();
        let bytes = self.bytes_of(frame, base, !rows.is_empty())?;
        if rows.is_empty() {
            return Ok(Told::Whole(bytes));
        }
        let at_once = match &self.lends {
            Lends::Frames(waiting) => waiting.sending().at_once(),
            Lends::Heap(_) => usize::MAX,
        };
        Ok(Told::InParts(Gathered::new(bytes, rows).at_once(at_once).holding(held)))
    }

    /// Makes a buffer of a frame, which rows may follow.
    fn bytes_of(&mut self, frame: PrivateMemory, base: &impl Base, has_rows: bool) -> Result<Buf, Error> {
        // A short frame is copied, so that its memory is used again. A long one would cost more to copy.
        if !Waiting::is_short(&frame) && base.reserved() <= PrivateMemory::HEADROOM {
            return into_buf(frame);
        }
        let bytes = if has_rows {
            // A stream puts its own header in front, too.
            Buf::copy_of(frame.as_bytes(), PrivateMemory::HEADROOM)
        } else {
            base.buffer(frame.used()).map(|mut bytes| {
                bytes.copy_from_slice(frame.as_bytes());
                bytes
            })
        };
        if let Lends::Frames(waiting) = &mut self.lends {
            waiting.keep(frame);
        }
        bytes
    }

    /// Puts the numbers of messages that are needed no more among the descriptors.
    fn close_done(&mut self) {
        if !self.done.numbers().is_empty() {
            self.descriptors.push(Descriptor::Done(mem::take(&mut self.done)));
        }
    }
}

/// Returns the bytes of a descriptor whose message lies elsewhere, or that has none.
pub(crate) fn bytes_of(descriptor: Descriptor, base: &impl Base) -> Result<Buf, Error> {
    let head = descriptor.to_bytes();
    let mut bytes = base.buffer(head.len())?;
    bytes.copy_from_slice(&head);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::memory::common::Common;
    use crate::messages::to_party::Waiting;
    use bertha_managed::{InHeap, Party};
    use std::time::Duration;

    #[test]
    fn calls_are_no_answers() {
        let mut outbox = Outbox::new(Lends::Frames(Waiting::new(0, Common::new(0))));
        let message = InHeap::default();
        outbox.push(Descriptor::Request { call: 1, method: 0, message, milliseconds: 0, trace: None });
        outbox.push(Descriptor::Response { call: 1, message });
        outbox.push(Descriptor::Cancellation { call: 2 });
        assert_eq!(outbox.answers(), 1);
        let mut descriptors = Vec::new();
        assert_eq!(outbox.take(&mut descriptors, Instant::now()).granted, 0);
        assert_eq!((outbox.answers(), descriptors.len()), (0, 3));
    }

    #[test]
    fn a_caller_with_few_calls_does_not_stand_behind_all_of_another() {
        let mut outbox = Outbox::new(Lends::Frames(Waiting::new(0, Common::new(0))));
        let request = |party, number| {
            let (call, message) = (Party(party).call(number), InHeap::default());
            Descriptor::Request { call, method: 0, message, milliseconds: 0, trace: None }
        };
        (0..500).for_each(|number| outbox.push(request(0, number)));
        outbox.push(request(1, 1000));
        outbox.push(Descriptor::Cancellation { call: Party(1).call(999) });
        let party = |descriptor: &Descriptor| match descriptor {
            Descriptor::Request { call, .. } | Descriptor::Cancellation { call } => Party::of(*call).0,
            other => panic!("{other:?}"),
        };
        let turn = |outbox: &mut Outbox| {
            let mut heard = Vec::new();
            outbox.take(&mut heard, Instant::now());
            (heard.iter().map(party).collect::<Vec<_>>(), outbox.has_more())
        };
        assert_eq!(turn(&mut outbox), (vec![0; TURN], true));
        assert_eq!(outbox.due(), None);
        assert_eq!(turn(&mut outbox), (vec![1; 2], false), "the other has its part under way");
        assert!(outbox.due().is_some_and(|due| due < Instant::now() + Duration::from_secs(1)));
        assert!((0..3).all(|number| outbox.ended(Party(0).call(number))));
        assert_eq!(turn(&mut outbox), (vec![0; 3], false));
    }

    #[test]
    fn a_request_that_waits_when_its_call_is_cancelled_is_never_heard() {
        const ALL: u64 = 1000;
        let common = Common::new(1 << 20);
        let mut outbox = Outbox::new(Lends::Frames(Waiting::new(1 << 10, common.clone())));
        let push = |outbox: &mut Outbox, call| {
            let lent = outbox.lends.lend(0, |room| Ok(room.reserve(64)?));
            let message = lent.unwrap();
            outbox.push(Descriptor::Request { call, method: 0, message, milliseconds: 0, trace: None });
        };
        let mut heard = Vec::new();
        (0..ALL).for_each(|call| push(&mut outbox, call));
        let taken = common.taken();
        outbox.take(&mut heard, Instant::now());
        assert_eq!(heard.len(), TURN);
        heard.drain(..).for_each(|request| drop(outbox.waiting(&request)));
        assert!((TURN as u64..ALL).all(|call| !outbox.cancel(call)));
        assert_eq!((common.taken(), taken > 0, outbox.has_more()), (0, true, false));
        // One that is heard next, and one that has been heard.
        [ALL, ALL + 1].into_iter().for_each(|call| push(&mut outbox, call));
        assert_eq!([outbox.cancel(ALL), outbox.cancel(0)], [false, true]);
        outbox.take(&mut heard, Instant::now());
        let calls = heard.iter().map(|descriptor| match descriptor {
            Descriptor::Request { call, .. } => (true, *call),
            Descriptor::Cancellation { call } => (false, *call),
            other => panic!("{other:?}"),
        });
        assert_eq!(calls.collect::<Vec<_>>(), [(true, ALL + 1), (false, 0)]);
    }
}
