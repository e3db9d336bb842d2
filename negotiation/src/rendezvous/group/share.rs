//! This end's share of the messages of a round, where each message reaches one receiver.

use super::tally::Tally;
use crate::rendezvous::store::limits::PARTICIPANTS;
use crate::wire::Origin;
use ahash::AHashMap;
use bertha_core::Buf;
use bertha_core::buf::Fate;
use bertha_core::replay_window::ReplayWindow;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of senders whose messages are distinguished from repetitions.
const SENDERS: usize = 4 * PARTICIPANTS;

/// Number of repetitions of a held message from which on this end takes one message at a time. A repetition that is
/// dropped before the message is acknowledged too early, and repetitions that are kept take memory.
pub(super) const REPETITIONS: usize = 64;

/// Number of repetitions of all held messages from which on this end takes no more messages.
pub(super) const MAX_REPETITIONS: usize = 16 * REPETITIONS;

/// The messages that an end may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Intake {
    Free,
    /// A held message is repeated too often.
    Overdue,
    /// There are too many repetitions.
    Full,
}

/// The messages that this end has sent and received in a round.
///
/// Locked for each message, for the time of a lookup, which costs little compared to a call of a messaging
/// service.
pub(super) struct RoundShare {
    counts: Mutex<Counts>,
    /// True if this end sends and receives in the round.
    has_part: AtomicBool,
    /// True if this end took over the part of receivers that had gone.
    took_over: AtomicBool,
}

#[derive(Default)]
struct Counts {
    next: u32,
    sent: Tally,
    arrived: Messages,
    let_go: Messages,
    /// The held messages, by sender and number, with their repetitions.
    held: AHashMap<(u64, u32), Vec<Buf>>,
    /// Number of held messages with [`REPETITIONS`] repetitions or more.
    overdue: usize,
    /// Number of repetitions.
    repetitions: usize,
    /// True if messages go back to the service, whatever their fate is.
    gives_back: bool,
}

/// A set of messages without their repetitions. A message that can't be distinguished from a repetition any
/// more is left out.
#[derive(Default)]
struct Messages {
    tally: Tally,
    seen: AHashMap<u64, Box<ReplayWindow<1024>>>,
}

impl Messages {
    fn insert(&mut self, Origin { number, sender }: Origin) {
        if self.seen.len() >= SENDERS && !self.seen.contains_key(&sender) {
            return;
        }
        if self.seen.entry(sender).or_default().insert(u64::from(number)) {
            self.tally.add(sender, number);
        }
    }

    /// Removes a message, which may be inserted again.
    fn remove(&mut self, Origin { number, sender }: Origin) {
        if self.seen.get_mut(&sender).is_some_and(|seen| seen.remove(u64::from(number))) {
            self.tally.remove(sender, number);
        }
    }
}

impl RoundShare {
    pub(super) fn new(has_part: bool) -> Arc<Self> {
        Arc::new(Self {
            counts: Mutex::default(),
            has_part: AtomicBool::new(has_part),
            took_over: AtomicBool::new(false),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_part(&self) -> bool {
        self.has_part.load(Ordering::Acquire)
    }

    /// Takes over the part of receivers that have gone.
    pub(super) fn take_over(&self) {
        self.took_over.store(true, Ordering::Release);
        self.has_part.store(true, Ordering::Release);
    }

    /// Counts a message that is about to be sent, and returns its number, which is unique among the messages
    /// of this sender in the round.
    pub(super) fn number(&self, sender: u64) -> u32 {
        let mut counts = self.lock();
        let number = counts.next;
        counts.next = number.wrapping_add(1);
        counts.sent.add(sender, number);
        number
    }

    /// Counts a message when it arrives, and again when this end is done with it. A message that this end gives back
    /// counts as one that has not arrived, since any receiver may get it. Returns `None` if the message is too
    /// long for a buffer, or repeats a message that is still held here: the repetition is kept as long as
    /// that message, since the service may take the acknowledgement of the repetition for an acknowledgement
    /// of both.
    pub(super) fn arrive(self: &Arc<Self>, origin: Origin, message: Buf) -> Option<Buf> {
        {
            let mut counts = self.lock();
            counts.arrived.insert(origin);
            match counts.held.entry((origin.sender, origin.number)) {
                Entry::Vacant(entry) => drop(entry.insert(Vec::new())),
                Entry::Occupied(mut entry) => {
                    let repetitions = entry.get_mut();
                    repetitions.push(message);
                    let is_overdue = repetitions.len() == REPETITIONS;
                    counts.overdue += usize::from(is_overdue);
                    counts.repetitions += 1;
                    return None;
                }
            }
        }
        let has_receipt = message.has_receipt();
        let held = HeldMessage { message, origin, share: self.clone() };
        match has_receipt {
            true => Buf::from_receipt(held, HeldMessage::settle).ok(),
            false => Buf::from_owner(DoneByDropping(held)).ok(),
        }
    }

    /// Returns what this end may take: it may hold a message for so long that the service repeats it too often.
    pub(super) fn intake(&self) -> Intake {
        match &*self.lock() {
            Counts { repetitions: MAX_REPETITIONS.., .. } => Intake::Full,
            Counts { overdue: 1.., .. } => Intake::Overdue,
            _ => Intake::Free,
        }
    }

    /// Makes all messages that are held go back to the service.
    pub(super) fn give_back(&self) {
        self.lock().gives_back = true;
    }

    /// Returns true if no message that has arrived is kept, in the stack or by the application.
    pub(super) fn has_let_all_go(&self) -> bool {
        let counts = self.lock();
        counts.arrived.tally == counts.let_go.tally
    }

    pub(super) fn sent(&self) -> Tally {
        self.lock().sent
    }

    /// Returns the messages that no other receiver will get: the messages that were dropped here. At an end
    /// that took over a round, messages that its stack holds back are included, since that stack waits for
    /// messages that earlier receivers had.
    pub(super) fn taken(&self) -> Tally {
        match self.took_over.load(Ordering::Acquire) {
            true => self.lock().arrived.tally,
            false => self.let_go(),
        }
    }

    pub(super) fn let_go(&self) -> Tally {
        self.lock().let_go.tally
    }
}

/// A message that was received, and whose fate is not known yet.
struct HeldMessage {
    message: Buf,
    origin: Origin,
    share: Arc<RoundShare>,
}

impl AsMut<[u8]> for HeldMessage {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.message
    }
}

impl HeldMessage {
    /// Counts the message, and settles its repetitions.
    fn end(&self, fate: Fate) {
        let mut counts = self.share.lock();
        let repetitions = counts.held.remove(&(self.origin.sender, self.origin.number));
        let was_overdue = repetitions.as_ref().is_some_and(|all| all.len() >= REPETITIONS);
        counts.overdue -= usize::from(was_overdue);
        counts.repetitions -= repetitions.as_ref().map_or(0, Vec::len);
        match fate {
            _ if counts.gives_back => {}
            Fate::Done => counts.let_go.insert(self.origin),
            _ => counts.arrived.remove(self.origin),
        }
        drop(counts);
        repetitions.into_iter().flatten().for_each(|repetition| repetition.settle(fate));
    }

    fn settle(self, fate: Fate) {
        self.end(fate);
        self.message.settle(fate);
    }
}

/// A message whose drop is the end of the work.
struct DoneByDropping(HeldMessage);

impl AsMut<[u8]> for DoneByDropping {
    fn as_mut(&mut self) -> &mut [u8] {
        self.0.as_mut()
    }
}

impl Drop for DoneByDropping {
    fn drop(&mut self) {
        // The message goes back to the service if the thread panics.
        let fate = if std::thread::panicking() { Fate::GivenBack } else { Fate::Done };
        self.0.end(fate);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    /// A service delivers a message again that a stack holds back for long. The repetition neither
    /// releases nor acknowledges the message.
    #[test]
    fn a_repetition_of_what_is_held_is_kept_as_long() {
        let share = RoundShare::new(true);
        let acknowledged = Arc::new(());
        let delivered = || Buf::from_owner(Delivered([7; 1], acknowledged.clone())).unwrap();
        let origin = Origin { number: 3, sender: 9 };
        let first = share.arrive(origin, delivered()).unwrap();
        assert!(share.arrive(origin, delivered()).is_none());
        assert_eq!((share.has_let_all_go(), Arc::strong_count(&acknowledged)), (false, 3));
        drop(first);
        assert_eq!((share.has_let_all_go(), Arc::strong_count(&acknowledged)), (true, 1));
        // A repetition that arrives later is a message like any other.
        assert!(share.arrive(origin, delivered()).is_some());
    }

    /// A service delivers a message again and again. No repetition is acknowledged before the message, and the
    /// end is to take fewer messages meanwhile, and at last none.
    #[test]
    fn no_repetition_is_dropped_before_its_message() {
        let share = RoundShare::new(true);
        let acknowledged = Arc::new(());
        let delivered = || Buf::from_owner(Delivered([7; 1], acknowledged.clone())).unwrap();
        let origin = Origin { number: 3, sender: 9 };
        let first = share.arrive(origin, delivered()).unwrap();
        for repetition in 1..=MAX_REPETITIONS + 10 {
            assert!(share.arrive(origin, delivered()).is_none());
            assert_eq!(Arc::strong_count(&acknowledged), 2 + repetition);
            let intake = match repetition {
                MAX_REPETITIONS.. => Intake::Full,
                REPETITIONS.. => Intake::Overdue,
                _ => Intake::Free,
            };
            assert_eq!(share.intake(), intake);
        }
        drop(first);
        assert_eq!((share.intake(), Arc::strong_count(&acknowledged)), (Intake::Free, 1));
    }

    /// A message that this end did not finish may reach any receiver: it does not keep the round from its end, and
    /// counts anew if it arrives here again.
    #[test]
    fn a_message_that_goes_back_has_not_arrived() {
        for by_dropping in [false, true] {
            let share = RoundShare::new(true);
            let origin = Origin { number: 3, sender: 9 };
            let acknowledged = Arc::new(());
            let arrive = || {
                let delivered = Delivered([7; 1], acknowledged.clone());
                let message = match by_dropping {
                    true => Buf::from_owner(delivered).unwrap(),
                    false => Buf::from_receipt(delivered, |_, _| {}).unwrap(),
                };
                share.arrive(origin, message).unwrap()
            };
            let message = arrive();
            assert!(!share.has_let_all_go());
            let work = std::thread::spawn(move || {
                let _message = message;
                std::panic::resume_unwind(Box::new("the work failed"));
            });
            assert!(work.join().is_err());
            assert!(share.has_let_all_go());
            assert_eq!((share.let_go().count, share.taken().count), (0, 0));
            arrive().done();
            assert!(share.has_let_all_go());
            assert_eq!(share.let_go().count, 1);
        }
    }

    #[derive(Debug)]
    struct Delivered([u8; 1], #[allow(dead_code, reason = "is counted")] Arc<()>);

    impl AsMut<[u8]> for Delivered {
        fn as_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }
    }
}
