//! The addresses at which a port of this interface is in use.

use super::Flow;

/// The interface's addresses at which a listener or a connection has its port. Two of them may have a common
/// port if no address is common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Binding {
    /// All addresses of both families.
    All,
    /// All addresses of a family.
    Family {
        /// True if the family is IPv4.
        is_v4: bool,
    },
    /// A single address.
    Address {
        /// True if the address is an IPv4 address.
        is_v4: bool,
        /// Number of the address among the interface's addresses of its family.
        number: u8,
    },
}

impl Binding {
    /// The least and the greatest value in the order of bindings.
    pub(crate) const RANGE: [Self; 2] = [Self::All, Self::Address { is_v4: true, number: u8::MAX }];

    /// Returns the binding of a connection with this flow.
    pub fn of(flow: Flow) -> Self {
        Self::Address { is_v4: flow.is_v4(), number: flow.number() }
    }

    /// Returns the bindings of listeners that take datagrams of `flow`. At most one such listener exists.
    pub fn takers(flow: Flow) -> [Self; 3] {
        [Self::of(flow), Self::Family { is_v4: flow.is_v4() }, Self::All]
    }

    /// Returns true if both bindings have a common address.
    pub fn overlaps(self, other: Self) -> bool {
        let family = |binding| match binding {
            Self::All => None,
            Self::Family { is_v4 } | Self::Address { is_v4, .. } => Some(is_v4),
        };
        match (self, other) {
            (Self::Address { .. }, Self::Address { .. }) => self == other,
            _ => family(self).is_none_or(|own| family(other).is_none_or(|other| own == other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bindings_overlap_if_they_have_a_common_address() {
        let [v4, v6] = [true, false].map(|is_v4| Binding::Family { is_v4 });
        let [first, second, other] =
            [(true, 0), (true, 1), (false, 0)].map(|(is_v4, number)| Binding::Address { is_v4, number });
        let all = [Binding::All, v4, v6, first, second, other];
        let overlaps = |one: Binding| all.map(|it| it.overlaps(one));
        assert_eq!(overlaps(Binding::All), [true; 6]);
        assert_eq!(overlaps(v4), [true, true, false, true, true, false]);
        assert_eq!(overlaps(v6), [true, false, true, false, false, true]);
        assert_eq!(overlaps(first), [true, true, false, true, false, false]);
        assert_eq!(overlaps(second), [true, true, false, false, true, false]);
        assert_eq!(overlaps(other), [true, false, true, false, false, true]);
        let [least, greatest] = Binding::RANGE;
        assert!(all.iter().all(|it| (least..=greatest).contains(it)));
    }

    #[test]
    fn a_datagram_is_for_the_listeners_of_its_address() {
        let flow = Flow::new("[fd00::2]:1".parse().unwrap(), 9).at(1);
        let address = Binding::Address { is_v4: false, number: 1 };
        assert_eq!(Binding::takers(flow), [address, Binding::Family { is_v4: false }, Binding::All]);
        assert_eq!(Binding::of(flow), address);
    }
}
