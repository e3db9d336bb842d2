//! A datapath's connection, made within the time that is left.

use crate::deadline::within;
use bertha_core::{Addr, Datapath, Error, Runtime};
use std::pin::pin;
use std::time::{Duration, Instant};

/// Returns a connection of the datapath to `to`, unless it takes longer than `limit`. A datapath that does not tell its
/// runtime has time-outs of its own alone: nothing before its connection has a clock.
///
/// # Errors
/// The errors of the datapath; [`TimedOut`](bertha_core::ErrorKind::TimedOut).
pub(crate) async fn reached<D: Datapath>(
    datapath: &D,
    to: Addr,
    limit: Duration,
) -> Result<D::Connection, Error> {
    let Some(runtime) = datapath.runtime() else { return datapath.connect(to).await };
    let connecting = pin!(datapath.connect(to.clone()));
    within(&runtime, limit, || format!("{to} did not take the connection within {limit:?}"), connecting).await
}

/// The beginning of an attempt to connect, and its time limit.
pub(crate) struct Attempt {
    began: Option<Instant>,
    limit: Duration,
}

impl Attempt {
    /// Begins an attempt over a datapath.
    pub(crate) fn begin(datapath: &impl Datapath, limit: Duration) -> Self {
        Self { began: datapath.runtime().map(|runtime| runtime.now()), limit }
    }

    /// Returns the time that is left: all, where the datapath does not tell its runtime.
    pub(crate) fn left(&self, runtime: &impl Runtime) -> Duration {
        let spent = self.began.map(|began| runtime.now().saturating_duration_since(began));
        self.limit.saturating_sub(spent.unwrap_or_default())
    }
}
