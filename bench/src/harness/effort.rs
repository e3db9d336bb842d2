//! The extent of a measurement.

/// The extent of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// The measurement decides about a ratio near one.
    Full,
    /// The measurement shows that nothing is badly wrong; intervals are wide.
    Quick,
}

impl Effort {
    /// Returns `full` for a full measurement, and `quick` for a quick measurement.
    pub(crate) fn pick<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }

    /// Returns the number of pairs for a ratio.
    pub(crate) fn pairs(self) -> usize {
        self.pick(31, 5)
    }
}
