//! Streams of requests over links that lose, repeat and reorder packets, with callers that give up, handlers that
//! take a part of the requests, and servers that shut down.

use crate::rpc::service::ends;
use bertha_chunnels::Postcard;
use bertha_chunnels::rpc::{
    Client, Failure, FailureKind, Method, Multiplexer, Reply, Request, Service, Shutdown, encode, serve,
};
use bertha_core::Runtime;
use bertha_datapath_sim::{Link, Network, Sim, SimRuntime};
use bertha_tests::with_seeds;
use futures_util::future::{Either, join_all, select};
use futures_util::{Stream, StreamExt, stream};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Number of calls of a run.
const CALLS: u64 = 30;

/// Adds the requests to the first.
const SUM: Method = Method::new("sum");
/// Answers each request with its double, plus the first.
const DOUBLES: Method = Method::new("doubles");
/// Takes as many requests as the first says, and answers with their sum.
const SOME: Method = Method::new("some");

const CODEC: Postcard = Postcard;

struct Sums {
    runtime: SimRuntime,
}

impl Service for Sums {
    type Response = u64;

    async fn call(&self, request: Request<'_>) -> Result<Reply<'_, u64>, Failure> {
        let first: u64 = request.decode(&CODEC)?;
        let mut numbers = request.requests::<u64, _>(&CODEC);
        let runtime = self.runtime.clone();
        if request.is(DOUBLES) {
            let doubles = numbers.then(move |number| {
                let runtime = runtime.clone();
                async move {
                    let number = number?;
                    if number % 11 == 5 {
                        runtime.sleep(MS).await;
                    }
                    Ok(first + 2 * number)
                }
            });
            return Ok(Reply::Several(doubles.boxed()));
        }
        let mut sum = if request.is(SUM) { first } else { 0 };
        let most = if request.is(SUM) { u64::MAX } else { first };
        for taken in 0.. {
            if taken == most {
                break;
            }
            let Some(number) = numbers.next().await else { break };
            sum += number?;
            if sum % 13 == 7 {
                self.runtime.sleep(MS).await;
            }
        }
        Ok(Reply::One(sum))
    }

    fn encode(&self, response: &u64, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        encode(&CODEC, response, into)
    }
}

/// A stream of the numbers below `end`, which counts itself as long as it is there.
fn numbers(
    runtime: &SimRuntime,
    live: &Arc<AtomicUsize>,
    end: u64,
) -> impl Stream<Item = u64> + Send + 'static {
    struct Live(Arc<AtomicUsize>);
    impl Drop for Live {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }
    live.fetch_add(1, SeqCst);
    let state = (0, Live(live.clone()), runtime.clone());
    stream::unfold(state, move |(at, live, runtime)| async move {
        if at % 17 == 3 {
            runtime.sleep(MS).await;
        }
        (at < end).then_some((at, (at + 1, live, runtime)))
    })
}

fn below(runtime: &SimRuntime, bound: u64) -> u64 {
    runtime.random() % bound
}

type Calls = Client<Multiplexer<crate::rpc::service::End>>;

/// Makes one call of any kind. Returns its failure.
async fn call(
    client: &Calls,
    runtime: &SimRuntime,
    live: &Arc<AtomicUsize>,
    seed: u64,
) -> Result<(), Failure> {
    runtime.sleep(MS * below(runtime, 100) as u32).await;
    let deadline = MS * [20, 500, 100_000, 100_000][below(runtime, 4) as usize];
    // Below a window of requests, and several windows of them.
    let (first, end) = (below(runtime, 200), [below(runtime, 70), 300][below(runtime, 2) as usize]);
    let requests = numbers(runtime, live, end);
    let sum = |count: u64| count * count.saturating_sub(1) / 2;
    match below(runtime, 3) {
        0 => {
            let made: u64 = client.call(SUM, &first).deadline(deadline).requests(requests).await?;
            assert_eq!(made, first + sum(end), "seed {seed}");
        }
        1 => {
            let made: u64 = client.call(SOME, &first).deadline(deadline).requests(requests).await?;
            assert_eq!(made, sum(end.min(first)), "seed {seed}");
        }
        _ => {
            let calling = client.call::<u64, u64>(DOUBLES, &first).deadline(deadline).requests(requests);
            let mut doubles = calling.responses().await?;
            for number in 0..end {
                assert_eq!(doubles.next().await.unwrap()?, first + 2 * number, "seed {seed}");
            }
            if let Some(further) = doubles.next().await {
                panic!("seed {seed}: {:?}", further?);
            }
        }
    }
    Ok(())
}

async fn run(network: Network, seed: u64) {
    let runtime = network.runtime().clone();
    let [here, there] = ends(&network).await;
    let shutdown = Shutdown::new();
    let service = Sums { runtime: runtime.clone() };
    let serving = serve(there, service).until(&shutdown).into_future();
    let server = runtime.spawn(async move { drop(serving.await) });
    let client = Client::over(Multiplexer::new(here));
    let live = Arc::<AtomicUsize>::default();
    let end = below(&runtime, 4);
    let ending = async {
        runtime.sleep(MS * below(&runtime, 200) as u32).await;
        if end == 1 {
            shutdown.begin(MS * [0, 100_000][below(&runtime, 2) as usize]);
        }
        // With end 0 the server's connection goes with its task.
        (end > 0).then_some(server)
    };
    let calls = join_all((0..CALLS).map(|_| async {
        let within = MS * [50, 1_000_000, 1_000_000][below(&runtime, 3) as usize];
        let calling = pin!(call(&client, &runtime, &live, seed));
        if let Either::Left((Err(failure), _)) = select(calling, pin!(runtime.sleep(within))).await {
            let is_possible = match failure.kind() {
                FailureKind::TimedOut => true,
                FailureKind::Disconnected => end < 2,
                FailureKind::Unavailable => end == 1,
                _ => false,
            };
            assert!(is_possible, "seed {seed}: {failure:?}");
        }
    }));
    let (_, _server) = futures_util::join!(calls, ending);
    assert_eq!(client.caller().in_flight(), 0, "seed {seed}: a slot leaks");
    runtime.sleep(MS).await;
    assert_eq!(live.load(SeqCst), 0, "seed {seed}: a stream of requests outlives its call");
}

#[test]
fn each_request_is_taken_once_and_in_order_and_no_stream_outlives_its_call() {
    with_seeds(150, |seed| {
        let mut sim = Sim::new(seed);
        let network = sim.network().clone();
        network.set_link(Link {
            loss: 0.1,
            duplication: 0.1,
            reordering: 0.2,
            delay: 5 * MS,
            detour: 20 * MS,
            mtu: 1_400,
            ..Link::default()
        });
        sim.run(run(network, seed));
    });
}
