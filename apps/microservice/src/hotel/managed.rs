//! Services as daemons know them.

use super::services::{Next, Service, Work};
use bertha_core::Error;
use bertha_managed::application::Attach;

/// A service that a daemon knows.
pub(super) trait Managed: Service + Sized {
    /// A way to it.
    type Client: Next<Self>;

    /// Finds the way through a daemon.
    fn find(daemon: &Attach) -> impl Future<Output = Result<Self::Client, Error>> + Send;

    /// Serves, at one daemon after another. `is_ready` is called once calls come.
    fn serve(
        daemon: &Attach,
        work: impl Work<Self>,
        is_ready: impl FnOnce() + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send;
}
