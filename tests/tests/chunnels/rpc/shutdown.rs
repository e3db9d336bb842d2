//! Servers that shut down, and their clients.

use crate::rpc::service::{COUNT, DOUBLE, Numbers, SLOWLY, ends};
use bertha_chunnels::rpc::{Client, FailureKind, Message, Multiplexer, Reconnecting, Shutdown, serve};
use bertha_core::{Connection, Error, Runtime};
use bertha_datapath_sim::{PairConnection, Sim, SimRuntime, pair_of};
use futures_util::FutureExt;
use futures_util::future::join_all;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// The outcome of a served connection, once there is one.
type Ended = Arc<Mutex<Option<Result<(), Error>>>>;

/// A server of connections, on which tests shut it down.
struct Server {
    runtime: SimRuntime,
    numbers: Numbers,
    shutdown: Shutdown,
    tasks: Mutex<Vec<<SimRuntime as Runtime>::Task>>,
}

impl Server {
    fn new(runtime: &SimRuntime, numbers: &Numbers) -> Self {
        let (shutdown, tasks) = Default::default();
        Self { runtime: runtime.clone(), numbers: numbers.clone(), shutdown, tasks }
    }

    fn serve(&self, connection: impl Connection<Data = Message>) -> Ended {
        let serving = serve(connection, self.numbers.clone()).until(&self.shutdown).into_future();
        let ended = Ended::default();
        let outcome = ended.clone();
        let task = self.runtime.spawn(async move {
            let served = serving.await;
            *outcome.lock().unwrap() = Some(served);
        });
        self.tasks.lock().unwrap().push(task);
        ended
    }

    fn connect(&self) -> (PairConnection<SimRuntime, Message>, Ended) {
        let (here, there) = pair_of(self.runtime.clone());
        let ended = self.serve(there);
        (here, ended)
    }
}

fn is_ok(ended: &Ended) -> bool {
    matches!(*ended.lock().unwrap(), Some(Ok(())))
}

fn with_server(test: impl AsyncFnOnce(&Server, &SimRuntime)) {
    let mut sim = Sim::new(23);
    let network = sim.network().clone();
    let runtime = network.runtime().clone();
    sim.run(async { test(&Server::new(&runtime, &Numbers::new(&network)), &runtime).await });
}

#[test]
fn calls_under_way_end_and_later_calls_have_not_run() {
    with_server(async |server, runtime| {
        let (connection, ended) = server.connect();
        let client = Client::over(Multiplexer::new(connection));
        let under_way = client.call::<u64, u64>(SLOWLY, &100).response();
        let stream = async {
            let mut numbers = client.call::<u64, u64>(COUNT, &200).responses().await.unwrap();
            let mut taken = 0;
            while let Some(number) = numbers.next().await {
                assert_eq!(number.unwrap(), taken);
                taken += 1;
            }
            taken
        };
        let shutting = async {
            runtime.sleep(10 * MS).await;
            server.shutdown.begin(5_000 * MS);
            runtime.sleep(MS).await;
            assert!(client.caller().is_leaving() && !is_ok(&ended));
            client.call::<u64, u64>(DOUBLE, &7).await.unwrap_err()
        };
        let (slow, taken, late) = futures_util::join!(under_way, stream, shutting);
        assert_eq!((slow.unwrap(), taken), (200, 200));
        assert_eq!((late.kind(), late.may_have_run()), (FailureKind::Unavailable, false));
        // The client closes after its last call, long before the grace is over.
        let now = runtime.elapsed();
        server.shutdown.ended().await;
        assert!(is_ok(&ended) && runtime.elapsed() - now < 100 * MS);
        assert!(!server.numbers.asked.lock().unwrap().contains_key(&7));
        let later = client.call::<u64, u64>(DOUBLE, &7).await.unwrap_err();
        assert_eq!((later.kind(), later.may_have_run()), (FailureKind::Unavailable, false));
    });
}

/// The calls arrive after the server has begun to shut down, and before the client knows.
#[test]
fn calls_that_cross_the_news_are_refused_and_have_not_run() {
    let mut sim = Sim::new(24);
    let network = sim.network().clone();
    network.set_link(bertha_datapath_sim::Link { delay: 20 * MS, ..Default::default() });
    let runtime = network.runtime().clone();
    sim.run(async {
        let server = Server::new(&runtime, &Numbers::new(&network));
        let [here, there] = ends(&network).await;
        let ended = server.serve(there);
        let client = Client::new(here);
        assert_eq!(client.call::<u64, u64>(DOUBLE, &1).await.unwrap(), 2);
        server.shutdown.begin(5_000 * MS);
        let late = client.call::<u64, u64>(DOUBLE, &7).await.unwrap_err();
        assert_eq!((late.kind(), late.may_have_run()), (FailureKind::Unavailable, false));
        server.shutdown.ended().await;
        assert!(is_ok(&ended) && !server.numbers.asked.lock().unwrap().contains_key(&7));
    });
}

#[test]
fn calls_that_outlast_the_grace_are_cancelled_and_told() {
    with_server(async |server, runtime| {
        let (connection, ended) = server.connect();
        let client = Client::over(Multiplexer::new(connection));
        let call = client.call::<u64, u64>(SLOWLY, &1_000_000).response();
        let shutting = async {
            runtime.sleep(MS).await;
            server.shutdown.begin(200 * MS);
            runtime.sleep(150 * MS).await;
            assert_eq!(server.numbers.running.load(SeqCst), 1);
        };
        let (outcome, ()) = futures_util::join!(call, shutting);
        let failure = outcome.unwrap_err();
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Unavailable, true));
        assert_eq!(server.numbers.running.load(SeqCst), 0);
        server.shutdown.ended().await;
        assert!(is_ok(&ended));
    });
}

#[test]
fn clients_without_calls_close_at_once_and_later_connections_shut_down() {
    with_server(async |server, runtime| {
        let idle: Vec<_> = (0..3).map(|_| server.connect()).collect();
        let (clients, ended): (Vec<_>, Vec<_>) =
            idle.into_iter().map(|(connection, ended)| (Multiplexer::new(connection), ended)).unzip();
        runtime.sleep(MS).await;
        assert!(server.shutdown.ended().now_or_never().is_none());
        server.shutdown.begin(5_000 * MS);
        let now = runtime.elapsed();
        server.shutdown.ended().await;
        assert!(ended.iter().all(is_ok) && runtime.elapsed() - now < 100 * MS);
        drop(clients);
        let (connection, ended) = server.connect();
        let client = Client::over(Multiplexer::new(connection));
        let late = client.call::<u64, u64>(DOUBLE, &7).await.unwrap_err();
        assert_eq!((late.kind(), late.may_have_run()), (FailureKind::Unavailable, false));
        server.shutdown.ended().await;
        assert!(is_ok(&ended));
    });
}

/// A client that reads nothing, and one that closes nothing.
#[test]
fn a_client_that_does_nothing_holds_no_server_up() {
    with_server(async |server, runtime| {
        let (silent, ended) = server.connect();
        let client = Client::over(Multiplexer::new(silent));
        let mut numbers = client.call::<u64, u64>(COUNT, &1_000_000).responses().await.unwrap();
        assert_eq!(numbers.next().await.unwrap().unwrap(), 0);
        let (reads_nothing, other) = server.connect();
        runtime.sleep(MS).await;
        server.shutdown.begin(200 * MS);
        let now = runtime.elapsed();
        server.shutdown.ended().await;
        assert!(is_ok(&ended) && is_ok(&other));
        assert!(runtime.elapsed() - now < 3_000 * MS, "{:?}", runtime.elapsed() - now);
        drop((numbers, reads_nothing));
    });
}

#[test]
fn a_reconnecting_client_goes_to_another_server_and_no_call_runs_twice() {
    with_server(async |server, runtime| {
        let next = Server {
            shutdown: Shutdown::new(),
            tasks: Mutex::default(),
            ..Server::new(runtime, &server.numbers)
        };
        let servers = Arc::new([
            (server.shutdown.clone(), server.numbers.clone()),
            (next.shutdown.clone(), next.numbers.clone()),
        ]);
        let connections = Arc::new(AtomicUsize::new(0));
        let (counted, for_servers) = (connections.clone(), runtime.clone());
        let connect = move || {
            // The first server takes two connections, as a balancer may that does not know yet.
            let number = counted.fetch_add(1, SeqCst);
            let (shutdown, numbers) = servers[usize::from(number > 1)].clone();
            let (here, there) = pair_of::<_, Message>(for_servers.clone());
            let serving = serve(there, numbers).until(&shutdown).into_future();
            std::mem::forget(for_servers.spawn(async move { serving.await.unwrap() }));
            async move { Ok(here) }
        };
        let client = Client::over(Reconnecting::new(connect).await.unwrap());
        let calls = (0..300_u64).map(|number| {
            let client = client.clone();
            async move {
                runtime.sleep(MS * number as u32).await;
                client.call::<u64, u64>(SLOWLY, &(number + 20)).await
            }
        });
        let shutting = async {
            runtime.sleep(150 * MS).await;
            server.shutdown.begin(5_000 * MS);
            server.shutdown.ended().await;
        };
        let (outcomes, ()) = futures_util::join!(join_all(calls), shutting);
        for (number, outcome) in (20..).zip(outcomes) {
            assert_eq!(outcome.unwrap(), 2 * number);
        }
        assert!(server.numbers.asked.lock().unwrap().values().all(|times| *times == 1));
        assert_eq!(client.caller().connections(), 3);
    });
}
