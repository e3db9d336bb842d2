//! The four services that are called, whichever way calls take.

use super::messages::{Call, Descriptions, Hotels, Names, Place, PlanList, Query, Stay};
use super::times::Times;
use bertha_core::Error;

pub use super::service::{Answer, Next, Service};

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

    fn set_times(&mut self, worked_ns: u64, calls: Vec<Call>) {
        (self.worked_ns, self.calls) = (worked_ns, calls);
    }

    fn take_calls(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }
}

impl Answer for PlanList {
    fn worked_ns(&self) -> u64 {
        self.worked_ns
    }

    fn set_times(&mut self, worked_ns: u64, _: Vec<Call>) {
        self.worked_ns = worked_ns;
    }
}

impl Answer for Descriptions {
    fn worked_ns(&self) -> u64 {
        self.worked_ns
    }

    fn set_times(&mut self, worked_ns: u64, _: Vec<Call>) {
        self.worked_ns = worked_ns;
    }
}

/// Answers a request, and measures the work.
pub(super) async fn answered<S: Service>(
    work: &impl Work<S>,
    request: S::Request,
) -> Result<S::Answer, Error> {
    let mut times = Times::begin();
    let mut answer = work.work(request, &mut times).await?;
    let (worked_ns, calls) = times.end();
    answer.set_times(worked_ns, calls);
    Ok(answer)
}
