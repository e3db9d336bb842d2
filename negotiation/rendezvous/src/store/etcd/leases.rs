//! Leases: what makes entries expire in etcd.

use super::failure::{ANSWER_TIMEOUT, failure, in_time, late};
use crate::store::name::Name;
use bertha_core::Error;
use etcd_client::Client;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The bound of remembered leases. A forgotten one is looked up, or granted anew.
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
    /// The lease of an entry, if it was for this time to live and half of that is left. An entry that is written with a lease in its last
    /// moment vanishes with it: etcd takes the write as long as it has not noticed yet that the lease has expired.
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
        // Nothing panics under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A new lease, of whole seconds.
pub(super) async fn grant(client: &Client, ttl: Duration) -> Result<i64, Error> {
    let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX).max(1);
    Ok(in_time(client.lease_client().grant(seconds, None)).await?.id())
}

/// Starts the clock of a lease anew. Whether it was still there.
pub(super) async fn keep_alive(client: &Client, lease: i64) -> Result<bool, Error> {
    let mut leases = client.lease_client();
    let kept = tokio::time::timeout(ANSWER_TIMEOUT, leases.keep_alive(lease)).await;
    match kept.unwrap_or_else(|_| Err(late())) {
        Ok(_) => Ok(true),
        // This is how the client library says that there is no such lease.
        Err(etcd_client::Error::LeaseKeepAliveError(_)) => Ok(false),
        Err(error) => Err(failure(error)),
    }
}
