//! Transactions are serialisable.

use super::{StoreSite, value};
use bertha_core::Runtime;
use bertha_negotiation::rendezvous::{RendezvousStore, Revision, Transaction};
use futures_util::future::{join, join_all};
use std::time::Duration;

/// An unused name has no entries.
pub async fn a_name_without_entries_is_empty<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    assert!(site.read(&site.name()).await.entries.is_empty());
}

/// A written entry is in the outcome's snapshot and in the next read, with equal versions; each write has a
/// later version.
pub async fn what_was_put_is_read<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    let written = site.applied(&name, Transaction::new().put("a", vec![1]).put("b/c", vec![2])).await;
    assert_eq!((value(&written, "a"), value(&written, "b/c")), (Some(vec![1]), Some(vec![2])));
    assert_eq!(site.read(&name).await.entries, written.entries);
    let again = site.applied(&name, Transaction::new().put("a", vec![1])).await;
    assert!(again.version("a") > written.version("a"), "writing the same value makes a new version");
    assert_eq!(again.version("b/c"), written.version("b/c"), "the version of what was not written stays");
    assert!(again.revision > written.revision);
    let deleted = site.applied(&name, Transaction::new().delete("a").delete("never there")).await;
    assert_eq!(value(&deleted, "a"), None);
    assert_eq!(deleted.version("a"), Revision::ABSENT);
    assert!(deleted.revision > again.revision, "a removal is a change");
}

/// Values are bytes of any kind, or none.
pub async fn every_byte_survives<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    let all: Vec<u8> = (0..=255).collect();
    let written =
        site.applied(&name, Transaction::new().put("all", all.clone()).put("none", Vec::new())).await;
    assert_eq!((value(&written, "all"), value(&written, "none")), (Some(all), Some(Vec::new())));
    assert_eq!(site.read(&name).await.entries, written.entries);
}

/// One condition that does not hold keeps all writes from taking place.
pub async fn a_transaction_is_all_or_nothing<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    let before = site.applied(&name, Transaction::new().put("a", vec![1])).await;
    let half = Transaction::new().expect("a", before.version("a")).expect("b", before.version("a"));
    let outcome = site.transact(&name, half.put("a", vec![2]).put("b", vec![2]).delete("a2")).await;
    assert!(!outcome.applied);
    assert_eq!(site.read(&name).await.entries, before.entries);
    let whole = Transaction::new().expect("a", before.version("a")).expect_absent("b");
    let after = site.applied(&name, whole.delete("a").put("b", vec![2])).await;
    assert_eq!((value(&after, "a"), value(&after, "b")), (None, Some(vec![2])));
}

/// A refused transaction returns the entries that refused it, without a second round trip.
pub async fn a_failed_transaction_says_what_is_there<S: RendezvousStore, R: Runtime>(
    site: &StoreSite<'_, S, R>,
) {
    let name = site.name();
    let there = site.applied(&name, Transaction::new().put("a", vec![1])).await;
    let ttl = Duration::from_secs(5);
    for late in [Transaction::new().put("a", vec![2]), Transaction::new().put_for("a", vec![2], ttl)] {
        let outcome = site.transact(&name, late.expect_absent("a")).await;
        assert!(!outcome.applied);
        assert_eq!(outcome.snapshot.entries, there.entries);
    }
}

/// An entry that was removed and written again has another version.
pub async fn a_version_never_stands_for_two_values<S: RendezvousStore, R: Runtime>(
    site: &StoreSite<'_, S, R>,
) {
    let name = site.name();
    let first = site.applied(&name, Transaction::new().put("a", vec![1])).await;
    site.applied(&name, Transaction::new().delete("a")).await;
    let second = site.applied(&name, Transaction::new().put("a", vec![1])).await;
    assert!(second.version("a") > first.version("a"));
    let stale = Transaction::new().expect("a", first.version("a")).put("a", vec![9]);
    assert!(!site.transact(&name, stale).await.applied);
}

/// If many writers create an entry at once, a single writer succeeds.
pub async fn of_many_creators_one_wins<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    let creators = (0..16_u8).map(|id| {
        let name = name.clone();
        async move { site.transact(&name, Transaction::new().expect_absent("a").put("a", vec![id])).await }
    });
    let outcomes = join_all(creators).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.applied).count(), 1);
    let there = value(&site.read(&name).await, "a");
    assert!(outcomes.iter().all(|outcome| value(&outcome.snapshot, "a") == there));
}

/// Counting up by compare and write, from many at once, loses no step.
pub async fn increments_are_not_lost<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    site.applied(&name, Transaction::new().put("n", vec![0])).await;
    let count = async || {
        for _ in 0..10 {
            let mut seen = site.read(&name).await;
            loop {
                let next = value(&seen, "n").unwrap()[0] + 1;
                let step = Transaction::new().expect("n", seen.version("n")).put("n", vec![next]);
                let outcome = site.transact(&name, step).await;
                if outcome.applied {
                    break;
                }
                seen = outcome.snapshot;
            }
        }
    };
    join_all((0..8).map(|_| count())).await;
    assert_eq!(value(&site.read(&name).await, "n"), Some(vec![80]));
}

/// If each of two transactions writes an entry on which the other depends, at most one transaction takes
/// place: there is no write skew.
pub async fn writes_that_depend_on_each_other_are_serialised<S: RendezvousStore, R: Runtime>(
    site: &StoreSite<'_, S, R>,
) {
    for _ in 0..20 {
        let name = site.name();
        let both = site.applied(&name, Transaction::new().put("a", vec![1]).put("b", vec![1])).await;
        let clear = |key: &str| {
            let seen = Transaction::new().expect("a", both.version("a")).expect("b", both.version("b"));
            site.transact(&name, seen.put(key, vec![0]))
        };
        let (a, b) = join(clear("a"), clear("b")).await;
        assert!(a.applied != b.applied, "one of the two, and not the other");
    }
}

/// Entries belong to a single name, even if another name has it as a prefix.
pub async fn names_do_not_see_each_other<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    let longer = bertha_negotiation::rendezvous::Name::new(format!("{name}0")).unwrap();
    site.applied(&longer, Transaction::new().put("a", vec![1])).await;
    assert!(site.read(&name).await.entries.is_empty());
    site.applied(&name, Transaction::new().expect_absent("a").put("a", vec![2])).await;
    assert_eq!(value(&site.read(&longer).await, "a"), Some(vec![1]));
}

/// A transaction whose future is dropped is applied whole or not at all, and the store goes on.
pub async fn a_dropped_transaction_is_whole_or_nothing<S: RendezvousStore, R: Runtime>(
    site: &StoreSite<'_, S, R>,
) {
    let name = site.name();
    for micros in [0, 10, 100, 300, 1000] {
        let both = Transaction::new().put("a", vec![micros as u8]).put("b", vec![micros as u8]);
        let _ = site.within(Duration::from_micros(micros), site.store.transact(&name, &both)).await;
        let after = site.read(&name).await;
        assert_eq!(value(&after, "a"), value(&after, "b"));
    }
    site.applied(&name, Transaction::new().put("c", vec![1])).await;
}
