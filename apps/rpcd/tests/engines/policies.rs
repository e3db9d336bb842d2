//! Policies on calls, which change while calls flow.

use crate::hotel::{Forge, Forged, Hotel, Reserve, Running, request, serve};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::application::Client;
use bertha_managed::engines::built_in;
use bertha_managed::heap::{String, Vec};
use bertha_managed::{EngineKind, Unchanged};
use bertha_rpcd::Change;
use std::sync::Arc;
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

fn kind(name: &str) -> Arc<dyn EngineKind> {
    built_in().into_iter().find(|kind| kind.name() == name).unwrap()
}

pub(crate) fn add(name: &str, settings: &str) -> Change {
    Change::Add { name: name.into(), kind: kind(name), settings: settings.parse().unwrap() }
}

fn remove(name: &str) -> Change {
    Change::Remove { name: name.into() }
}

/// Reserves a room, and returns its price, or the kind of the failure.
async fn reserve(client: &Client<Hotel>, customer: &str, nights: i32) -> Result<i32, FailureKind> {
    let asked = request(&client.heap(), customer, nights, &["guest"]);
    let response = client.call::<Reserve>(asked, Some(SOON)).await.map_err(|failure| failure.kind())?;
    assert_eq!(response.room.as_str(), format!("{customer}: guest"));
    Ok(response.price)
}

#[tokio::test]
async fn a_list_of_customers_holds_for_those_who_are_there_and_those_who_come() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let early = daemon.client().await;
    assert_eq!(reserve(&early, "eve", 1).await, Ok(100));
    daemon.operator.change("hotel", &add("acl", "field=customer deny=eve")).unwrap();
    let late = daemon.client().await;
    for client in [&early, &late] {
        assert_eq!(reserve(client, "eve", 1).await, Err(FailureKind::Denied));
        assert_eq!(reserve(client, "ada", 2).await, Ok(200));
    }
    let settings = "deny=ada".parse().unwrap();
    daemon.operator.change("hotel", &Change::Configure { name: "acl".into(), settings }).unwrap();
    let latest = daemon.client().await;
    for client in [&early, &late, &latest] {
        assert_eq!(reserve(client, "ada", 1).await, Err(FailureKind::Denied));
        assert_eq!(reserve(client, "eve", 2).await, Ok(200));
    }
    daemon.operator.change("hotel", &remove("acl")).unwrap();
    assert_eq!(reserve(&late, "ada", 3).await, Ok(300));
}

#[tokio::test]
async fn a_change_that_does_not_suit_is_refused_and_nothing_changes() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let client = daemon.client().await;
    let unsuitable = daemon.operator.change("hotel", &add("acl", "field=pet deny=cat"));
    assert!(matches!(unsuitable, Err(Unchanged::Unsuitable(_))), "{unsuitable:?}");
    assert_eq!(daemon.operator.change("hotel", &remove("acl")), Err(Unchanged::NoEngine("acl".into())));
    daemon.operator.change("hotel", &add("null", "")).unwrap();
    assert_eq!(daemon.operator.change("hotel", &add("null", "")), Err(Unchanged::Twice("null".into())));
    assert_eq!(reserve(&client, "ada", 1).await, Ok(100));
    assert_eq!(reserve(&daemon.client().await, "ada", 1).await, Ok(100));
}

#[tokio::test]
async fn a_limiter_that_goes_delivers_all_that_it_held() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let client = Arc::new(daemon.client().await);
    daemon.operator.change("hotel", &add("rate-limit", "per-second=1 burst=1")).unwrap();
    let calls: std::vec::Vec<_> = (0..300)
        .map(|nights| {
            let client = Arc::clone(&client);
            tokio::spawn(async move { reserve(&client, "ada", nights).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(calls.iter().filter(|call| call.is_finished()).count() < 10, "the limit holds");
    daemon.operator.change("hotel", &remove("rate-limit")).unwrap();
    for (nights, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), Ok(100 * nights as i32));
    }
}

#[tokio::test]
async fn no_call_is_lost_or_repeated_while_engines_change() {
    let daemon = Running::start();
    let _serving = serve(daemon.server().await);
    let client = Arc::new(daemon.client().await);
    let callers: std::vec::Vec<_> = (0..8)
        .map(|caller| {
            let client = Arc::clone(&client);
            tokio::spawn(async move {
                for nights in 0..200 {
                    let number = 1000 * caller + nights;
                    assert_eq!(reserve(&client, "ada", number).await, Ok(100 * number));
                }
            })
        })
        .collect();
    let mut changes = 0;
    while callers.iter().any(|caller| !caller.is_finished()) {
        let upgrade = |name: &str| Change::Upgrade { name: name.into(), kind: kind(name) };
        for change in [
            add("rate-limit", "per-second=5000 burst=3"),
            add("acl", "field=customer deny=eve"),
            upgrade("rate-limit"),
            add("quota", "calls=1000"),
            upgrade("acl"),
            remove("rate-limit"),
            upgrade("quota"),
            remove("acl"),
            remove("quota"),
        ] {
            daemon.operator.change("hotel", &change).unwrap();
            changes += 1;
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
    }
    for caller in callers {
        caller.await.unwrap();
    }
    assert!(changes >= 9);
}

#[tokio::test]
async fn copies_for_engines_take_no_more_than_a_heap_may() {
    let daemon = Running::with(bertha_rpcd::Settings { heap: 4 << 20, ..Default::default() });
    let _serving = serve(daemon.server().await);
    let client = Arc::new(daemon.client().await);
    daemon.operator.change("hotel", &add("acl", "field=guests deny=eve")).unwrap();
    daemon.operator.change("hotel", &add("rate-limit", "per-second=0")).unwrap();
    // A request whose guests share a text of 64 KiB: its copy takes a megabyte.
    let text = String::from_str_in(&"x".repeat(64 << 10), &client.heap());
    let guest = [text.as_ptr().addr() as u64, (64 << 10) << 32 | (64 << 10)];
    let call = || {
        let client = Arc::clone(&client);
        tokio::spawn(async move {
            let mut guests = Vec::new_in(&client.heap());
            guests.extend([guest; 16]);
            let forged = Forged { customer: String::new_in(&client.heap()), nights: 1, guests };
            let response =
                client.call::<Forge>(forged, Some(SOON)).await.map_err(|failure| failure.kind())?;
            Ok(response.price)
        })
    };
    // The first call passes the limit, and three are held.
    assert_eq!(call().await.unwrap(), Ok(100));
    let held: std::vec::Vec<_> = (0..3).map(|_| call()).collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(call().await.unwrap(), Err(FailureKind::Overloaded));
    daemon.operator.change("hotel", &remove("rate-limit")).unwrap();
    for call in held {
        // The heap of the server has room for some of them at a time.
        let outcome = call.await.unwrap();
        assert!(matches!(outcome, Ok(100) | Err(FailureKind::Overloaded)), "{outcome:?}");
    }
    assert_eq!(call().await.unwrap(), Ok(100), "the copies are gone");
    drop(text);
}
