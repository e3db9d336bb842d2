//! Calls over links that lose, repeat, reorder and damage messages, with callers that give up and a server
//! that is slow, busy, or gone.

use crate::rpc::service::{COUNT, DOUBLE, FAIL, Numbers, SLOWLY, ends, ends_with_tls};
use bertha_chunnels::rpc::{Client, FailureKind, Message, Multiplexer, serve};
use bertha_core::{Connection, Runtime};
use bertha_datapath_sim::{Link, Network, Sim, SimRuntime};
use bertha_tests::with_seeds;
use futures_util::future::{Either, join_all, select};
use std::pin::pin;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// Number of calls of a run.
const CALLS: u64 = 60;

/// Returns a link that loses, repeats or delays a tenth of all packets, and damages some.
fn bad() -> Link {
    Link {
        loss: 0.1,
        duplication: 0.1,
        reordering: 0.2,
        corruption: 0.02,
        delay: 5 * MS,
        detour: 20 * MS,
        mtu: 1_400,
        ..Link::default()
    }
}

fn below(runtime: &SimRuntime, bound: u64) -> u64 {
    runtime.random() % bound
}

/// The outcome for the caller of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Answered,
    Failed { may_have_run: bool },
    GivenUp,
}

/// Makes one call of any kind, with or without a deadline, which may be given up.
async fn call<C: Connection<Data = Message>>(
    client: &Client<Multiplexer<C>>,
    runtime: &SimRuntime,
    number: u64,
    seed: u64,
) -> Outcome {
    runtime.sleep(MS * below(runtime, 100) as u32).await;
    let deadline = MS * [5, 50, 500, 100_000][below(runtime, 4) as usize];
    let within = MS * [3, 100, 1_000, 1_000_000][below(runtime, 4) as usize];
    let kind = below(runtime, 4);
    let calling = async {
        match kind {
            0 | 1 => {
                let method = [DOUBLE, SLOWLY][kind as usize];
                let doubled: u64 = client.call(method, &number).deadline(deadline).await?;
                assert_eq!(doubled, 2 * number, "seed {seed}");
            }
            2 => {
                let mut count =
                    client.call::<u64, u64>(COUNT, &number).deadline(deadline).responses().await?;
                let mut expected = 0;
                while let Some(response) = count.next().await {
                    assert_eq!(response?, expected, "seed {seed}");
                    expected += 1;
                }
                assert_eq!(expected, number, "seed {seed}");
            }
            _ => {
                let failure = client.call::<u64, u64>(FAIL, &number).deadline(deadline).await.unwrap_err();
                return Err(failure);
            }
        }
        Ok(())
    };
    match select(pin!(calling), pin!(runtime.sleep(within))).await {
        Either::Left((Ok(()), _)) => Outcome::Answered,
        Either::Left((Err(failure), _)) => {
            let is_possible = match failure.kind() {
                FailureKind::Failed => kind == 3,
                FailureKind::TimedOut | FailureKind::Overloaded | FailureKind::Disconnected => true,
                _ => false,
            };
            assert!(is_possible, "seed {seed}: {failure:?}");
            Outcome::Failed { may_have_run: failure.may_have_run() }
        }
        Either::Right(_) => Outcome::GivenUp,
    }
}

async fn run<C, F>(network: Network, seed: u64, ends: impl FnOnce(Network) -> F)
where
    C: Connection<Data = Message>,
    F: Future<Output = [C; 2]>,
{
    let runtime = network.runtime().clone();
    let numbers = Numbers::new(&network);
    let [here, there] = ends(network).await;
    let concurrency = [4, 1000][below(&runtime, 2) as usize];
    let serving = serve(there, numbers.clone()).concurrency(concurrency).into_future();
    let server = runtime.spawn(async move { drop(serving.await) });
    let limit = [8, 1000][below(&runtime, 2) as usize];
    let client = Client::over(Multiplexer::with_limit(here, limit));
    let breaks = below(&runtime, 4) == 0;
    let breaking = async {
        if breaks {
            runtime.sleep(MS * below(&runtime, 200) as u32).await;
            // The server's connection goes with it, and sends no message about its end.
            drop(server);
            None
        } else {
            Some(server)
        }
    };
    // The numbers are so large that streams need credit.
    let calls = join_all((0..CALLS).map(|number| call(&client, &runtime, number + 50, seed)));
    let (outcomes, server) = futures_util::join!(calls, breaking);
    assert_eq!(client.caller().in_flight(), 0, "seed {seed}: a slot leaks");
    let asked = numbers.asked.lock().unwrap().clone();
    for (number, outcome) in (50..).zip(outcomes) {
        let times = asked.get(&number).copied().unwrap_or_default();
        match outcome {
            Outcome::Answered => assert_eq!(times, 1, "seed {seed}: {number} was answered"),
            Outcome::Failed { may_have_run: false } => {
                assert_eq!(times, 0, "seed {seed}: {number} did not run")
            }
            Outcome::Failed { may_have_run: true } | Outcome::GivenUp => {
                assert!(times <= 1, "seed {seed}: {number} ran {times} times");
            }
        }
    }
    if server.is_some() {
        // All cancellations have arrived by then, also the repetitions of lost cancellations.
        runtime.sleep(20_000 * MS).await;
        client.caller().connection().drain().await.unwrap();
        assert_eq!(numbers.running.load(SeqCst), 0, "seed {seed}: a handler leaks");
    }
}

#[test]
fn each_call_is_answered_once_or_fails_once_and_nothing_leaks() {
    with_seeds(300, |seed| {
        let mut sim = Sim::new(seed);
        let network = sim.network().clone();
        network.set_link(bad());
        sim.run(run(network, seed, async |network| ends(&network).await));
    });
}

/// Plays with one Chunnel for calls and TLS. The peer has this Chunnel, or a Chunnel for calls and a Chunnel
/// for TLS. A handshake takes a thousand times as long as a call.
#[test]
fn so_it_is_with_tls_fused_or_apart() {
    with_seeds(30, |seed| {
        let mut sim = Sim::new(seed);
        let network = sim.network().clone();
        network.set_link(bad());
        sim.run(run(network, seed, async move |network| ends_with_tls(&network, seed).await));
    });
}
