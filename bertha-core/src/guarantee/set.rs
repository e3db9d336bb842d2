//! Guarantees at run time.

use super::{Effect, Guarantees};
use crate::truth::Bool;
use std::fmt;
use std::ops::BitOr;

/// A set of guarantees at run time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Set(u8);

const NAMES: [&str; 8] = [
    "encrypted",
    "authenticated",
    "reliable",
    "ordered",
    "at-most-once",
    "integrity-checked",
    "forward-secret",
    "peer-identified",
];

impl Set {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// The set of all guarantees.
    pub const ALL: Self = Self(u8::MAX);

    /// Returns the set that is written as a type: `Set::of::<(Encrypted, Ordered)>()`. For layers it is the
    /// set of guarantees that they give.
    pub const fn of<G: Guarantees>() -> Self {
        let flags = [
            gives::<G::Encrypted>(),
            gives::<G::Authenticated>(),
            gives::<G::Reliable>(),
            gives::<G::Ordered>(),
            gives::<G::AtMostOnce>(),
            gives::<G::IntegrityChecked>(),
            gives::<G::ForwardSecret>(),
            gives::<G::PeerIdentified>(),
        ];
        let mut bits = 0;
        let mut flag = 0;
        while flag < flags.len() {
            bits |= (flags[flag] as u8) << flag;
            flag += 1;
        }
        Self(bits)
    }

    /// Returns true if this set contains every guarantee of `other`.
    pub const fn includes(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the guarantees in this set that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns the guarantees in both sets.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the set as one bit for each guarantee, in a fixed order.
    #[doc(hidden)]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns the set whose [`bits`](Self::bits) are `bits`.
    #[doc(hidden)]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns true if the set contains no guarantee.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// Returns true if the effect is to give the guarantee.
const fn gives<E: Effect>() -> bool {
    <E::IsGiven as Bool>::VALUE
}

impl BitOr for Set {
    type Output = Self;

    /// Returns the guarantees in either set.
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Shows the names in a fixed order, `encrypted, ordered`; `nothing` for the empty set.
impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing");
        }
        let mut separator = "";
        for (flag, name) in NAMES.iter().enumerate() {
            if self.0 & 1 << flag != 0 {
                write!(f, "{separator}{name}")?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AtMostOnce, Common, Encrypted, IntegrityChecked, Ordered, Reliable};
    use super::*;

    #[test]
    fn a_pair_is_a_union_and_a_choice_has_what_is_common() {
        type Tls = (Encrypted, (IntegrityChecked, ()));
        type Transport = (Reliable, (Ordered, (IntegrityChecked, ())));
        assert_eq!(
            Set::of::<(Tls, Transport)>().to_string(),
            "encrypted, reliable, ordered, integrity-checked"
        );
        assert_eq!(Set::of::<Common<Tls, Transport>>(), Set::of::<IntegrityChecked>());
        assert_eq!(Set::of::<()>(), Set::NONE);
    }

    #[test]
    fn sets_are_compared_flag_by_flag() {
        let (some, more) = (Set::of::<AtMostOnce>(), Set::of::<(AtMostOnce, Encrypted)>());
        assert!(more.includes(some) && !some.includes(more));
        assert_eq!(more.without(some), Set::of::<Encrypted>());
        assert_eq!(more.common(some), some);
        assert_eq!(some | more, more);
        assert_eq!(some.without(more).to_string(), "nothing");
    }
}
