//! The bounds of what engines hold, and of the methods that may be called.

use crate::protobuf::{RESERVE, policies};
use crate::scene::{MS, Scene, play};
use bertha_chunnels::rpc::{FailureKind, Method};
use bertha_managed::engines::{Acl, Quota, RateLimit};
use futures_util::future::{join_all, select};
use std::pin::pin;

#[test]
fn calls_beyond_a_bound_fail_and_others_go_on() {
    play(async |runtime, side| {
        let bounded = [policies().calls(5), policies().held_bytes(4 * 102)];
        for (place, policies) in bounded.into_iter().enumerate() {
            let policies = policies.engine("acl", Acl, "field=customer deny=Eve").unwrap();
            let policies = policies.engine("limit", RateLimit, "per-second=1 burst=1").unwrap();
            let scene = Scene::new(runtime, side, &policies).await;
            let long = "x".repeat(100);
            let calls = join_all((0..20).map(|_| scene.reserve(&long)));
            let changes = async {
                scene.pass(10 * MS).await;
                policies.remove("limit").unwrap();
            };
            let (outcomes, ()) = futures_util::join!(calls, changes);
            let failed = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
            let kinds: Vec<_> = failed.map(|failure| failure.kind()).collect();
            assert!(kinds.iter().all(|kind| *kind == FailureKind::Overloaded), "{kinds:?}");
            let passed = 20 - kinds.len();
            // The first is not held, and copies count with the requests.
            assert!(
                if place == 0 { (4..=6).contains(&passed) } else { (2..=4).contains(&passed) },
                "{passed}"
            );
            // What has gone on takes no room any more.
            for _ in 0..20 {
                assert!(scene.reserve(&long).await.is_ok());
            }
        }
    });
}

#[test]
fn methods_that_the_schema_lacks_may_be_called_if_that_is_said() {
    const OTHER: Method = Method::new("Other.method");
    play(async |runtime, side| {
        let scene = Scene::new(runtime, side, &policies()).await;
        let name = "Ada".to_owned();
        let failure = scene.client.call::<_, u64>(OTHER, &name).await.unwrap_err();
        assert_eq!(failure.text(), "the policies of the calls know no such method");
        assert_eq!(failure.kind(), FailureKind::UnknownMethod);
    });
    play(async |runtime, side| {
        let policies = policies().method(RESERVE, "Reserve").unwrap().other_methods();
        let policies = policies.engine("quota", Quota, "calls=1").unwrap();
        let scene = Scene::new(runtime, side, &policies).await;
        let name = "Ada".to_owned();
        let failure = scene.client.call::<_, u64>(OTHER, &name).await.unwrap_err();
        // The words of the handler.
        assert_ne!(failure.text(), "the policies of the calls know no such method");
        assert_eq!(failure.kind(), FailureKind::UnknownMethod);
        assert_eq!(scene.reserve("Ada").await.unwrap(), 3);
        // Engines see them as they see others.
        {
            let slow = pin!(scene.reserve("slow"));
            select(slow, pin!(scene.pass(MS))).await;
        }
        scene.pass(MS).await;
        assert_eq!(scene.reserve("Ada").await.unwrap(), 3);
    });
}
