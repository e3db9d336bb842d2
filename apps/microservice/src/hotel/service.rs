//! A service, and the way to it.

use super::messages::Call;
use bertha_core::Error;

/// A service with one method.
pub trait Service: Send + Sync + 'static {
    /// The name by which services find it.
    const NAME: &'static str;
    /// The name in `proto/hotel.proto`.
    const FULL_NAME: &'static str;
    /// The path of its method over HTTP/2.
    const PATH: &'static str;
    /// The message that asks.
    type Request: prost::Message + Default + 'static;
    /// The message that answers.
    type Answer: Answer;
}

/// A way to a service that is called next.
pub trait Next<S: Service>: Send + Sync + 'static {
    /// Calls it.
    ///
    /// # Errors
    /// Errors of the way, and of the service.
    fn call(&self, request: S::Request) -> impl Future<Output = Result<S::Answer, Error>> + Send;
}

/// A message that says how long services have worked for it.
pub trait Answer: prost::Message + Default + 'static {
    /// Returns the nanoseconds of work.
    fn worked_ns(&self) -> u64;

    /// Takes the nanoseconds of work for it, and the calls that were made for it.
    fn set_times(&mut self, worked_ns: u64, calls: Vec<Call>);

    /// Takes the calls that were made for it out of it.
    fn take_calls(&mut self) -> Vec<Call> {
        Vec::new()
    }
}
