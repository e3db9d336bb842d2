//! How much is measured.

/// The extent of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Enough to decide about a ratio near one.
    Full,
    /// Enough to see that nothing is badly wrong; intervals are wide.
    Quick,
}

impl Effort {
    /// The first of the two for a full measurement, the second for a quick one.
    pub(crate) fn pick<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }

    /// The number of pairs for a ratio.
    pub(crate) fn pairs(self) -> usize {
        self.pick(31, 5)
    }
}
