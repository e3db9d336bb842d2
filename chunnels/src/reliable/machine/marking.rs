//! Marks for congestion: what arrives is told to the peer, and what the peer tells to the congestion control.

use bertha_core::EcnMarks;

/// Marks in both directions, on a connection whose datapath carries them.
#[derive(Debug, Default)]
pub(super) struct Marking {
    /// The marks that have arrived here in all.
    arrived: EcnMarks,
    /// The marks that the peer has told about in all, and those that the congestion control knows.
    told: EcnMarks,
    known: EcnMarks,
    /// True if the peer counts marks; `None` until the peer has acknowledged a packet.
    is_answered: Option<bool>,
}

impl Marking {
    /// Takes in the marks that have arrived in all.
    pub(super) fn on_arrived(&mut self, marks: EcnMarks) {
        self.arrived = marks;
    }

    /// Returns the marks to tell the peer.
    pub(super) fn arrived(&self) -> EcnMarks {
        self.arrived
    }

    /// Takes in an acknowledgement and the marks that it tells about. Those that overtook each other tell about fewer, and change
    /// nothing.
    pub(super) fn on_ack(&mut self, marks: Option<EcnMarks>) {
        self.is_answered.get_or_insert(marks.is_some());
        let marks = marks.unwrap_or_default();
        self.told.datagrams = self.told.datagrams.max(marks.datagrams);
        self.told.bytes = self.told.bytes.max(marks.bytes);
    }

    /// Returns the marks that the congestion control does not know yet, and knows from now on.
    pub(super) fn take(&mut self) -> EcnMarks {
        let new = self.told.since(self.known);
        self.known = self.told;
        new
    }

    /// Returns the marks that the peer has told about in all.
    pub(super) fn told(&self) -> EcnMarks {
        self.told
    }

    /// Returns true if the peer has acknowledged packets and reported no marks: it does not count them.
    pub(super) fn is_unanswered(&self) -> bool {
        self.is_answered == Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(datagrams: u64) -> EcnMarks {
        EcnMarks { datagrams, bytes: 1_000 * datagrams }
    }

    #[test]
    fn each_mark_is_known_once_whatever_is_overtaken() {
        let mut marking = Marking::default();
        for (told, new) in [(2, 2), (2, 0), (5, 3), (3, 0), (6, 1)] {
            marking.on_ack(Some(marks(told)));
            assert_eq!(marking.take(), marks(new), "told of {told}");
        }
        assert!(!marking.is_unanswered());
    }

    #[test]
    fn the_first_acknowledgement_shows_whether_the_peer_counts() {
        let mut marking = Marking::default();
        assert!(!marking.is_unanswered());
        marking.on_ack(None);
        assert!(marking.is_unanswered());
        let mut marking = Marking::default();
        marking.on_ack(Some(marks(0)));
        // Only the first one counts.
        marking.on_ack(None);
        assert!(!marking.is_unanswered());
    }

    #[test]
    fn marks_that_arrive_are_told_and_marks_that_were_told_add_up() {
        let mut marking = Marking::default();
        marking.on_arrived(marks(3));
        assert_eq!((marking.arrived(), marking.told()), (marks(3), marks(0)));
        marking.on_ack(Some(marks(2)));
        assert_eq!((marking.arrived(), marking.told()), (marks(3), marks(2)));
    }
}
