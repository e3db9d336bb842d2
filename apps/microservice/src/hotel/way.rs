//! The ways of calls.

use super::managed::Managed;
use super::services::{Next, Work};
use bertha_core::Error;
use std::net::SocketAddr;

/// A way of calls between services.
pub(super) trait Way: Send + Sync {
    /// Finds the way to a service.
    fn find<S: Managed>(&self) -> impl Future<Output = Result<impl Next<S>, Error>> + Send;

    /// Serves until the way ends. `is_ready` is told the address of the service, if it has one of its own, once calls come.
    fn serve<S: Managed>(
        self,
        work: impl Work<S>,
        is_ready: impl FnOnce(Option<SocketAddr>) + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}
