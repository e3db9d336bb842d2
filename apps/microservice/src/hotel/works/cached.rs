//! Facts of hotels, out of the cache where it has them.

use crate::hotel::Memcached;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns the fact of each hotel that exists, in order. A fact that the cache lacks is `looked_up`, and put into the cache. A cache that
/// fails is as an empty cache, since it is no more than a shortcut.
pub(super) async fn facts<T: Serialize + DeserializeOwned>(
    cache: Option<&Memcached>,
    prefix: &str,
    hotels: &[String],
    looked_up: impl Fn(&str) -> Option<T>,
) -> Vec<T> {
    let Some(cache) = cache else { return hotels.iter().filter_map(|hotel| looked_up(hotel)).collect() };
    let keys: Vec<_> = hotels.iter().map(|hotel| format!("{prefix}:{hotel}")).collect();
    let mut found = match cache.get(&keys).await {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%error, "the cache fails");
            Default::default()
        }
    };
    let mut facts = Vec::with_capacity(hotels.len());
    for (hotel, key) in hotels.iter().zip(&keys) {
        let known = found.remove(key).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(fact) = known {
            facts.push(fact);
        } else if let Some(fact) = looked_up(hotel) {
            if let Ok(bytes) = serde_json::to_vec(&fact)
                && let Err(error) = cache.set(key, &bytes).await
            {
                tracing::warn!(%error, "the cache fails");
            }
            facts.push(fact);
        }
    }
    facts
}
