//! Changes while calls flow.

use crate::protobuf::{descriptors, policies};
use crate::scene::{MS, Scene, pass, play};
use bertha_chunnels::rpc::{FailureKind, Postcard};
use bertha_core::Runtime;
use bertha_managed::engines::{Acl, Quota, RateLimit};
use bertha_managed::{Policies, Unchanged};
use futures_util::future::join_all;
use futures_util::join;
use std::sync::Arc;

/// Number of calls, less than a client has under way at a time.
const CALLS: u32 = 1_000;

fn numbers() -> Vec<String> {
    (0..CALLS).map(|number| number.to_string()).collect()
}

#[test]
fn calls_are_neither_lost_nor_repeated_nor_reordered_by_changes() {
    play(async |runtime, side| {
        let policies = policies();
        let scene = Scene::new(runtime, side, &policies).await;
        let began = runtime.now();
        let changes = async {
            for round in 0..60 {
                pass(runtime, 3 * MS).await;
                let changed = match round % 6 {
                    0 => policies.add("limit", Arc::new(RateLimit), "per-second=2000".parse().unwrap()),
                    1 => policies.add("quota", Arc::new(Quota), "calls=10000".parse().unwrap()),
                    2 => policies.configure("limit", "per-second=1500 burst=3".parse().unwrap()),
                    3 => policies.upgrade("limit", Arc::new(RateLimit)),
                    4 => policies.configure("limit", "per-second=1 burst=1".parse().unwrap()),
                    _ => policies.remove("limit").and(policies.remove("quota")),
                };
                changed.unwrap();
            }
        };
        let calls = (0..CALLS).map(|number| {
            let scene = &scene;
            async move {
                runtime.sleep_until(began + MS * number / 10).await;
                scene.reserve(number).await
            }
        });
        let (outcomes, ()) = join!(join_all(calls), changes);
        for (number, outcome) in numbers().iter().zip(outcomes) {
            assert_eq!(outcome.unwrap(), number.len() as u64);
        }
        assert_eq!(scene.reached(), numbers());
    });
}

#[test]
fn a_limiter_with_a_full_queue_delivers_all_when_it_is_removed() {
    play(async |runtime, side| {
        let policies = policies().engine("limit", RateLimit, "per-second=1 burst=1 queue=999").unwrap();
        let scene = Scene::new(runtime, side, &policies).await;
        let calls = join_all((0..CALLS).map(|number| scene.reserve(number)));
        let removal = async {
            scene.pass(20 * MS).await;
            assert_eq!(scene.reached().len(), 1);
            let one_more = scene.reserve("one more").await.unwrap_err();
            assert_eq!(one_more.kind(), FailureKind::Overloaded);
            policies.remove("limit").unwrap();
            scene.pass(20 * MS).await;
            assert_eq!(scene.reached(), numbers());
        };
        let (outcomes, ()) = join!(calls, removal);
        assert!(outcomes.iter().all(Result::is_ok));
    });
}

#[test]
fn connections_that_come_later_have_what_was_changed_before() {
    play(async |runtime, side| {
        let policies = policies().engine("acl", Acl, "field=customer deny=Eve").unwrap();
        policies.configure("acl", "allow=Ada".parse().unwrap()).unwrap();
        let scene = Scene::new(runtime, side, &policies).await;
        assert!(scene.reserve("Ada").await.is_ok());
        assert_eq!(scene.reserve("Bob").await.unwrap_err().kind(), FailureKind::Denied);
        policies.remove("acl").unwrap();
        assert!(scene.reserve("Bob").await.is_ok());
        assert!(policies.engines().is_empty());
    });
}

#[test]
fn what_does_not_suit_is_refused_and_nothing_changes() {
    let refusal = |outcome: Result<(), Unchanged>| outcome.unwrap_err().to_string();
    let policies = policies().engine("limit", RateLimit, "per-second=10").unwrap();
    let limit = Arc::new(RateLimit);
    assert_eq!(
        refusal(policies.add("limit", limit.clone(), "".parse().unwrap())),
        "there is an engine limit already"
    );
    assert_eq!(
        refusal(policies.add("other", limit, "speed=1".parse().unwrap())),
        "the setting speed=1 is unknown"
    );
    assert_eq!(refusal(policies.remove("other")), "there is no engine other");
    assert_eq!(policies.engines(), ["limit (rate-limit per-second=10)"]);
    assert_eq!(
        Policies::new(&descriptors(), "Hotel").unwrap_err().to_string(),
        "the schema has no service Hotel with methods"
    );
}

#[test]
fn an_engine_that_reads_fields_needs_messages_of_protobuf() {
    let policies = || Policies::new(&descriptors(), "hotel.Hotel").unwrap().codec(&Postcard);
    let refused = policies().engine("acl", Acl, "field=customer deny=Eve").unwrap_err().to_string();
    assert_eq!(
        refused,
        "acl reads fields of requests, which have to be encoded by protobuf; the codec of these calls is postcard"
    );
    let limited = policies().engine("limit", RateLimit, "per-second=10").unwrap();
    assert!(limited.add("acl", Arc::new(Acl), "field=customer deny=Eve".parse().unwrap()).is_err());
    assert_eq!(limited.engines().len(), 1);
}
