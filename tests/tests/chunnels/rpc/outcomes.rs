//! The outcomes of calls over a network without faults.

use crate::rpc::service::{COUNT, DOUBLE, End, FAIL, NONE, Numbers, SLOWLY, ends};
use bertha_chunnels::rpc::{Client, FailureKind, Multiplexer, serve};
use bertha_conformance::Messages;
use bertha_core::{Connection, DropCounter, ErrorKind, Runtime};
use bertha_datapath_sim::{Link, Network, Sim};
use bertha_tests::conformance::Responses;
use futures_util::future::join_all;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// A limit that no test reaches.
const MANY: usize = 1000;

/// A client of a server.
struct Scene {
    client: Client<Multiplexer<End>>,
    numbers: Numbers,
    network: Network,
}

impl Scene {
    /// Returns the number of handlers that have begun and not ended.
    fn running(&self) -> usize {
        self.numbers.running.load(SeqCst)
    }

    async fn pass(&self, time: Duration) {
        self.network.runtime().sleep(time).await;
    }
}

/// Runs `test` over a link with a delay of 5 ms.
fn with_server(concurrency: usize, limit: usize, test: impl AsyncFnOnce(&Scene)) {
    let mut sim = Sim::new(7);
    let network = sim.network().clone();
    network.set_link(Link { delay: 5 * MS, ..Link::default() });
    sim.run(async {
        let numbers = Numbers::new(&network);
        let [here, there] = ends(&network).await;
        let serving = serve(there, numbers.clone()).concurrency(concurrency).into_future();
        let _server = network.runtime().spawn(async move { serving.await.unwrap() });
        let client = Client::over(Multiplexer::with_limit(here, limit));
        let scene = Scene { client, numbers, network: network.clone() };
        test(&scene).await;
        // No call is left, whatever the test did.
        scene.pass(100 * MS).await;
        assert_eq!((scene.client.caller().in_flight(), scene.running()), (0, 0));
    });
}

#[test]
fn thousands_of_calls_at_a_time_have_their_own_answers() {
    with_server(4096, 4096, async |scene| {
        let calls = (0..4000_u64).map(|number| async move {
            let doubled: u64 =
                scene.client.call(if number % 2 == 0 { DOUBLE } else { SLOWLY }, &number).await.unwrap();
            assert_eq!(doubled, 2 * number);
        });
        join_all(calls).await;
        assert!(scene.numbers.asked.lock().unwrap().values().all(|times| *times == 1));
        assert_eq!(scene.numbers.asked.lock().unwrap().len(), 4000);
    });
}

#[test]
fn a_failure_has_the_text_of_the_service_and_an_unknown_method_its_kind() {
    with_server(MANY, MANY, async |scene| {
        let failure = scene.client.call::<u64, u64>(FAIL, &5).await.unwrap_err();
        assert_eq!((failure.kind(), failure.text()), (FailureKind::Failed, "5 is refused"));
        assert!(failure.may_have_run());
        let failure = scene.client.call::<u64, u64>(NONE, &5).await.unwrap_err();
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::UnknownMethod, false));
        let failure = scene.client.call::<String, u64>(DOUBLE, &"x".to_owned()).await.unwrap_err();
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Malformed, false));
        let failure = scene.client.call::<u64, String>(DOUBLE, &5).await.unwrap_err();
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Malformed, true));
    });
}

#[test]
fn a_deadline_ends_the_call_at_both_ends() {
    with_server(MANY, MANY, async |scene| {
        let start = scene.network.runtime().elapsed();
        let call = scene.client.call::<u64, u64>(SLOWLY, &10_000).deadline(50 * MS);
        assert_eq!(call.await.unwrap_err().kind(), FailureKind::TimedOut);
        assert_eq!(scene.network.runtime().elapsed() - start, 50 * MS);
        scene.pass(20 * MS).await;
        assert_eq!(scene.running(), 0);
        // This call ends before its deadline.
        let call = scene.client.call::<u64, u64>(SLOWLY, &30).deadline(50 * MS);
        assert_eq!(call.await.unwrap(), 60);
    });
}

/// The cancellation is lost, and the deadline still reaches the server.
#[test]
fn a_server_that_hears_nothing_more_drops_the_handler_at_the_deadline() {
    with_server(MANY, MANY, async |scene| {
        let client = scene.client.clone();
        let call = scene.network.runtime().spawn(async move {
            let _ = client.call::<u64, u64>(SLOWLY, &10_000).deadline(50 * MS).await;
        });
        scene.pass(10 * MS).await;
        assert_eq!(scene.running(), 1);
        scene.network.cut([10, 0, 0, 1], [10, 0, 0, 2]);
        scene.pass(60 * MS).await;
        assert_eq!(scene.running(), 0);
        drop(call);
        scene.network.heal([10, 0, 0, 1], [10, 0, 0, 2]);
        scene.pass(2000 * MS).await;
    });
}

#[test]
fn a_dropped_call_drops_its_handler() {
    with_server(MANY, MANY, async |scene| {
        let client = scene.client.clone();
        let call = scene.network.runtime().spawn(async move {
            let _ = client.call::<u64, u64>(SLOWLY, &10_000).await;
        });
        scene.pass(10 * MS).await;
        assert_eq!((scene.running(), scene.client.caller().in_flight()), (1, 1));
        drop(call);
        scene.pass(10 * MS).await;
        assert_eq!((scene.running(), scene.client.caller().in_flight()), (0, 0));
    });
}

/// The answer is on its way when the call is dropped.
#[test]
fn an_answer_that_nobody_waits_for_is_in_the_report() {
    with_server(MANY, MANY, async |scene| {
        let client = scene.client.clone();
        let call = scene.network.runtime().spawn(async move {
            let _ = client.call::<u64, u64>(SLOWLY, &20).await;
        });
        scene.pass(27 * MS).await;
        drop(call);
        scene.pass(20 * MS).await;
        assert_eq!(scene.client.caller().drops().to_string(), "Rpc: 1 of no call");
    });
}

#[test]
fn what_a_client_does_not_send_is_counted_by_the_server() {
    let mut sim = Sim::new(8);
    let network = sim.network().clone();
    sim.run(async {
        let [here, there] = ends(&network).await;
        let counter = DropCounter::default();
        let serving = serve(there, Numbers::new(&network)).counting(counter.clone()).into_future();
        let _server = network.runtime().spawn(async move { serving.await.unwrap() });
        for number in 0..3 {
            here.send(Responses.make(&here, number)).await.unwrap();
        }
        let client = Client::over(Multiplexer::new(here));
        assert_eq!(client.call::<u64, u64>(DOUBLE, &5).await.unwrap(), 10);
        assert_eq!(counter.get(), 3);
    });
}

#[test]
fn callers_wait_for_a_server_with_enough_to_do() {
    with_server(2, MANY, async |scene| {
        let start = scene.network.runtime().elapsed();
        let call = || scene.client.call::<u64, u64>(SLOWLY, &100).response();
        let outcomes = join_all([call(), call(), call()]).await;
        assert!(outcomes.into_iter().all(|outcome| outcome.is_ok_and(|doubled| doubled == 200)));
        // The third call ran after the first two calls.
        assert!(scene.network.runtime().elapsed() - start > 200 * MS);
        assert_eq!(scene.numbers.asked.lock().unwrap().values().sum::<usize>(), 3);
        // A stream waits too, now that the client knows the limit.
        let [one, other] =
            [SLOWLY, SLOWLY].map(|method| scene.client.call::<u64, u64>(method, &100).response());
        let stream = async {
            scene.client.call::<u64, u64>(COUNT, &3).responses().await.unwrap().next().await.unwrap().unwrap()
        };
        let (one, other, first) = futures_util::join!(one, other, stream);
        assert_eq!((one.unwrap(), other.unwrap(), first), (200, 200, 0));
    });
}

#[test]
fn callers_wait_while_enough_calls_are_under_way() {
    with_server(MANY, 2, async |scene| {
        let call = || scene.client.call::<u64, u64>(SLOWLY, &100);
        let late = call().deadline(50 * MS).response();
        let (one, other, third, late) =
            futures_util::join!(call().response(), call().response(), call().response(), late);
        assert!([one, other, third].into_iter().all(|outcome| outcome.is_ok_and(|doubled| doubled == 200)));
        let late = late.unwrap_err();
        assert_eq!((late.kind(), late.may_have_run()), (FailureKind::TimedOut, false));
        assert_eq!(scene.numbers.asked.lock().unwrap().values().sum::<usize>(), 3);
    });
}

#[test]
fn a_stream_has_its_responses_in_order_and_waits_for_its_reader() {
    with_server(MANY, MANY, async |scene| {
        let mut numbers = scene.client.call::<u64, u64>(COUNT, &1000).responses().await.unwrap();
        for expected in 0..10 {
            assert_eq!(numbers.next().await.unwrap().unwrap(), expected);
        }
        scene.pass(1000 * MS).await;
        // The number of waiting responses is bounded, and the service has not gone on meanwhile.
        assert_eq!(scene.running(), 1);
        for expected in 10..1000 {
            assert_eq!(numbers.next().await.unwrap().unwrap(), expected);
        }
        assert!(numbers.next().await.is_none() && numbers.next().await.is_none());
        let mut none = scene.client.call::<u64, u64>(COUNT, &0).responses().await.unwrap();
        assert!(none.next().await.is_none());
        let mut refused = scene.client.call::<u64, u64>(FAIL, &0).responses().await.unwrap();
        assert_eq!(refused.next().await.unwrap().unwrap_err().kind(), FailureKind::Failed);
        assert!(refused.next().await.is_none());
    });
}

#[test]
fn a_dropped_stream_ends_at_the_server() {
    with_server(MANY, MANY, async |scene| {
        let mut numbers = scene.client.call::<u64, u64>(COUNT, &1_000_000).responses().await.unwrap();
        assert_eq!(numbers.next().await.unwrap().unwrap(), 0);
        assert_eq!(scene.running(), 1);
        drop(numbers);
        scene.pass(20 * MS).await;
        assert_eq!(scene.running(), 0);
    });
}

#[test]
fn the_end_of_the_connection_fails_calls_that_wait_and_later_ones() {
    with_server(MANY, MANY, async |scene| {
        let call = scene.client.call::<u64, u64>(SLOWLY, &10_000).response();
        let closing = async {
            scene.pass(20 * MS).await;
            scene.client.caller().close().await.unwrap();
        };
        let (waiting, ()) = futures_util::join!(call, closing);
        let waiting = waiting.unwrap_err();
        assert_eq!((waiting.kind(), waiting.may_have_run()), (FailureKind::Disconnected, true));
        assert_eq!(waiting.connection_error(), Some(ErrorKind::Closed));
        let later = scene.client.call::<u64, u64>(DOUBLE, &1).await.unwrap_err();
        assert_eq!((later.kind(), later.may_have_run()), (FailureKind::Disconnected, false));
        assert!(scene.client.caller().connection().recv().await.is_err());
    });
}

#[test]
fn a_request_and_a_response_that_are_too_large_are_refused() {
    with_server(MANY, MANY, async |scene| {
        let failure = scene.client.call::<Vec<u8>, u64>(DOUBLE, &vec![0; 100_000]).await.unwrap_err();
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::TooLarge, false));
    });
}

#[test]
fn calls_are_told_by_their_state() {
    with_server(MANY, 2, async |scene| {
        let told = || scene.client.caller().statistics();
        let calls =
            (0..3_u64).map(|number| async move { scene.client.call::<u64, u64>(DOUBLE, &number).await });
        let mut calls = Box::pin(join_all(calls));
        assert!(futures_util::FutureExt::now_or_never(&mut calls).is_none());
        let now = told();
        assert_eq!((now.under_way, now.waiting, now.limit, now.ended), (2, 1, 2, 0), "{now:?}");
        assert!(calls.await.iter().all(Result::is_ok));
        scene.client.call::<u64, u64>(FAIL, &1).await.unwrap_err();
        let now = told();
        assert_eq!((now.under_way, now.waiting, now.ended, now.failed), (0, 0, 4, 1), "{now:?}");
    });
}
