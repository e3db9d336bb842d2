//! Changes are reported.

use super::StoreSite;
use super::expiry::SHORT;
use bertha_core::Runtime;
use bertha_negotiation::rendezvous::{Name, RendezvousStore, Revision, Transaction, Watch};
use std::time::Duration;

async fn watch<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>, name: &Name) -> S::Watch {
    let watch = site.soon("a watch", site.store.watch(name)).await;
    watch.unwrap_or_else(|error| panic!("a watch: {error:?}"))
}

/// Waits until the watch has reported `revision` or a later revision.
async fn reported<S: RendezvousStore, R: Runtime>(
    site: &StoreSite<'_, S, R>,
    watch: &mut S::Watch,
    revision: Revision,
) {
    let reached = async {
        while watch.changed().await.unwrap_or_else(|error| panic!("a watch: {error:?}")) < revision {}
    };
    site.soon("a change", reached).await;
}

/// Writes and removals end a wait; changes under other names do not.
pub async fn a_change_is_reported<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let (name, other) = (site.name(), site.name());
    let mut changes = watch(site, &name).await;
    let mut quiet = watch(site, &other).await;
    let write = Transaction::new().put("a", vec![1]);
    for change in [write, Transaction::new().delete("a")] {
        let (_, after) = futures_util::future::join(
            async {
                let changed = changes.changed().await;
                changed.unwrap_or_else(|error| panic!("a watch: {error:?}"))
            },
            async {
                site.pause(Duration::from_millis(20)).await;
                site.applied(&name, change).await
            },
        )
        .await;
        assert_eq!(site.read(&name).await.entries, after.entries);
    }
    let nothing = site.within(Duration::from_millis(50), quiet.changed()).await;
    assert!(nothing.is_none(), "another name has not changed");
}

/// A change between watching and waiting is reported by the wait.
pub async fn a_change_before_waiting_is_reported<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    for _ in 0..20 {
        let name = site.name();
        let mut changes = watch(site, &name).await;
        let mut last = Revision::default();
        for value in 0..3 {
            last = site.applied(&name, Transaction::new().put("a", vec![value])).await.revision;
        }
        reported::<S, R>(site, &mut changes, last).await;
    }
}

/// A wait that is given up loses no change.
pub async fn a_dropped_wait_misses_nothing<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    let mut changes = watch(site, &name).await;
    for micros in [0, 50, 200, 1000] {
        let _ = site.within(Duration::from_micros(micros), changes.changed()).await;
    }
    let revision = site.applied(&name, Transaction::new().put("a", vec![1])).await.revision;
    reported::<S, R>(site, &mut changes, revision).await;
}

/// The expiry of an entry is reported at the latest when another entry is renewed.
pub async fn expiry_is_reported_once_somebody_touches<S: RendezvousStore, R: Runtime>(
    site: &StoreSite<'_, S, R>,
) {
    let name = site.name();
    let two = Transaction::new().put_for("short", vec![1], SHORT).put_for("long", vec![1], 60 * SHORT);
    let written = site.applied(&name, two).await;
    let mut changes = watch(site, &name).await;
    let touch = async {
        loop {
            site.renew(&name, "long", 60 * SHORT).await;
            site.pause(SHORT / 5).await;
        }
    };
    let expiry = reported::<S, R>(site, &mut changes, Revision(written.revision.0 + 1));
    futures_util::future::select(std::pin::pin!(expiry), std::pin::pin!(touch)).await;
    assert_eq!(site.read(&name).await.version("short"), Revision::ABSENT);
}
