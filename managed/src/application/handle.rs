//! The work of a server.

use super::Incoming;
use crate::Service;

/// The work of a server for each call. Generated code does it by a handler with a function for each method.
pub trait Handle<S: Service>: Send + Sync + 'static {
    /// Works on a call. A call that is dropped without an outcome fails.
    fn handle(&self, call: Incoming<S>) -> impl Future<Output = ()> + Send;
}
