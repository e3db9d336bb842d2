//! The services of a server, told to its clients.

mod protocol;

use super::{Failure, Method, Reply, Request, Service};
use futures_util::{Stream, stream};
pub use protocol::{MethodDescription, ReflectionClient};
use protocol::{ReflectionResponse, ReflectionServer};
use std::sync::Arc;

/// Tells clients the services of a server, and their methods with their kinds: a [`Service`] beside them.
/// [`ReflectionClient`] calls it. The types of arguments and responses are not told.
///
/// ```
/// # use bertha_chunnels::rpc::{Message, Reflection, Service, serve};
/// # use bertha_core::Connection;
/// # fn example(connection: impl Connection<Data = Message>, orders: impl Service, stock: impl Service) {
/// let services = orders.or(stock);
/// let reflection = Reflection::of(&services);
/// let serving = serve(connection, services.or(reflection));
/// # drop(serving);
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Reflection {
    server: ReflectionServer<Described>,
}

impl Reflection {
    /// Describes the [methods](Service::methods) of a service, and the methods of the reflection itself.
    pub fn of(service: &impl Service) -> Self {
        let own = ReflectionServer::new(Described::default());
        let described = service.methods().iter().chain(own.methods()).copied().collect();
        Self { server: ReflectionServer::new(Described(described)) }
    }
}

impl Service for Reflection {
    type Response = ReflectionResponse;

    fn call(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Reply<'_, ReflectionResponse>, Failure>> + Send {
        self.server.call(request)
    }

    fn encode(&self, response: &ReflectionResponse, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        self.server.encode(response, into)
    }

    fn limit(&self) -> usize {
        self.server.limit()
    }

    fn methods(&self) -> &[Method] {
        self.server.methods()
    }
}

/// The methods that are told.
#[derive(Debug, Clone, Default)]
struct Described(Arc<[Method]>);

/// Returns the name of the service of a method, which is empty for a method without a service.
fn service_of(method: Method) -> &'static str {
    method.name().rsplit_once('.').map_or("", |(service, _)| service)
}

impl protocol::Reflection for Described {
    fn services(&self) -> impl Stream<Item = String> {
        let mut names: Vec<_> = self.0.iter().map(|method| service_of(*method)).collect();
        names.sort_unstable();
        names.dedup();
        stream::iter(names.into_iter().map(str::to_owned))
    }

    fn methods(&self, service: String) -> impl Stream<Item = MethodDescription> {
        let is_asked = move |method: &&Method| service.is_empty() || service_of(**method) == service;
        stream::iter(self.0.iter().filter(is_asked).map(|method| MethodDescription {
            name: method.name().to_owned(),
            is_idempotent: method.is_idempotent(),
            has_requests: method.has_requests(),
            has_responses: method.has_responses(),
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use crate::rpc::{Client, Health, handler, serve};
    use bertha_core::Runtime;
    use bertha_datapath_sim::{Sim, pair_of};
    use futures_util::StreamExt;

    #[test]
    fn services_and_the_kinds_of_their_methods_are_told() {
        let mut sim = Sim::new(1);
        let runtime = sim.runtime();
        sim.run(async {
            let (here, there) = pair_of(runtime.clone());
            let double = handler(Method::new("Numbers.double"), async |number: u64| Ok(2 * number));
            let services = double.or(Health::new());
            let reflection = Reflection::of(&services);
            let serving = serve(there, services.or(reflection)).into_future();
            let _server = runtime.spawn(async move { serving.await.unwrap() });
            let client = ReflectionClient::new(Client::new(here));
            let names: Vec<_> = client.services().await.unwrap().map(Result::unwrap).collect().await;
            assert_eq!(names, ["Health", "Numbers", "Reflection"]);
            let told = async |service: &str| {
                let methods = client.methods(service.into()).await.unwrap().map(Result::unwrap);
                let kinds =
                    methods.map(|it| (it.name, [it.is_idempotent, it.has_requests, it.has_responses]));
                kinds.collect::<Vec<_>>().await
            };
            let health = [
                ("Health.check".to_owned(), [true, false, false]),
                ("Health.watch".to_owned(), [false, false, true]),
            ];
            assert_eq!(told("Health").await, health);
            assert_eq!(told("").await.len(), 5);
            assert!(told("none").await.is_empty());
        });
    }
}
