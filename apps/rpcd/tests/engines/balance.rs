//! Calls along a route to several servers.

use crate::hotel::{Empty, Hotel, Ping, Reserve, Response, Running, request};
use crate::stranger;
use bertha_chunnels::rpc::{Failure, FailureKind};
use bertha_managed::application::{Client, Server};
use bertha_managed::heap::String as HeapString;
use bertha_managed::{Method, Order};
use bertha_rpcd::{Peers, Settings};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const SOON: Duration = Duration::from_secs(20);

/// The address of a port that no program gets by chance, and where nobody is.
const GONE: &str = "127.0.0.1:1";

/// The servers that ran each call, by the numbers of calls.
#[derive(Debug, Clone, Default)]
struct Runs(Arc<Mutex<HashMap<i32, Vec<usize>>>>);

impl Runs {
    fn of(&self, call: i32) -> Vec<usize> {
        self.0.lock().unwrap().get(&call).cloned().unwrap_or_default()
    }

    /// Returns the number of calls that a server ran.
    fn by(&self, server: usize) -> usize {
        self.0.lock().unwrap().values().flatten().filter(|ran| **ran == server).count()
    }

    /// Serves calls, which take a millisecond, until the daemon ends.
    fn serve(&self, mut server: Server<Hotel>, place: usize) {
        let runs = self.clone();
        tokio::spawn(async move {
            while let Ok(mut call) = server.next().await {
                let runs = runs.clone();
                tokio::spawn(async move {
                    if call.method() == Ping::NUMBER {
                        let _answered = call.respond::<Ping>(Empty {}).await;
                        return;
                    }
                    let request = call.request::<Reserve>().unwrap();
                    let number = request.nights;
                    drop(request);
                    runs.0.lock().unwrap().entry(number).or_default().push(place);
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    let response = Response { room: HeapString::new_in(call.heap()), price: number };
                    // The daemon may have ended.
                    let _answered = call.respond::<Reserve>(response).await;
                });
            }
        });
    }
}

/// Starts a daemon that other daemons call, at an address, or at any.
fn far(at: Option<&str>) -> Running {
    let listen = at.unwrap_or("127.0.0.1:0").parse().unwrap();
    Running::with(Settings {
        peers: Peers { listen: Some(listen), ..Peers::default() },
        ..Settings::default()
    })
}

fn address(daemon: &Running) -> String {
    daemon.peer_addr.as_ref().unwrap().to_string()
}

/// Returns the settings of a daemon that leads the calls of the hotel to these servers.
fn routed(to: &[&str]) -> Settings {
    let routes = vec![("hotel".into(), to.join(",").parse().unwrap())];
    Settings { peers: Peers { routes, ..Peers::default() }, ..Settings::default() }
}

fn leading(to: &[&str]) -> Running {
    Running::with(routed(to))
}

/// Makes a call of a number, and returns its failure.
async fn call(client: &Client<Hotel>, number: i32) -> Result<(), Failure> {
    let response = client.call::<Reserve>(request(&client.heap(), "ada", number, &[]), Some(SOON)).await?;
    assert_eq!(response.price, number, "the response is that of another call");
    Ok(())
}

/// Makes calls of these numbers, up to 32 at once, and returns their outcomes.
async fn calls(
    client: &Arc<Client<Hotel>>,
    numbers: std::ops::Range<i32>,
) -> Vec<(i32, Result<(), Failure>)> {
    let (mut outcomes, mut tasks) = (Vec::new(), JoinSet::new());
    for number in numbers {
        if tasks.len() == 32 {
            outcomes.extend(tasks.join_next().await.map(Result::unwrap));
        }
        let client = Arc::clone(client);
        tasks.spawn(async move { (number, call(&client, number).await) });
    }
    outcomes.extend(tasks.join_all().await);
    outcomes
}

/// Returns the calls that failed.
fn failed(outcomes: &[(i32, Result<(), Failure>)]) -> Vec<(i32, &Failure)> {
    outcomes.iter().filter_map(|(number, outcome)| Some((*number, outcome.as_ref().err()?))).collect()
}

/// Waits until a server gets a call.
async fn until_called(client: &Client<Hotel>, runs: &Runs, server: usize, first: i32) {
    let calling = async {
        for number in first.. {
            call(client, number).await.unwrap();
            if runs.by(server) > 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(SOON, calling).await.unwrap();
}

#[tokio::test]
async fn servers_share_calls_and_the_list_shows_them() {
    let (fars, runs) = ([far(None), far(None)], Runs::default());
    for (place, far) in fars.iter().enumerate() {
        runs.serve(far.server().await, place);
    }
    let [one, other] = [address(&fars[0]), address(&fars[1])];
    let near = leading(&[&one, &other]);
    let client = Arc::new(near.client().await);
    assert!(failed(&calls(&client, 0..1000).await).is_empty());
    let shares = [runs.by(0), runs.by(1)];
    assert!(shares.iter().sum::<usize>() == 1000 && shares.iter().all(|count| *count > 300), "{shares:?}");
    assert_eq!(Order::List.give(&near.path).await.unwrap(), format!("hotel\tat {one}, {other}\t1\t\n"));
}

#[tokio::test]
async fn a_server_that_is_killed_under_calls_leaves_them_to_the_other_and_gets_calls_when_it_is_back() {
    let (stays, dies, runs) = (far(None), far(None), Runs::default());
    runs.serve(stays.server().await, 0);
    runs.serve(dies.server().await, 1);
    let at = address(&dies);
    let near = leading(&[&address(&stays), &at]);
    let client = Arc::new(near.client().await);
    let (outcomes, ()) = tokio::join!(calls(&client, 0..3000), async {
        while runs.by(1) < 300 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::task::spawn_blocking(move || drop(dies)).await.unwrap();
    });
    let mut numbers: Vec<_> = outcomes.iter().map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..3000), "each call has one outcome");
    let failures = failed(&outcomes);
    assert!(failures.len() <= 32, "no more fail than were under way: {}", failures.len());
    for (number, failure) in &failures {
        assert!(failure.kind() == FailureKind::Unavailable && failure.may_have_run(), "{number}: {failure}");
    }
    let twice: Vec<_> = (0..3000).filter(|number| runs.of(*number).len() > 1).collect();
    assert_eq!(twice, [0; 0], "no call ran twice");
    let later = calls(&client, 3000..3300).await;
    assert!(
        failed(&later).is_empty() && (3000..3300).all(|number| runs.of(number) == [0]),
        "{:?}",
        failed(&later)
    );
    let back = far(Some(&at));
    runs.serve(back.server().await, 2);
    until_called(&client, &runs, 2, 3300).await;
}

#[tokio::test]
async fn calls_go_by_servers_that_are_not_there_or_never_answer() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_at = silent.local_addr().unwrap().to_string();
    let (there, runs) = (far(None), Runs::default());
    runs.serve(there.server().await, 0);
    let grpc_gone = format!("grpc:{GONE}");
    let grpc_silent = format!("grpc:{silent_at}");
    let closing = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let grpc_closing = format!("grpc:{}", closing.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            drop(closing.accept().await.unwrap());
        }
    });
    let alone: [&[&str]; 5] = [&[GONE], &[&grpc_gone], &[&silent_at], &[&grpc_silent], &[&grpc_closing]];
    for others in alone.into_iter().chain([&[GONE, &silent_at, &grpc_silent][..]]) {
        let near = leading(&[others, &[&address(&there)]].concat());
        let client = Arc::new(near.client().await);
        let outcomes = calls(&client, 0..200).await;
        assert!(failed(&outcomes).is_empty(), "{others:?}: {:?}", failed(&outcomes));
    }
    assert!((0..200).all(|number| runs.of(number) == [0; 6]), "each call ran once");
}

#[tokio::test]
async fn a_route_of_servers_that_are_all_gone_fails_each_call_once_and_at_once() {
    let near = leading(&[GONE, &format!("grpc:{GONE}")]);
    let client = near.client().await;
    for number in 0..5 {
        let failure = call(&client, number).await.unwrap_err();
        assert!(
            !failure.may_have_run() && failure.to_string().contains("takes no calls of hotel"),
            "{failure}"
        );
    }
    let listed = Order::List.give(&near.path).await.unwrap();
    assert_eq!(listed, format!("hotel\tat {GONE} (passed over), grpc:{GONE} (passed over)\t1\t\n"));
}

/// Servers that failed are not tried again by the same call.
#[tokio::test]
async fn a_call_that_nobody_takes_ends_with_the_servers_that_are_left() {
    let accepted = Arc::new(AtomicUsize::new(0));
    let mut to = Vec::new();
    for _ in 0..2 {
        let closing = TcpListener::bind("127.0.0.1:0").await.unwrap();
        to.push(format!("grpc:{}", closing.local_addr().unwrap()));
        let accepted = Arc::clone(&accepted);
        tokio::spawn(async move {
            loop {
                drop(closing.accept().await.unwrap());
                accepted.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let near = leading(&[&to[0], &to[1]]);
    let failure = call(&near.client().await, 0).await.unwrap_err();
    assert!(!failure.may_have_run(), "{failure}");
    // One whose pause ends meanwhile may be tried again.
    let accepted = accepted.load(Ordering::Relaxed);
    assert!((2..16).contains(&accepted), "{accepted} connections");
}

#[tokio::test]
async fn a_daemon_without_a_server_is_passed_over() {
    let (there, empty, runs) = (far(None), far(None), Runs::default());
    runs.serve(there.server().await, 0);
    let near = leading(&[&address(&empty), &address(&there)]);
    let client = near.client().await;
    for number in 0..500 {
        call(&client, number).await.unwrap();
    }
    assert!((0..500).all(|number| runs.of(number) == [0]), "each call ran once");
    // It takes calls and runs none, so that it would have the fewest at all times.
    let is_passed_over = async {
        let wanted = format!("{} (passed over)", address(&empty));
        while !Order::List.give(&near.path).await.unwrap().contains(&wanted) {
            call(&client, -1).await.unwrap();
        }
    };
    tokio::time::timeout(SOON, is_passed_over).await.unwrap();
    runs.serve(empty.server().await, 1);
    let back = async {
        for number in 500.. {
            let _outcome = call(&client, number).await;
            if runs.by(1) > 0 {
                return;
            }
        }
    };
    tokio::time::timeout(SOON, back).await.unwrap();
}

/// Daemons without a server come up again and again, and so do addresses where nobody is.
#[tokio::test]
async fn a_call_that_did_not_run_goes_on_to_a_server_that_is_there() {
    let (there, runs) = ([far(None), far(None), far(None)], Runs::default());
    for (place, far) in there.iter().enumerate() {
        runs.serve(far.server().await, place);
    }
    let empty = [far(None), far(None), far(None)];
    let addrs: Vec<_> = empty.iter().chain(&there).map(address).collect();
    let grpc = format!("grpc:{GONE}");
    let to: Vec<_> = [GONE, &grpc].into_iter().chain(addrs.iter().map(String::as_str)).collect();
    let near = leading(&to);
    let client = Arc::new(near.attach().heap(16 << 20).client::<Hotel>("hotel").await.unwrap());
    for round in 0..5 {
        let outcomes = calls(&client, 300 * round..300 * (round + 1)).await;
        assert!(failed(&outcomes).is_empty(), "{:?}", failed(&outcomes));
        // Pauses end, so that some calls of the next round try servers that failed.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!((0..1500).all(|number| runs.of(number).len() == 1), "each call ran once");
    // The heap has the memory of all requests again: one that is kept too long would fill it in the end.
    let long = "x".repeat(3 << 20);
    for round in 1..10 {
        let asked = request(&client.heap(), &long, -round, &[]);
        client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
    }
    drop(there);
    let failure = call(&client, 3000).await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Unavailable);
}

#[tokio::test]
async fn a_change_of_the_route_loses_no_call() {
    change_under_calls(Running::with).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_the_route_loses_no_call_of_several_threads() {
    change_under_calls(|settings| Running::threaded_with(4, settings)).await;
}

/// Changes the route of a daemon, which `start` starts, while calls flow.
async fn change_under_calls(start: impl Fn(Settings) -> Running) {
    let (fars, runs) = ([far(None), far(None), far(None)], Runs::default());
    for (place, far) in fars.iter().enumerate() {
        runs.serve(far.server().await, place);
    }
    let addrs: Vec<_> = fars.iter().map(address).collect();
    let near = start(routed(&[&addrs[0]]));
    let client = Arc::new(near.client().await);
    let changing = async {
        for change in 0_usize.. {
            let to = [&addrs[..2], &addrs[1..], &addrs[2..], &addrs[..]][change % 4].join(",");
            near.operator.lead("hotel", Some(to.parse().unwrap()));
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let outcomes = tokio::select! {
        outcomes = calls(&client, 0..3000) => outcomes,
        () = changing => unreachable!("changes go on"),
    };
    assert!(failed(&outcomes).is_empty(), "{:?}", failed(&outcomes));
    assert!((0..3000).all(|number| runs.of(number).len() == 1), "each call ran once");
    assert!((0..3).all(|server| runs.by(server) > 0));
}

#[tokio::test]
async fn daemons_and_servers_of_grpc_share_calls() {
    let (far, runs) = (far(None), Runs::default());
    runs.serve(far.server().await, 0);
    let stranger = format!("grpc:{}", stranger::serve().await);
    let near = leading(&[&address(&far), &stranger]);
    let client = near.client().await;
    let mut by_stranger = 0;
    for nights in 1..=400 {
        let asked = request(&client.heap(), "ada", nights, &[]);
        let price = client.call::<Reserve>(asked, Some(SOON)).await.unwrap().price;
        by_stranger += usize::from(price == 100 * nights);
    }
    assert!(by_stranger > 100 && by_stranger + runs.by(0) == 400, "{by_stranger}");
}
