//! Entries expire on the store's clock.

use super::{StoreSite, value};
use crate::TIMEOUT;
use bertha_core::Runtime;
use bertha_negotiation::rendezvous::{Name, RendezvousStore, Revision, Transaction};
use std::time::Duration;

/// A short time to live: the shortest that every store supports.
pub(super) const SHORT: Duration = Duration::from_secs(1);

/// A time that is long enough to show that renewals, each fifth of [`SHORT`], kept an entry alive.
const LONG: Duration = Duration::from_secs(4);

/// Waits until the entry is gone, looking again and again.
async fn gone<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>, name: &Name, key: &str) {
    let start = site.runtime.now();
    while value(&site.read(name).await, key).is_some() {
        assert!(site.runtime.now() < start + TIMEOUT, "{key} did not expire");
        site.pause(SHORT / 10).await;
    }
}

/// An entry that is not renewed vanishes, and all other entries stay.
pub async fn an_entry_expires<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    let both = Transaction::new().put_for("short", vec![1], SHORT).put("stays", vec![2]);
    let written = site.applied(&name, both).await;
    assert_eq!(value(&written, "short"), Some(vec![1]));
    gone(site, &name, "short").await;
    assert_eq!(value(&site.read(&name).await, "stays"), Some(vec![2]));
}

/// A condition on an expired entry fails, and the revision is later.
pub async fn expiry_is_a_change<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    let written = site.applied(&name, Transaction::new().put_for("short", vec![1], SHORT)).await;
    gone(site, &name, "short").await;
    let stale = Transaction::new().expect("short", written.version("short")).put("a", vec![1]);
    let outcome = site.transact(&name, stale).await;
    assert!(!outcome.applied);
    assert!(outcome.snapshot.revision > written.revision);
    site.applied(&name, Transaction::new().expect_absent("short").put("short", vec![2])).await;
}

/// Renewing keeps an entry alive, and changes neither value nor version.
pub async fn a_renewed_entry_lives_on<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    let written = site.applied(&name, Transaction::new().put_for("short", vec![1], SHORT)).await;
    let end = site.runtime.now() + LONG;
    while site.runtime.now() < end {
        let revision = site.renew(&name, "short", SHORT).await;
        assert!(revision.is_some_and(|revision| revision >= written.revision), "renewed, and so still there");
        site.pause(SHORT / 5).await;
    }
    assert_eq!(site.read(&name).await.entries, written.entries);
    gone(site, &name, "short").await;
}

/// A write with a time to live counts as a renewal.
pub async fn writing_starts_the_time_anew<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    let mut seen = site.applied(&name, Transaction::new().put_for("short", vec![0], SHORT)).await;
    let end = site.runtime.now() + LONG;
    while site.runtime.now() < end {
        site.pause(SHORT / 5).await;
        let again = Transaction::new().expect("short", seen.version("short"));
        seen = site.applied(&name, again.put_for("short", vec![1], SHORT)).await;
    }
}

/// An expired entry does not come back.
pub async fn what_has_expired_is_not_renewed<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    assert_eq!(site.renew(&name, "never there", SHORT).await, None);
    site.applied(&name, Transaction::new().put_for("short", vec![1], SHORT).put("stays", vec![1])).await;
    gone(site, &name, "short").await;
    assert_eq!(site.renew(&name, "short", SHORT).await, None);
    assert_eq!(site.read(&name).await.version("short"), Revision::ABSENT);
    site.applied(&name, Transaction::new().put_for("removed", vec![1], SHORT)).await;
    site.applied(&name, Transaction::new().delete("removed")).await;
    assert_eq!(site.renew(&name, "removed", SHORT).await, None);
}

/// Only an entry with a time to live expires; writing an entry without a time to live removes it.
pub async fn an_entry_without_a_time_to_live_stays<S: RendezvousStore, R: Runtime>(
    site: &StoreSite<'_, S, R>,
) {
    let name = site.name();
    site.applied(&name, Transaction::new().put_for("kept", vec![1], SHORT).put_for("short", vec![1], SHORT))
        .await;
    site.applied(&name, Transaction::new().put("kept", vec![2])).await;
    gone(site, &name, "short").await;
    site.pause(SHORT).await;
    assert_eq!(value(&site.read(&name).await, "kept"), Some(vec![2]));
}

/// Each entry of a transaction has a time to live of its own.
pub async fn several_entries_with_a_time_to_live_in_one_transaction<S: RendezvousStore, R: Runtime>(
    site: &StoreSite<'_, S, R>,
) {
    let name = site.name();
    let two = Transaction::new().put_for("short", vec![1], SHORT).put_for("long", vec![1], 60 * SHORT);
    site.applied(&name, two).await;
    gone(site, &name, "short").await;
    assert_eq!(value(&site.read(&name).await, "long"), Some(vec![1]));
}
