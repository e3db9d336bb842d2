//! The effects of layers on all guarantees, at run time.

use super::Set;

/// The effects of layers on all guarantees, at run time. Layers give some guarantees, withdraw some
/// guarantees of the layers below them, and pass all other guarantees on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Effects {
    gives: Set,
    /// The withdrawn guarantees. No guarantee is in both sets.
    withdraws: Set,
}

impl Effects {
    /// The effects of layers that pass all guarantees on.
    pub const NONE: Self = Self { gives: Set::NONE, withdraws: Set::NONE };

    /// Makes the effects of layers that withdraw guarantees of the layers below, and give guarantees of their
    /// own. A guarantee in both sets is given.
    pub const fn new(gives: Set, withdraws: Set) -> Self {
        Self { gives, withdraws: withdraws.without(gives) }
    }

    /// Returns the guarantees that hold above the layers, whatever is below them.
    pub const fn gives(self) -> Set {
        self.gives
    }

    /// Returns the guarantees that do not hold above the layers, whatever is below them.
    pub const fn withdraws(self) -> Set {
        self.withdraws
    }

    /// Returns the guarantees that hold above the layers, if the guarantees `below` hold below them.
    #[must_use]
    pub fn above(self, below: Set) -> Set {
        below.without(self.withdraws) | self.gives
    }

    /// Returns the effects of these layers above layers with the effects `below`.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        Self::new(self.above(below.gives), self.withdraws | below.withdraws)
    }

    /// Returns for each guarantee the stronger of two effects.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self::new(self.gives | other.gives, self.withdraws.common(other.withdraws))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Common, Effect, Encrypted, Guarantees, Ordered, Reliable, Withdrawn};
    use super::*;
    use crate::truth::Bool;

    fn encrypted() -> Set {
        Set::of::<Encrypted>()
    }

    /// Returns the three effects on `Encrypted`.
    fn three() -> [Effects; 3] {
        let (none, all) = (Set::NONE, encrypted());
        [Effects::new(none, all), Effects::NONE, Effects::new(all, none)]
    }

    #[test]
    fn layers_stand_on_layers_and_the_stronger_alternative_counts() {
        let all = three();
        for (at, above) in all.into_iter().enumerate() {
            for (other_at, below) in all.into_iter().enumerate() {
                for datapath in [Set::NONE, encrypted()] {
                    assert_eq!(above.over(below).above(datapath), above.above(below.above(datapath)));
                }
                assert_eq!(above.or(below), all[at.max(other_at)]);
            }
        }
    }

    /// Returns the effect on `Encrypted`, as its place among `three`.
    fn place<G: Guarantees>() -> usize {
        let is_given = <<G::Encrypted as Effect>::IsGiven as Bool>::VALUE;
        let is_withdrawn = <<G::Encrypted as Effect>::IsWithdrawn as Bool>::VALUE;
        1 + usize::from(is_given) - usize::from(is_withdrawn)
    }

    #[test]
    fn types_and_values_agree() {
        fn both<A: Guarantees, B: Guarantees>() {
            let all = three();
            let (above, below) = (place::<A>(), place::<B>());
            assert_eq!(all[place::<(A, B)>()], all[above].over(all[below]));
            assert_eq!(place::<Common<A, B>>(), above.min(below));
            assert_eq!(<<A::Encrypted as Effect>::IsLostIn<B::Encrypted> as Bool>::VALUE, below < above);
        }
        fn with<A: Guarantees>() {
            both::<A, Withdrawn<Encrypted>>();
            both::<A, Reliable>();
            both::<A, Encrypted>();
        }
        with::<Withdrawn<Encrypted>>();
        with::<(Withdrawn<Ordered>, Ordered)>();
        with::<(Encrypted, Withdrawn<Encrypted>)>();
    }
}
