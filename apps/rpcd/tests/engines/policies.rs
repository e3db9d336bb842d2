//! Policies on calls, which change while calls flow.

use crate::hotel::{Forge, Forged, Running, serve};
use crate::numbered::{Numbered, recorded, reserve};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::engines::built_in;
use bertha_managed::heap::{String, Vec};
use bertha_managed::{EngineKind, Unchanged};
use bertha_rpcd::Change;
use futures_util::future::{join, join_all};
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
async fn a_limiter_with_a_full_queue_delivers_all_when_it_is_removed() {
    let daemon = Running::start();
    let serving = recorded(daemon.server().await);
    let client = daemon.client().await;
    daemon.operator.change("hotel", &add("rate-limit", "per-second=1 burst=1 queue=299")).unwrap();
    // They are sent in this order, and the first passes.
    let calls = (0..300).map(|nights| reserve(&client, "ada", nights));
    let removal = async {
        assert_eq!(reserve(&client, "ada", 300).await, Err(FailureKind::Overloaded));
        daemon.operator.change("hotel", &remove("rate-limit")).unwrap();
    };
    let (outcomes, ()) = join(join_all(calls), removal).await;
    for (nights, outcome) in (0..).zip(outcomes) {
        assert_eq!(outcome, Ok(100 * nights));
    }
    drop(daemon);
    assert_eq!(serving.await.unwrap(), (0..300).collect::<std::vec::Vec<_>>());
}

#[tokio::test]
async fn a_thousand_changes_of_engines_lose_repeat_and_swap_no_call() {
    let daemon = Running::start();
    let numbered = Numbered::start(&daemon).await;
    change(&[&daemon], 1_000).await;
    numbered.end([daemon]).await;
}

#[tokio::test]
async fn changes_lose_repeat_and_swap_no_call_with_several_threads() {
    let daemon = Running::threaded(4);
    let numbered = Numbered::start(&daemon).await;
    change(&[&daemon], 300).await;
    numbered.end([daemon]).await;
}

#[tokio::test]
async fn changes_at_either_daemon_lose_repeat_and_swap_no_call_between_them() {
    let [near, far] = Running::pair(None);
    let numbered = Numbered::between(&near, &far).await;
    change(&[&near, &far], 300).await;
    numbered.end([near, far]).await;
}

/// Makes so many changes, round by round, at each of the daemons in turn.
async fn change(daemons: &[&Running], count: usize) {
    let upgrade = |name: &str| Change::Upgrade { name: name.into(), kind: kind(name) };
    let configure = |name: &str, settings: &str| Change::Configure {
        name: name.into(),
        settings: settings.parse().unwrap(),
    };
    // All that are built in. The limiter holds calls when it is changed, upgraded and removed.
    let round = || {
        [
            add("rate-limit", "per-second=20000 burst=3"),
            add("acl", "field=customer deny=eve"),
            add("metrics", ""),
            upgrade("rate-limit"),
            add("quota", "calls=1000"),
            configure("rate-limit", "per-second=1 burst=1"),
            add("qos", "small=1"),
            upgrade("rate-limit"),
            upgrade("acl"),
            upgrade("metrics"),
            configure("rate-limit", "per-second=20000"),
            add("trace", "sample=2"),
            upgrade("qos"),
            configure("acl", "deny=mallory"),
            upgrade("trace"),
            configure("quota", "calls=500"),
            add("null", ""),
            upgrade("quota"),
            configure("qos", "hold=1"),
            configure("rate-limit", "per-second=1"),
            remove("trace"),
            upgrade("null"),
            remove("metrics"),
            remove("rate-limit"),
            remove("acl"),
            remove("qos"),
            remove("null"),
            remove("quota"),
        ]
    };
    let changes = daemons.iter().cycle().flat_map(|daemon| round().map(|change| (daemon, change)));
    for (daemon, change) in changes.take(count.next_multiple_of(round().len() * daemons.len())) {
        daemon.operator.change("hotel", &change).unwrap_or_else(|error| panic!("{change:?}: {error}"));
        tokio::time::sleep(Duration::from_micros(300)).await;
    }
}

#[tokio::test]
async fn copies_for_engines_take_no_more_than_a_heap_may() {
    let daemon = Running::with(bertha_rpcd::Settings { heap: 4 << 20, ..Default::default() });
    let _serving = serve(daemon.server().await);
    let client = Arc::new(daemon.client().await);
    daemon.operator.change("hotel", &add("acl", "field=guests deny=eve")).unwrap();
    daemon.operator.change("hotel", &add("rate-limit", "per-second=1")).unwrap();
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
