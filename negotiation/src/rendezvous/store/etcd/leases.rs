//! Leases, by which entries expire in etcd.

use super::failure::{ANSWER_TIMEOUT, failure, in_time, late};
use crate::rendezvous::store::name::Name;
use bertha_core::Error;
use etcd_client::Client;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of remembered leases. A forgotten lease is looked up, or granted anew.
const MAX_KEPT: usize = 256;

/// The leases of entries that this store wrote.
#[derive(Debug, Default)]
pub(super) struct Leases(Mutex<VecDeque<Kept>>);

#[derive(Debug)]
struct Kept {
    name: Name,
    key: String,
    ttl: Duration,
    lease: i64,
    since: Instant,
}

impl Leases {
    /// Returns the lease of an entry, if it was granted for this time to live and half of the time is left.
    /// An entry that is written with a lease in its last moment would vanish with the lease: etcd accepts the
    /// write until it has noticed that the lease has expired.
    pub(super) fn kept(&self, name: &Name, key: &str, ttl: Duration) -> Option<i64> {
        let kept = self.lock();
        let kept = kept.iter().find(|kept| kept.key == key && kept.name == *name && kept.ttl == ttl)?;
        (kept.since.elapsed() < ttl / 2).then_some(kept.lease)
    }

    /// Remembers a lease that was granted or renewed just now.
    pub(super) fn keep(&self, name: &Name, key: &str, ttl: Duration, lease: i64) {
        self.forget(name, key);
        let mut kept = self.lock();
        kept.truncate(MAX_KEPT - 1);
        kept.push_front(Kept { name: name.clone(), key: key.into(), ttl, lease, since: Instant::now() });
    }

    pub(super) fn forget(&self, name: &Name, key: &str) {
        self.lock().retain(|kept| kept.key != key || kept.name != *name);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        // No code under the lock panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Grants a new lease, of whole seconds.
pub(super) async fn grant(client: &Client, ttl: Duration) -> Result<i64, Error> {
    let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX).max(1);
    Ok(in_time(client.lease_client().grant(seconds, None)).await?.id())
}

/// Restarts the time of a lease. Returns true if the lease still existed.
pub(super) async fn keep_alive(client: &Client, lease: i64) -> Result<bool, Error> {
    let mut leases = client.lease_client();
    let kept = tokio::time::timeout(ANSWER_TIMEOUT, leases.keep_alive(lease)).await;
    match kept.unwrap_or_else(|_| Err(late())) {
        Ok(_) => Ok(true),
        // The client library reports a missing lease with this error.
        Err(etcd_client::Error::LeaseKeepAliveError(_)) => Ok(false),
        Err(error) => Err(failure(error)),
    }
}
