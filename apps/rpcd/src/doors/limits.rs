//! The numbers of places at the ports, which leave descriptors to applications.

/// Maximum number of connections at a port.
const MOST: usize = 1024;

/// Descriptors of operators, of callers that read metrics, and of the daemon itself.
const OWN: u64 = 96;

/// The number of connections that each of the two ports takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Places {
    /// The number for all addresses together.
    pub(crate) all: usize,
    /// The number for one address.
    pub(crate) per_address: usize,
}

impl Places {
    /// Returns the places of a process that may have so many descriptors. Applications, of which each needs several, keep half of them, and
    /// an address has no more than a quarter of the places, whatever is asked for.
    pub(crate) fn of(descriptors: u64, per_address: usize) -> Self {
        let each = (descriptors / 2).saturating_sub(OWN) / 2;
        let all = usize::try_from(each).unwrap_or(MOST).clamp(4, MOST);
        Self { all, per_address: per_address.min(all / 4) }
    }

    /// Returns true if there are fewer places than a daemon has where descriptors are plenty.
    pub(crate) fn are_few(self) -> bool {
        self.all < MOST
    }
}

/// Returns the number of connections at each Unix socket which have not said yet what they want, of a process that may have so many
/// descriptors.
pub(crate) fn waiting(descriptors: u64) -> usize {
    usize::try_from(descriptors / 8).unwrap_or(usize::MAX).clamp(4, 512)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_descriptors_and_leave_half_of_them() {
        let places = |descriptors| {
            let Places { all, per_address } = Places::of(descriptors, 256);
            (all, per_address)
        };
        assert_eq!([1 << 20, u64::MAX].map(places), [(1024, 256); 2]);
        assert_eq!([4096, 1024, 256].map(places), [(976, 244), (208, 52), (16, 4)]);
        assert_eq!([0, 64].map(places), [(4, 1); 2]);
        for descriptors in 256..10_000 {
            let Places { all, .. } = Places::of(descriptors, 256);
            assert!(2 * all as u64 + OWN <= descriptors / 2, "{descriptors}");
        }
    }

    #[test]
    fn an_address_has_what_is_asked_for_up_to_a_quarter() {
        assert_eq!([2, 256, 5000].map(|asked| Places::of(1 << 20, asked).per_address), [2, 256, 256]);
    }
}
