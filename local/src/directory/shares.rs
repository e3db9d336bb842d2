//! Shares of users in a bounded number of places, without I/O: a user leaves room to every user who comes later.

/// The part of the free places that a user takes at most: one of three. So the first user gets a quarter of all
/// places, the next user a quarter of the rest, and no small number of users fills them.
const OF_FREE: usize = 3;

/// Returns true if a user with `own` of the `taken` places may take a further place, of `all` places.
pub(super) fn has_room(all: usize, taken: usize, own: usize) -> bool {
    let free = all.saturating_sub(taken);
    free > 0 && own.saturating_mul(OF_FREE) < free
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_users_do_not_fill_the_places() {
        let mut taken = 0;
        let mut shares = Vec::new();
        for _ in 0..12 {
            let mut own = 0;
            while has_room(1_000, taken, own) {
                own += 1;
                taken += 1;
            }
            shares.push(own);
        }
        assert_eq!(shares[..4], [250, 188, 141, 106]);
        assert!(shares.iter().all(|share| *share > 5), "{shares:?}");
    }

    #[test]
    fn the_last_place_may_be_taken_and_no_further_place() {
        assert!(has_room(1, 0, 0));
        assert!(!has_room(1, 1, 0) && !has_room(0, 0, 0) && !has_room(1, 2, 0));
    }
}
