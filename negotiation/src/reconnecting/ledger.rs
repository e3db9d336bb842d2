//! The numbers of sent messages, and of the messages without confirmation. Without I/O.

use super::Interruption;
use bertha_core::{Error, ErrorKind};

/// The numbers of messages. They begin at zero and continue over all connections.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The number of the next message.
    next: u64,
    /// The first message that is not confirmed and was not sent over a lost connection.
    open: u64,
    pending: Option<Interruption>,
}

impl Ledger {
    /// Returns the number of a message that is handed to the connection now.
    pub(super) fn send(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// Returns the number of the next message.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Records that all messages up to this number have arrived. Numbers that were not sent yet are not
    /// affected.
    pub(super) fn confirm(&mut self, number: u64) {
        self.open = self.open.max(number.saturating_add(1).min(self.next));
    }

    /// Returns the number of messages that the connection in use may still lose.
    pub(super) fn unconfirmed(&self) -> u64 {
        self.next - self.open
    }

    /// Records that the connection was lost.
    pub(super) fn lose(&mut self, error: &Error) {
        let kind = error.kind();
        let cause = error.to_string();
        let in_doubt = self.open..self.next;
        self.open = self.next;
        self.pending = Some(match self.pending.take() {
            None => Interruption { in_doubt, lost: 1, kind, cause },
            Some(earlier) => {
                let start = if earlier.count() == 0 { in_doubt.start } else { earlier.in_doubt.start };
                let in_doubt = start..in_doubt.end;
                let lost = earlier.lost + 1;
                // A clean end hides no cut before it.
                match kind {
                    ErrorKind::Closed => Interruption { in_doubt, lost, ..earlier },
                    _ => Interruption { in_doubt, lost, kind, cause },
                }
            }
        });
    }

    /// Returns the losses that were not reported yet.
    pub(super) fn take(&mut self) -> Option<Interruption> {
        self.pending.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reset() -> Error {
        Error::new(ErrorKind::Reset, "the peer restarted")
    }

    fn send(ledger: &mut Ledger, count: u64) {
        for _ in 0..count {
            ledger.send();
        }
    }

    #[test]
    fn without_confirmation_all_messages_of_the_lost_connection_are_in_doubt_and_no_others() {
        let mut ledger = Ledger::default();
        for range in [0..3, 3..7, 7..7] {
            send(&mut ledger, range.end - range.start);
            assert_eq!(ledger.unconfirmed(), range.end - range.start);
            ledger.lose(&reset());
            let told = ledger.take().unwrap();
            assert_eq!((told.in_doubt, told.lost, told.kind), (range, 1, ErrorKind::Reset));
        }
        assert_eq!(ledger.take(), None);
    }

    #[test]
    fn confirmed_messages_are_in_no_doubt() {
        let mut ledger = Ledger::default();
        send(&mut ledger, 5);
        ledger.confirm(2);
        ledger.confirm(1);
        ledger.lose(&reset());
        assert_eq!(ledger.take().unwrap().in_doubt, 3..5);
        // A message that was not sent yet can't be confirmed.
        ledger.confirm(99);
        send(&mut ledger, 1);
        ledger.lose(&reset());
        assert_eq!(ledger.take().unwrap().in_doubt, 5..6);
    }

    #[test]
    fn losses_that_were_not_told_become_one() {
        let mut ledger = Ledger::default();
        ledger.lose(&reset());
        send(&mut ledger, 2);
        ledger.confirm(0);
        ledger.lose(&reset());
        send(&mut ledger, 3);
        ledger.lose(&Error::new(ErrorKind::TimedOut, "by the path"));
        let told = ledger.take().unwrap();
        assert_eq!((told.in_doubt.clone(), told.lost, told.kind), (1..5, 3, ErrorKind::TimedOut));
        let text = "3 connections were lost with 4 messages in doubt: timed out: by the path";
        assert_eq!(told.to_string(), text);
    }

    #[test]
    fn a_clean_end_hides_no_cut_end_before_it() {
        let closed = || Error::new(ErrorKind::Closed, "by the peer");
        let mut ledger = Ledger::default();
        for ends in [[closed(), reset()], [reset(), closed()]] {
            ends.iter().for_each(|end| ledger.lose(end));
            let told = ledger.take().unwrap();
            assert_eq!((told.lost, told.kind, told.cause), (2, ErrorKind::Reset, reset().to_string()));
        }
        [closed(), closed()].iter().for_each(|end| ledger.lose(end));
        assert_eq!(ledger.take().unwrap().kind, ErrorKind::Closed);
    }
}
