//! The bounds are kept.

use super::StoreSite;
use bertha_core::{ErrorKind, Runtime};
use bertha_negotiation::rendezvous::{Name, RendezvousStore, Transaction, limits};

/// A transaction beyond the bounds fails, and no part of it takes place.
pub async fn too_much_is_refused_whole<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    let long = "k".repeat(limits::KEY + 1);
    let many =
        (0..=limits::OPERATIONS).fold(Transaction::new(), |many, key| many.put(key.to_string(), vec![1]));
    for too_much in [
        Transaction::new().put("a", vec![1]).put("b", vec![0; limits::VALUE + 1]),
        Transaction::new().put("a", vec![1]).put(long, vec![1]),
        many,
    ] {
        let error = site.attempt(&name, too_much).await.expect_err("a transaction beyond the bounds");
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }
    assert!(site.read(&name).await.entries.is_empty());
    let most = Transaction::new().put("k".repeat(limits::KEY), vec![7; limits::VALUE]);
    let written = site.applied(&name, most).await;
    assert_eq!(written.entries.len(), 1);
}

/// A connection with more entries than are read is an error, and not a long answer.
pub async fn too_many_entries_are_refused<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let name = site.name();
    let mut refused = None;
    for batch in 0..=limits::ENTRIES / limits::OPERATIONS + 1 {
        let keys = (0..limits::OPERATIONS).map(|key| format!("{batch}-{key}"));
        let full = keys.fold(Transaction::new(), |full, key| full.put(key, vec![1]));
        if let Err(error) = site.attempt(&name, full).await {
            refused = Some(error.kind());
            break;
        }
    }
    assert_eq!(refused, Some(ErrorKind::Exhausted));
}

/// The store lists names with entries, as many as were asked for.
pub async fn names_are_listed<S: RendezvousStore, R: Runtime>(site: &StoreSite<'_, S, R>) {
    let names: Vec<Name> = (0..3).map(|_| site.name()).collect();
    for name in &names {
        site.applied(name, Transaction::new().put("a", vec![1]).put("b", vec![1])).await;
    }
    let all = site.soon("names", site.store.names(100_000)).await.unwrap();
    for name in &names {
        assert_eq!(all.iter().filter(|listed| *listed == name).count(), 1, "{name} is listed once");
    }
    assert_eq!(site.soon("names", site.store.names(2)).await.unwrap().len(), 2);
}
