//! The customers whose names questions have.

/// The customers of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Customers {
    /// One, whom no policy refuses.
    Alice,
    /// Another with each hundredth question.
    WithEve {
        /// True if a policy refuses each of her questions.
        is_refused: bool,
    },
}

/// The customer whom policies refuse.
pub(super) const EVE: &str = "eve";

impl Customers {
    /// Returns the customer of a question by its number, and true if the question has to be refused.
    pub(super) fn of(self, question: u64) -> (&'static str, bool) {
        match self {
            Self::WithEve { is_refused } if question % 100 == 99 => (EVE, is_refused),
            _ => ("alice", false),
        }
    }
}

/// Returns the number of bytes that a load counts: all of them if the outcome is as it has to be.
pub(super) fn counted(sent: usize, is_refused: bool, has_to_be_refused: bool) -> usize {
    if is_refused == has_to_be_refused { sent } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_is_of_eve_and_her_answers_count_where_none_is_refused() {
        let eves = |customers: Customers| (0..1_000).filter(|call| customers.of(*call).0 == EVE).count();
        assert_eq!((eves(Customers::Alice), eves(Customers::WithEve { is_refused: true })), (0, 10));
        assert_eq!(Customers::WithEve { is_refused: false }.of(99), (EVE, false));
        assert_eq!([counted(64, true, true), counted(64, false, false)], [64, 64]);
        assert_eq!([counted(64, false, true), counted(64, true, false)], [0, 0]);
    }
}
