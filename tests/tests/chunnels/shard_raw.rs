//! Routing without decoding, between peers with and without the optimizer pass that allows this.

use bertha_chunnels::shard::{KeyAt, RouteUndecoded};
use bertha_chunnels::{Bincode, Keyed, Serialize, ServerShard, ShardMap};
use bertha_core::{Addr, Connection, Describe, ErrorKind, Runtime, make_stack, optimize, select};
use bertha_datapath_sim::{Network, Sim, SimDatapath};
use bertha_negotiation::{Incoming, Negotiate, Runs};

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Message {
    key: String,
    shard: u8,
}

impl Keyed for Message {
    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }
}

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const ROUTER: [u8; 4] = [10, 0, 0, 2];
const SHARDS: u8 = 3;

fn fixed() -> Serialize<Message, KeyAt<8>> {
    Serialize::new()
}

fn router() -> Addr {
    (ROUTER, 4242).into()
}

fn map() -> ShardMap {
    ShardMap::new((0..SHARDS).map(|shard| Addr::from(([10, 0, 1, shard], 4242)))).unwrap()
}

/// Serves every client: a shard puts its number into each message. No message arrives at the router.
fn serve<S>(network: &Network, mut incoming: Incoming<S, SimDatapath>, shard: u8)
where
    S: Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = Message>>,
{
    let runtime = network.runtime().clone();
    let tasks = runtime.clone();
    // The simulation ends all tasks, so their handles need not be kept.
    std::mem::forget(runtime.spawn(async move {
        while let Some(connection) = incoming.next().await {
            std::mem::forget(tasks.spawn(async move {
                while let Ok(message) = connection.recv().await {
                    connection.send(Message { shard, ..message }).await.unwrap();
                }
            }));
        }
    }));
}

/// Starts shards with the stack that `stack` makes.
async fn shards<S>(network: &Network, stack: impl Fn() -> S)
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = Message>>,
{
    for (shard, addr) in (0..).zip(map().shards()) {
        let incoming = stack().listen(network.host([10, 0, 1, shard]), addr.clone()).await.unwrap();
        serve(network, incoming, shard);
    }
}

/// Starts a router with this stack.
async fn route<S>(network: &Network, stack: S)
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = Message>>,
{
    let incoming = stack.listen(network.host(ROUTER), router()).await.unwrap();
    serve(network, incoming, SHARDS);
}

/// Connects with this stack, and checks that the shard of its key answers every message.
async fn routed<S>(network: &Network, stack: S) -> String
where
    S: Describe + Send + Sync,
    SimDatapath: Runs<S, Out: Connection<Data = Message>>,
{
    let connection = stack.connect(network.host(CLIENT), router()).await.unwrap();
    let mut answered = [0; SHARDS as usize];
    for number in 0..100_u32 {
        let key = format!("{:x}", number.wrapping_mul(2_654_435_761))[..(number % 7) as usize].to_owned();
        connection.send(Message { key: key.clone(), shard: 99 }).await.unwrap();
        let shard = map().shard_of(key.as_bytes());
        assert_eq!(connection.recv().await.unwrap(), Message { key, shard: shard as u8 });
        answered[shard] += 1;
    }
    assert!(answered.iter().all(|&count| count > 10), "{answered:?}");
    let explanation = connection.explain().to_string();
    connection.close().await.unwrap();
    explanation
}

fn simulate<T, F: Future<Output = T>>(seed: u64, main: impl FnOnce(Network) -> F) -> T {
    let mut sim = Sim::new(seed);
    let network = sim.network().clone();
    sim.run(main(network))
}

#[test]
fn a_router_with_the_pass_serves_clients_with_and_without_it() {
    simulate(1, async |network: Network| {
        let stack = optimize!(make_stack!(ServerShard::new(map()), fixed()), RouteUndecoded);
        assert!(stack.reports()[0].changes().len() == 1);
        shards(&network, || make_stack!(fixed())).await;
        route(&network, stack).await;
        let plain = routed(&network, make_stack!(ServerShard::new(map()), fixed())).await;
        assert_eq!(plain, "ServerShard / Serialize[bincode], agreed as client");
        let same = optimize!(make_stack!(ServerShard::new(map()), fixed()), RouteUndecoded);
        let fused = routed(&network, same).await;
        assert_eq!(fused, "ShardRaw(ServerShard / Serialize[bincode]), agreed as client");
    });
}

#[test]
fn a_router_without_the_pass_serves_clients_with_it() {
    simulate(2, async |network: Network| {
        shards(&network, || make_stack!(fixed())).await;
        route(&network, make_stack!(ServerShard::new(map()), fixed())).await;
        routed(&network, optimize!(make_stack!(ServerShard::new(map()), fixed()), RouteUndecoded)).await;
    });
}

#[test]
fn a_client_whose_codec_does_not_promise_the_place_is_refused() {
    simulate(3, async |network: Network| {
        shards(&network, || make_stack!(fixed())).await;
        route(&network, optimize!(make_stack!(ServerShard::new(map()), fixed()), RouteUndecoded)).await;
        let stack = make_stack!(ServerShard::new(map()), Serialize::<Message, Bincode>::new());
        let refused = stack.connect(network.host(CLIENT), router()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        assert!(
            refused.to_string().contains("offset of the key: the server has 8, the client none"),
            "{refused}"
        );
    });
}

#[test]
fn a_server_that_offers_both_gives_such_a_client_the_slow_path() {
    simulate(4, async |network: Network| {
        shards(&network, || make_stack!(select!(fixed(), Serialize::<Message>::new()))).await;
        let fast = make_stack!(ServerShard::new(map()), fixed());
        let slow = make_stack!(ServerShard::new(map()), Serialize::<Message>::new());
        let stack = optimize!(make_stack!(select!(fast, slow)), RouteUndecoded);
        assert_eq!(
            stack.explain().to_string().lines().next().unwrap(),
            "(ShardRaw(ServerShard / Serialize[bincode]) | ServerShard / Serialize[postcard])"
        );
        route(&network, stack).await;
        routed(&network, make_stack!(ServerShard::new(map()), Serialize::<Message>::new())).await;
        routed(&network, make_stack!(ServerShard::new(map()), fixed())).await;
    });
}
