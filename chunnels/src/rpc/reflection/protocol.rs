//! The calls about the methods of a server.

use futures_util::Stream;
use serde::{Deserialize, Serialize};

/// Tells the services of a server and their methods.
#[bertha_macros::service]
pub trait Reflection {
    /// Returns the names of the services, each once.
    fn services(&self) -> impl Stream<Item = String>;

    /// Returns the methods of a service; of all services for an empty name.
    fn methods(&self, service: String) -> impl Stream<Item = MethodDescription>;
}

/// A method of a service, as [`ReflectionClient`] tells it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MethodDescription {
    /// The name, which begins with the name of the service and a dot for methods of `#[bertha::service]`.
    pub name: String,
    /// True if a call may be repeated although it may have run.
    pub is_idempotent: bool,
    /// True for a method with a stream of requests.
    pub has_requests: bool,
    /// True for a method with a stream of responses.
    pub has_responses: bool,
}
