//! The four services that are called, whichever way calls take.

use super::messages::{Descriptions, Hotels, Names, Place, PlanList, Query, Stay};
use super::times::Times;
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

/// The work of a service.
pub trait Work<S: Service>: Send + Sync + 'static {
    /// Answers a request. Calls of other services go through `times`.
    ///
    /// # Errors
    /// The reason for which the caller gets no answer.
    fn work(
        &self,
        request: S::Request,
        times: &mut Times,
    ) -> impl Future<Output = Result<S::Answer, Error>> + Send;
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

    /// Takes the times of its making.
    fn set_times(&mut self, times: Times);

    /// Takes the calls that were made for it out of it.
    fn take_calls(&mut self) -> Vec<super::messages::Call> {
        Vec::new()
    }
}

macro_rules! service {
    ($name:ident, $text:literal, $method:literal, $request:ty, $answer:ty, $doc:literal) => {
        #[doc = $doc]
        #[derive(Debug, Clone, Copy)]
        pub struct $name;

        impl Service for $name {
            const NAME: &'static str = $text;
            const FULL_NAME: &'static str = concat!("hotel.", stringify!($name));
            const PATH: &'static str = concat!("/hotel.", stringify!($name), "/", $method);
            type Request = $request;
            type Answer = $answer;
        }
    };
}

service!(Geo, "geo", "Near", Place, Hotels, "The service that knows where hotels are.");
service!(Rate, "rate", "Plans", Stay, PlanList, "The service that knows prices.");
service!(Search, "search", "Find", Query, Hotels, "The service that asks [`Geo`] and [`Rate`].");
service!(Profile, "profile", "Describe", Names, Descriptions, "The service that describes hotels.");

impl Answer for Hotels {
    fn worked_ns(&self) -> u64 {
        self.worked_ns
    }

    fn set_times(&mut self, times: Times) {
        (self.worked_ns, self.calls) = times.end();
    }

    fn take_calls(&mut self) -> Vec<super::messages::Call> {
        std::mem::take(&mut self.calls)
    }
}

impl Answer for PlanList {
    fn worked_ns(&self) -> u64 {
        self.worked_ns
    }

    fn set_times(&mut self, times: Times) {
        self.worked_ns = times.end().0;
    }
}

impl Answer for Descriptions {
    fn worked_ns(&self) -> u64 {
        self.worked_ns
    }

    fn set_times(&mut self, times: Times) {
        self.worked_ns = times.end().0;
    }
}

/// Answers a request, and measures the work.
pub(super) async fn answered<S: Service>(
    work: &impl Work<S>,
    request: S::Request,
) -> Result<S::Answer, Error> {
    let mut times = Times::begin();
    let mut answer = work.work(request, &mut times).await?;
    answer.set_times(times);
    Ok(answer)
}
