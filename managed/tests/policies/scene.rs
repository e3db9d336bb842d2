//! A client and a server whose stacks have the Chunnel.

use crate::protobuf::{Protobuf, RESERVE, policies};
use bertha_chunnels::Rpc;
use bertha_chunnels::rpc::{Client, Failure, Multiplexer, RpcConnection, handler, serve};
use bertha_core::{Connection, Runtime, Wrap, make_stack};
use bertha_datapath_sim::{PairConnection, Sim, SimRuntime, SimTask, pair};
use bertha_managed::Policies;
use bertha_managed::policies::PoliciesConnection;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

pub(crate) const MS: Duration = Duration::from_millis(1);

/// The end of a connection with the Chunnel.
pub(crate) type End = PoliciesConnection<RpcConnection<PairConnection<SimRuntime>>>;

/// The end that has engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// Runs a test with engines at either end, and with several orders of tasks.
pub(crate) fn play(test: impl AsyncFn(&SimRuntime, Side)) {
    for side in [Side::Client, Side::Server] {
        for seed in 0..10 {
            let mut sim = Sim::new(seed);
            let runtime = sim.runtime();
            sim.run(test(&runtime, side));
        }
    }
}

/// A client of a server, with engines at one of them.
pub(crate) struct Scene {
    pub(crate) runtime: SimRuntime,
    pub(crate) client: Client<Multiplexer<End>, Protobuf>,
    /// The requests that have reached the handler, in order.
    pub(crate) reached: Arc<Mutex<Vec<String>>>,
    _server: SimTask,
}

impl Scene {
    pub(crate) async fn new(runtime: &SimRuntime, side: Side, with: &Policies) -> Self {
        let (here, there) = pair(runtime.clone());
        let without = policies().other_methods();
        let [of_client, of_server] = match side {
            Side::Client => [with.clone(), without],
            Side::Server => [without, with.clone()],
        };
        let client = Client::new(end(here, of_client).await).codec(Protobuf);
        let there = end(there, of_server).await;
        let (_server, reached) = server(runtime, there);
        Self { runtime: runtime.clone(), client, reached, _server }
    }

    pub(crate) async fn reserve(&self, customer: impl ToString) -> Result<u64, Failure> {
        let customer = customer.to_string();
        self.client.call(RESERVE, &customer).await
    }

    /// Returns the requests that have reached the handler.
    pub(crate) fn reached(&self) -> Vec<String> {
        self.reached.lock().clone()
    }

    pub(crate) async fn pass(&self, time: Duration) {
        pass(&self.runtime, time).await;
    }
}

pub(crate) async fn pass(runtime: &SimRuntime, time: Duration) {
    runtime.sleep_until(runtime.now() + time).await;
}

pub(crate) async fn end(below: PairConnection<SimRuntime>, policies: Policies) -> End {
    make_stack!(policies, Rpc::new().codec(&Protobuf)).wrap(below).await.unwrap()
}

/// Serves a connection by a handler that tells what reaches it, and returns the length of the name. A name that begins with `slow` takes
/// it 50 ms.
pub(crate) fn server(
    runtime: &SimRuntime,
    connection: impl Connection<Data = bertha_chunnels::rpc::Message>,
) -> (SimTask, Arc<Mutex<Vec<String>>>) {
    let reached = Arc::new(Mutex::new(Vec::new()));
    let (log, clock) = (reached.clone(), runtime.clone());
    let reserve = handler(RESERVE, move |customer: String| {
        let (log, clock) = (log.clone(), clock.clone());
        async move {
            log.lock().push(customer.clone());
            if customer.starts_with("slow") {
                pass(&clock, 50 * MS).await;
            }
            Ok(customer.len() as u64)
        }
    });
    let serving = serve(connection, reserve.codec(Protobuf)).into_future();
    let task = runtime.spawn(async move {
        let _ended = serving.await;
    });
    (task, reached)
}
