//! The health of the services of a server.

mod protocol;
mod statuses;

use super::{Failure, Method, Reply, Request, Service, Shutdown};
pub use protocol::{HealthClient, ServingStatus};
use protocol::{HealthResponse, HealthServer};
use statuses::Statuses;

/// Tells clients the status of services, by name: a [`Service`] beside them, as `grpc.health.v1` is. [`HealthClient`] calls
/// it. Clones share the statuses.
///
/// The empty name is that of the whole server, which serves from the start. Names that were not set are
/// [`Unknown`](ServingStatus::Unknown).
///
/// ```
/// # use bertha_chunnels::rpc::{Health, Message, Service, ServingStatus, Shutdown, serve};
/// # use bertha_core::Connection;
/// # fn example(connection: impl Connection<Data = Message>, orders: impl Service) {
/// let shutdown = Shutdown::new();
/// let health = Health::new().until(&shutdown);
/// let serving = serve(connection, orders.or(health.clone())).until(&shutdown);
/// health.set("Orders", ServingStatus::Serving);
/// # drop(serving);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Health {
    statuses: Statuses,
    server: HealthServer<Statuses>,
}

impl Health {
    /// Makes the statuses of a server that serves, without names.
    pub fn new() -> Self {
        Self::with(Statuses::new())
    }

    fn with(statuses: Statuses) -> Self {
        Self { server: HealthServer::new(statuses.clone()), statuses }
    }

    /// Tells [`NotServing`](ServingStatus::NotServing) for each known name once `shutdown` has begun, and ends the watches
    /// of clients then, so that they hold up no server. Each connection with these statuses has to be served until the same
    /// handle: a watch over another one holds up [`Shutdown::ended`].
    #[must_use]
    pub fn until(self, shutdown: &Shutdown) -> Self {
        Self::with(self.statuses.until(shutdown))
    }

    /// Sets the status of a service, which the clients that watch it learn.
    pub fn set(&self, service: &str, status: ServingStatus) {
        self.statuses.set(service, status);
    }
}

impl Default for Health {
    fn default() -> Self {
        Self::new()
    }
}

impl Service for Health {
    type Response = HealthResponse;

    fn call(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Reply<'_, HealthResponse>, Failure>> + Send {
        self.server.call(request)
    }

    fn encode(&self, response: &HealthResponse, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        self.server.encode(response, into)
    }

    fn limit(&self) -> usize {
        self.server.limit()
    }

    fn methods(&self) -> &[Method] {
        self.server.methods()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use crate::rpc::{Client, FailureKind, handler, serve};
    use bertha_core::Runtime;
    use bertha_datapath_sim::{Sim, pair_of};
    use futures_util::FutureExt;
    use std::time::Duration;

    const DOUBLE: Method = Method::new("double");

    #[test]
    fn a_watch_tells_each_change_and_ends_with_the_server_whose_shutdown_does_not_wait_for_it() {
        let mut sim = Sim::new(1);
        let runtime = sim.runtime();
        sim.run(async {
            let (here, there) = pair_of(runtime.clone());
            let shutdown = Shutdown::new();
            let health = Health::new().until(&shutdown);
            let double = handler(DOUBLE, async |number: u64| Ok(2 * number));
            let serving = serve(there, double.or(health.clone())).until(&shutdown).into_future();
            let _server = runtime.spawn(async move { serving.await.unwrap() });
            let calls = Client::new(here);
            let client = HealthClient::new(calls.clone());
            let checked = async |name: &str| client.check(name.into()).await.unwrap();
            assert_eq!(checked("").await, ServingStatus::Serving);
            assert_eq!(checked("orders").await, ServingStatus::Unknown);

            let mut watch = client.watch("orders".into()).await.unwrap();
            assert_eq!(watch.next().await.unwrap().unwrap(), ServingStatus::Unknown);
            health.set("stock", ServingStatus::Serving);
            let pause = || runtime.sleep_until(runtime.now() + Duration::from_millis(1));
            pause().await;
            assert!(watch.next().now_or_never().is_none(), "the status of another service");
            health.set("orders", ServingStatus::Serving);
            assert_eq!(watch.next().await.unwrap().unwrap(), ServingStatus::Serving);
            assert_eq!(calls.call::<u64, u64>(DOUBLE, &21).await.unwrap(), 42);
            let unknown = calls.call::<u64, u64>(Method::new("none"), &21).await.unwrap_err();
            assert_eq!(unknown.kind(), FailureKind::UnknownMethod);

            let begun = runtime.now();
            shutdown.begin(Duration::from_secs(3600));
            assert_eq!(watch.next().await.unwrap().unwrap(), ServingStatus::NotServing);
            assert!(watch.next().await.is_none());
            drop((watch, client));
            shutdown.ended().await;
            assert!(runtime.now() - begun < Duration::from_secs(1), "the watch held the server up");
        });
    }
}
