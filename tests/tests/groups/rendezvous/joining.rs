//! Participants that join and leave.

use super::scene::{everywhere, xy, xyz, z};
use bertha_core::ErrorKind;
use bertha_negotiation::rendezvous::{Event, RendezvousStore};
use futures_util::future::join;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[test]
fn who_comes_adopts_the_stack_in_force() {
    everywhere(async |scene, _| {
        let mut first = scene.join(&z()).await;
        let second = scene.join(&xyz()).await;
        assert_eq!((first.active.stack.to_string(), first.active.picks.clone()), ("Z".into(), vec![]));
        assert_eq!(second.active.stack, first.active.stack);
        assert_eq!(second.active.picks, [1, 1]);
        first.knows_of(2).await;
    });
}

#[test]
fn two_who_come_at_once_use_one_stack() {
    everywhere(async |scene, _| {
        let (xyz, z) = (xyz(), z());
        // Either participant may make the connection; the other participant adopts its stack, or proposes
        // another stack.
        let until_z = async |stack| {
            let mut endpoint = scene.join(stack).await;
            endpoint.uses("Z").await;
            endpoint
        };
        let (first, second) = join(until_z(&xyz), until_z(&z)).await;
        assert_eq!(first.active.round, second.active.round);
    });
}

#[test]
fn a_newcomer_that_cannot_run_the_stack_in_force_proposes_its_own() {
    everywhere(async |scene, _| {
        let mut first = scene.join(&xyz()).await;
        let z = z();
        let (second, ()) = join(scene.join(&z), first.uses("Z")).await;
        assert_eq!(
            second.active,
            bertha_negotiation::rendezvous::InForce {
                picks: vec![],
                own_id: second.active.own_id,
                ..first.active
            }
        );
    });
}

#[test]
fn a_newcomer_that_nobody_can_follow_is_refused_and_changes_nothing() {
    everywhere(async |scene, memory| {
        let mut first = scene.join(&xy()).await;
        let error = scene.try_join(&z()).await.map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.context().contains("Z"), "{error}");
        scene.pause(Duration::from_secs(3)).await;
        assert_eq!(memory.read(&scene.name).await.unwrap().entries.len(), 2, "the record and who is in");
        let _ = scene.join(&xy()).await;
        first.knows_of(2).await;
        assert!(!first.seen.iter().any(|event| matches!(event, Event::Stage { .. } | Event::Commit(_))));
    });
}

#[test]
fn the_last_one_leaves_nothing_behind() {
    everywhere(async |scene, memory| {
        let first = scene.join(&xy()).await;
        let mut second = scene.join(&xy()).await;
        first.participant.leave().await.unwrap();
        second.knows_of(1).await;
        second.participant.leave().await.unwrap();
        assert!(memory.read(&scene.name).await.unwrap().entries.is_empty());
    });
}

#[test]
fn who_vanishes_is_taken_for_gone() {
    everywhere(async |scene, _| {
        let first = scene.join(&xy()).await;
        let mut second = scene.join(&xy()).await;
        second.knows_of(2).await;
        drop(first);
        second.knows_of(1).await;
    });
}

#[test]
fn too_many_are_turned_away() {
    everywhere(async |scene, _| {
        let mut settings = scene.settings.clone();
        settings.participants = 1;
        let _first = scene.join(&xy()).await;
        let second = scene.try_join_with(scene.store.another(), &xy(), settings).await;
        assert_eq!(second.map(|_| ()).unwrap_err().kind(), ErrorKind::Exhausted);
    });
}

/// An earlier error of the store is not an error of leaving.
#[test]
fn who_leaves_long_after_the_store_failed_has_left() {
    everywhere(async |scene, memory| {
        let participant = scene.join(&xy()).await;
        scene.store.cut.store(true, Ordering::Relaxed);
        scene.pause(Duration::from_secs(5)).await;
        scene.store.cut.store(false, Ordering::Relaxed);
        scene.pause(Duration::from_secs(5)).await;
        participant.participant.leave().await.unwrap();
        assert!(memory.read(&scene.name).await.unwrap().entries.is_empty());
    });
}
