//! The effects of engines on calls, at either end.

use crate::protobuf::policies;
use crate::scene::{MS, Scene, Side, play};
use bertha_chunnels::rpc::FailureKind;
use bertha_core::{Connection, Runtime};
use bertha_managed::Status;
use bertha_managed::engines::{Acl, Metrics, Qos, Quota, RateLimit};
use futures_util::future::{join_all, select};
use futures_util::join;
use std::pin::pin;

#[test]
fn a_request_is_refused_by_the_value_of_a_field_and_reaches_no_handler() {
    play(async |runtime, side| {
        let policies = policies().engine("acl", Acl, "field=customer deny=Eve,Mallory").unwrap();
        let scene = Scene::new(runtime, side, &policies).await;
        assert_eq!(scene.reserve("Ada").await.unwrap(), 3);
        let failure = scene.reserve("Eve").await.unwrap_err();
        assert_eq!((failure.kind(), failure.may_have_run()), (FailureKind::Denied, false));
        assert_eq!(failure.text(), "the value of customer is not permitted");
        // Metadata stands in front of the request.
        let named = "Mallory".to_owned();
        let call = scene.client.call::<_, u64>(crate::protobuf::RESERVE, &named).metadata("key", "value");
        assert_eq!(call.await.unwrap_err().kind(), FailureKind::Denied);
        assert_eq!(scene.reserve("Bob").await.unwrap(), 3);
        assert_eq!(scene.reached(), ["Ada", "Bob"]);
    });
}

#[test]
fn calls_above_a_rate_are_held_and_go_on_in_order() {
    play(async |runtime, side| {
        let policies = policies().engine("limit", RateLimit, "per-second=100 burst=1").unwrap();
        let scene = Scene::new(runtime, side, &policies).await;
        let began = runtime.now();
        let calls = join_all((0..20).map(|number| scene.reserve(number)));
        assert!(calls.await.iter().all(Result::is_ok));
        let took = runtime.now() - began;
        assert!(took >= 170 * MS && took < 250 * MS, "{took:?}");
        assert_eq!(scene.reached(), (0..20).map(|number| number.to_string()).collect::<Vec<_>>());
    });
}

#[test]
fn a_call_above_a_quota_fails_until_another_has_ended() {
    play(async |runtime, side| {
        let policies = policies().engine("quota", Quota, "calls=2").unwrap();
        let scene = Scene::new(runtime, side, &policies).await;
        let (first, second, third) =
            join!(scene.reserve("slow 1"), scene.reserve("slow 2"), scene.reserve("slow 3"));
        assert!(first.is_ok() && second.is_ok());
        let failure = third.unwrap_err();
        assert_eq!(
            (failure.kind(), failure.text()),
            (FailureKind::Overloaded, "too many calls are in flight")
        );
        for _ in 0..5 {
            scene.reserve("Ada").await.unwrap();
        }
        assert_eq!(scene.reached().len(), 7);
    });
}

#[test]
fn calls_are_counted_by_their_outcomes() {
    play(async |runtime, side| {
        let with = policies().engine("metrics", Metrics, "").unwrap();
        let with = with.engine("acl", Acl, "field=customer deny=Eve").unwrap();
        let scene = Scene::new(runtime, side, &with).await;
        for customer in ["Ada", "Eve", "Bob", "Eve", "slow"] {
            let _outcome = scene.reserve(customer).await;
        }
        {
            let given_up = pin!(scene.reserve("slow"));
            select(given_up, pin!(scene.pass(10 * MS))).await;
        }
        scene.pass(MS).await;
        let counted = with.counts().read();
        let [counted] = &counted[..] else { panic!("{counted:?}") };
        assert_eq!((&*counted.caller, &*counted.method), ("desk", "hotel.Hotel/Reserve"));
        assert_eq!(
            counted.calls,
            [(Status::Done, 3), (Status::Cancelled, 1), (Status::Failed(FailureKind::Denied), 2)]
        );
    });
}

#[test]
fn a_small_call_goes_before_a_large_one_that_is_held() {
    play(async |runtime, side| {
        // The hold is longer than a call, so that only the outcome of the first lets the second go.
        let policies = policies().engine("qos", Qos, "small=64 bulk=64 hold=1000").unwrap();
        let scene = Scene::new(runtime, side, &policies).await;
        let large = ["slow 1", "slow 2"].map(|name| format!("{name}{}", "x".repeat(64)));
        let small = async {
            scene.pass(10 * MS).await;
            scene.reserve("Ada").await
        };
        let (first, second, small) = join!(scene.reserve(&large[0]), scene.reserve(&large[1]), small);
        assert!(first.is_ok() && second.is_ok() && small.is_ok());
        assert_eq!(scene.reached(), [large[0].as_str(), "Ada", large[1].as_str()]);
    });
}

#[test]
fn a_call_that_is_given_up_while_it_is_held_goes_no_further() {
    play(async |runtime, side| {
        let policies = policies().engine("limit", RateLimit, "per-second=1 burst=1").unwrap();
        let scene = Scene::new(runtime, side, &policies).await;
        scene.reserve("Ada").await.unwrap();
        {
            let given_up = pin!(scene.reserve("given up"));
            select(given_up, pin!(scene.pass(20 * MS))).await;
        }
        scene.pass(MS).await;
        policies.remove("limit").unwrap();
        scene.reserve("Bob").await.unwrap();
        scene.pass(500 * MS).await;
        assert_eq!(scene.reached(), ["Ada", "Bob"]);
        assert_eq!(scene.client.caller().in_flight(), 0);
    });
}

#[test]
fn a_call_whose_deadline_passes_while_it_is_held_goes_no_further() {
    play(async |runtime, side| {
        let policies = policies().engine("limit", RateLimit, "per-second=1 burst=1").unwrap();
        let scene = Scene::new(runtime, side, &policies).await;
        scene.reserve("Ada").await.unwrap();
        let late = "late".to_owned();
        let call = scene.client.call::<_, u64>(crate::protobuf::RESERVE, &late).deadline(50 * MS);
        assert_eq!(call.await.unwrap_err().kind(), FailureKind::TimedOut);
        scene.pass(MS).await;
        policies.remove("limit").unwrap();
        scene.reserve("Bob").await.unwrap();
        assert_eq!(scene.reached(), ["Ada", "Bob"]);
    });
}

#[test]
fn what_is_held_goes_on_when_the_connection_is_drained_or_closed() {
    play(async |runtime, side| {
        for closes in [false, true] {
            let policies = policies()
                .engine("first", RateLimit, "per-second=1 burst=1")
                .and_then(|policies| policies.engine("second", RateLimit, "per-second=1 burst=1"))
                .unwrap();
            let scene = Scene::new(runtime, side, &policies).await;
            let calls = join_all((0..50).map(|number| scene.reserve(number)));
            let draining = async {
                scene.pass(10 * MS).await;
                assert_eq!(scene.reached().len(), 1);
                let connection = scene.client.caller().connection();
                match (side, closes) {
                    (Side::Client, true) => connection.close().await.unwrap(),
                    (Side::Client, false) => connection.drain().await.unwrap(),
                    // The end of the server is drained when its connection is served no longer.
                    (Side::Server, _) => policies.remove("first").and(policies.remove("second")).unwrap(),
                }
                scene.pass(10 * MS).await;
                assert_eq!(scene.reached(), (0..50).map(|number| number.to_string()).collect::<Vec<_>>());
            };
            let (outcomes, ()) = join!(calls, draining);
            assert!(closes || outcomes.iter().all(Result::is_ok));
        }
    });
}
