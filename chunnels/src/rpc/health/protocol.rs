//! The calls about the health of services.

use futures_util::Stream;
use serde::{Deserialize, Serialize};

/// Tells the status of services, by name.
#[bertha_macros::service]
pub trait Health {
    /// Returns the status of a service; of the whole server for an empty name.
    #[idempotent]
    async fn check(&self, service: String) -> ServingStatus;

    /// Returns the status of a service at once, and again at each change. The stream ends when the server shuts down,
    /// for a known service after [`NotServing`](ServingStatus::NotServing). A status that is replaced before the client takes it is left out.
    fn watch(&self, service: String) -> impl Stream<Item = ServingStatus>;
}

/// The status of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ServingStatus {
    /// The server knows no service of this name.
    Unknown,
    /// The service answers calls.
    Serving,
    /// The service is there, and clients had better call another server.
    NotServing,
}
