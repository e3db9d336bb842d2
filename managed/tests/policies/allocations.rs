//! A call costs no allocation because of engines.

use crate::protobuf::{Protobuf, RESERVE, policies};
use bertha_allocations::{Counting, of_thread};
use bertha_chunnels::Rpc;
use bertha_chunnels::rpc::{Client, Message};
use bertha_core::{Connection, Wrap, make_stack};
use bertha_datapath_sim::{PairConnection, Sim, SimRuntime, pair};
use bertha_managed::engines::{Acl, Metrics, Null, Quota, RateLimit};

#[global_allocator]
static COUNTING: Counting = Counting;

type Ends = (PairConnection<SimRuntime>, PairConnection<SimRuntime>);

/// Returns the number of allocations of calls, once others have filled pools and tables.
fn allocations<C: Connection<Data = Message>>(wrap: impl AsyncFnOnce(Ends) -> (C, C)) -> u64 {
    let mut sim = Sim::new(1);
    let runtime = sim.runtime();
    sim.run(async {
        let (here, there) = wrap(pair(runtime.clone())).await;
        let (_server, reached) = crate::scene::server(&runtime, there);
        let client = Client::new(here).codec(Protobuf);
        reached.lock().reserve(10_000);
        let customer = "Ada".to_owned();
        let call = async |times| {
            for _ in 0..times {
                client.call::<_, u64>(RESERVE, &customer).await.unwrap();
            }
        };
        call(500).await;
        let before = of_thread();
        call(500).await;
        of_thread() - before
    })
}

#[test]
fn engines_allocate_nothing_for_a_call() {
    let plain = allocations(async |(here, there)| {
        let stack = make_stack!(Rpc::new().codec(&Protobuf));
        (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap())
    });
    let with_engines = allocations(async |(here, there)| {
        let policies = policies()
            .engine("metrics", Metrics, "")
            .and_then(|policies| policies.engine("acl", Acl, "field=customer deny=Eve"))
            .and_then(|policies| policies.engine("limit", RateLimit, "per-second=infinite"))
            .and_then(|policies| policies.engine("quota", Quota, "calls=10"))
            .and_then(|policies| policies.engine("null", Null, ""))
            .unwrap();
        let stack = make_stack!(policies, Rpc::new().codec(&Protobuf));
        (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap())
    });
    assert!(with_engines <= plain, "{with_engines} allocations, and {plain} without engines");
}
