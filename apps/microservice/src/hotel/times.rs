//! The times of a request: work of applications, and the rest, which is what calls cost.

use super::messages::Call;
use super::service::{Answer, Next, Service};
use bertha_core::Error;
use std::time::{Duration, Instant};

/// The times of a request at a service.
#[derive(Debug)]
pub struct Times {
    begun: Instant,
    /// Time in calls of this service.
    away: Duration,
    /// Work of the services that it called.
    worked_there_ns: u64,
    /// Its calls, and theirs.
    calls: Vec<Call>,
}

impl Times {
    pub(super) fn begin() -> Self {
        Self { begun: Instant::now(), away: Duration::ZERO, worked_there_ns: 0, calls: Vec::new() }
    }

    /// Calls the next service.
    ///
    /// # Errors
    /// Errors of the call.
    pub async fn call<S: Service>(
        &mut self,
        next: &impl Next<S>,
        request: S::Request,
    ) -> Result<S::Answer, Error> {
        let begun = Instant::now();
        let mut answer = next.call(request).await?;
        let took = begun.elapsed();
        let worked_ns = answer.worked_ns();
        self.away += took;
        self.worked_there_ns += worked_ns;
        self.calls.push(Call { service: S::NAME.into(), took_ns: took.as_nanos() as u64, worked_ns });
        self.calls.extend(answer.take_calls());
        Ok(answer)
    }

    /// Returns the nanoseconds of work here and at the services that were called, and all calls.
    pub(super) fn end(self) -> (u64, Vec<Call>) {
        let here = self.begun.elapsed().saturating_sub(self.away);
        (here.as_nanos() as u64 + self.worked_there_ns, self.calls)
    }

    /// Returns the time since the request has come.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::{Hotels, Place};
    use super::super::services::Geo;
    use super::*;

    struct Slow;

    impl Next<Geo> for Slow {
        async fn call(&self, _: Place) -> Result<Hotels, Error> {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let calls = vec![Call { service: "further".into(), took_ns: 9, worked_ns: 8 }];
            Ok(Hotels { worked_ns: 7, calls, ..Hotels::default() })
        }
    }

    #[tokio::test]
    async fn work_has_the_work_elsewhere_and_no_time_of_a_call() {
        let mut times = Times::begin();
        let answer = times.call(&Slow, Place::default()).await.unwrap();
        assert!(answer.calls.is_empty());
        let all = times.elapsed().as_nanos() as u64;
        let (worked_ns, calls) = times.end();
        let took_ns = calls[0].took_ns;
        assert!(
            took_ns >= 50_000_000 && (7..=7 + all.saturating_sub(took_ns) + 5_000_000).contains(&worked_ns)
        );
        let calls: Vec<_> = calls.iter().map(|call| (call.service.as_str(), call.worked_ns)).collect();
        assert_eq!(calls, [("geo", 7), ("further", 8)]);
    }
}
