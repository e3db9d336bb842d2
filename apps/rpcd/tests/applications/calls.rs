//! Calls from an application to another, through a daemon.

use crate::hotel::{Empty, Hotel, OtherHotel, Ping, Request, Reserve, Running, answer, request, serve};
use bertha_chunnels::rpc::FailureKind;
use bertha_core::ErrorKind;
use bertha_managed::Method;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_call_reaches_the_server_and_its_response_the_caller() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let client = daemon.client().await;
    for nights in 1..=100 {
        let asked = request(&client.heap(), "ada", nights, &["grace", "edsger"]);
        let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
        assert_eq!((response.room.as_str(), response.price), ("ada: grace, edsger", 100 * nights));
    }
    client.call::<Ping>(Empty {}, None).await.unwrap();
}

#[tokio::test]
async fn messages_grow_both_heaps() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let client = daemon.client().await;
    for length in [1, 1 << 10, 1 << 16, 3 << 20, 20 << 20, 100] {
        let long = "x".repeat(length);
        let asked = request(&client.heap(), "ada", 1, &[&long]);
        let response = client.call::<Reserve>(asked, Some(SOON)).await.unwrap();
        assert!(response.room.as_str() == format!("ada: {long}"), "{length}");
    }
}

#[tokio::test]
async fn calls_that_end_leave_no_memory_taken() {
    let daemon = Running::with(bertha_rpcd::Settings { heap: 1 << 20, ..Default::default() });
    let _serving = serve(daemon.server().await);
    let client = daemon.client().await;
    // A call takes a tenth of each heap, or a twentieth where it fails or nobody waits.
    let long = "x".repeat(100 << 10);
    for number in 0..200 {
        let asked = request(&client.heap(), "ada", 1, &[&long]);
        let call = client.call::<Reserve>(asked, Some(SOON));
        if number % 3 == 0 {
            // The future is dropped at any point of the call.
            let _ended = tokio::time::timeout(Duration::from_micros(20 * number), call).await;
        } else {
            call.await.unwrap();
        }
    }
}

#[tokio::test]
async fn many_calls_are_under_way_at_once() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let client = std::sync::Arc::new(daemon.client().await);
    let calls: Vec<_> = (0..2000)
        .map(|nights| {
            let client = std::sync::Arc::clone(&client);
            tokio::spawn(async move {
                let asked = request(&client.heap(), "ada", nights, &[]);
                client.call::<Reserve>(asked, Some(SOON)).await.unwrap().price
            })
        })
        .collect();
    for (nights, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), 100 * nights as i32);
    }
}

#[tokio::test]
async fn the_daemon_is_waited_for_and_its_absence_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rpcd");
    let attach = bertha_managed::application::Attach::new(&path, "test");
    let error = attach.clone().within(Duration::from_millis(50)).client::<Hotel>("hotel").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.to_string().contains("bertha-rpcd --socket"), "{error}");
    let attaching = tokio::spawn(async move { attach.client::<Hotel>("hotel").await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let _daemon = Running::at(path, Default::default());
    attaching.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_service_without_a_server_is_unavailable_until_one_comes() {
    let daemon = Running::start();
    let client = daemon.client().await;
    let failure = client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap_err();
    assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Unavailable, false));
    assert!(failure.text().contains("no application serves hotel"), "{failure}");
    let serving = serve(daemon.server().await);
    client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    let second = daemon.attach().server::<Hotel>("hotel").await.unwrap_err();
    assert!(second.to_string().contains("serves hotel already"), "{second}");
    serving.abort();
    let _aborted = serving.await;
    loop {
        let failure = client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap_err();
        assert_eq!(failure.kind(), FailureKind::Unavailable);
        if !failure.may_have_run() {
            break;
        }
    }
    let _again = serve(daemon.server().await);
    client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
}

#[tokio::test]
async fn a_server_of_another_schema_gets_no_call() {
    let daemon = Running::start();
    let _server = daemon.attach().server::<OtherHotel>("hotel").await.unwrap();
    let failure = daemon.client().await.call::<Ping>(Empty {}, Some(SOON)).await.unwrap_err();
    assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Malformed, false));
    assert!(failure.text().contains("customer") && failure.text().contains("guest"), "{failure}");
}

#[tokio::test]
async fn a_server_that_goes_fails_the_calls_that_it_had() {
    let daemon = Running::start();
    let mut server = daemon.server().await;
    let client = daemon.client().await;
    let (call, _) = tokio::join!(client.call::<Ping>(Empty {}, Some(SOON)), async {
        let call = server.next().await.unwrap();
        drop((call, server));
    });
    let failure = call.unwrap_err();
    assert!(failure.may_have_run());
    assert!(matches!(failure.kind(), FailureKind::Unavailable | FailureKind::Failed), "{failure}");
}

#[tokio::test]
async fn failures_of_the_server_have_their_text() {
    let daemon = Running::start();
    let mut server = daemon.server().await;
    let client = daemon.client().await;
    for dropped in [false, true] {
        let asked: Request = request(&client.heap(), "ada", 1, &[]);
        let (outcome, ()) = tokio::join!(client.call::<Reserve>(asked, Some(SOON)), async {
            let call = server.next().await.unwrap();
            assert_eq!(call.method(), Reserve::NUMBER);
            assert!(call.within().is_some_and(|within| within <= SOON));
            if !dropped {
                let failure = bertha_chunnels::rpc::Failure::of(FailureKind::Denied, "the hotel is full");
                call.fail(&failure).await.unwrap();
            }
        });
        let failure = outcome.unwrap_err();
        let expected = match dropped {
            false => (FailureKind::Denied, "the hotel is full"),
            true => (FailureKind::Failed, "the server dropped the call"),
        };
        assert_eq!((failure.kind(), failure.text()), expected);
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_frees_its_place() {
    let daemon = Running::start();
    let mut server = daemon.server().await;
    let client = daemon.client().await;
    let late = client.call::<Ping>(Empty {}, Some(Duration::from_millis(20))).await.unwrap_err();
    assert_eq!((late.kind(), late.may_have_run()), (FailureKind::TimedOut, true));
    // The response to the cancelled call finds nobody, and the next call gets its own.
    answer(server.next().await.unwrap()).await;
    let _serving = serve(server);
    client.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
}

/// A server that keeps requests keeps no more of one caller than leaves room for those of others.
#[tokio::test]
async fn a_caller_whose_requests_fill_the_memory_of_a_server_leaves_room_to_others() {
    let daemon = Running::with(bertha_rpcd::Settings { heap: 4 << 20, ..Default::default() });
    let mut server = daemon.server().await;
    let _serving = tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok(call) = server.next().await {
            match call.method() {
                Ping::NUMBER => call.respond::<Ping>(Empty {}).await.unwrap(),
                _ => kept.push(call),
            }
        }
    });
    let long = "x".repeat(50 << 10);
    let mut refused = tokio::task::JoinSet::new();
    // Together they ask for more memory than the server has.
    for _ in 0..3 {
        let greedy = std::sync::Arc::new(daemon.client().await);
        for _ in 0..45 {
            let asked = request(&greedy.heap(), "ada", 1, &[&long]);
            let greedy = std::sync::Arc::clone(&greedy);
            refused.spawn(async move { greedy.call::<Reserve>(asked, None).await.unwrap_err() });
        }
        let first = refused.join_next().await.unwrap().unwrap();
        assert_eq!(first.kind(), FailureKind::Overloaded);
        assert!(first.to_string().contains("too much memory of the server"), "{first}");
    }
    let honest = daemon.client().await;
    for _ in 0..20 {
        honest.call::<Ping>(Empty {}, Some(SOON)).await.unwrap();
    }
}
