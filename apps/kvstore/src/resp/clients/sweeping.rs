//! Ending the connections that nobody uses.

use super::Places;
use crate::resp::descriptors;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between two sweeps. A client that is idle for too long stays for at most this much longer.
const PERIOD: Duration = Duration::from_secs(1);

/// Ends the connections of clients that are idle for too long, and one each period while the process has no file descriptor left. Sleeps
/// while there are no clients.
pub(crate) async fn sweep(places: Arc<Places>) {
    loop {
        places.occupied().await;
        bertha::sleep(PERIOD).await;
        let now = Instant::now();
        places.end_overdue(now);
        if !descriptors::is_one_free() {
            places.free_descriptor(now);
        }
    }
}
