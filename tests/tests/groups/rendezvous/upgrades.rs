//! Proposals of new stacks.

use super::scene::{everywhere, xy, xyz};
use bertha_core::ErrorKind;
use bertha_negotiation::rendezvous::Event;
use futures_util::future::{join, join_all};
use std::time::Duration;

#[test]
fn all_switch_to_what_one_proposes() {
    everywhere(async |scene, _| {
        let mut all = Vec::new();
        for _ in 0..5 {
            all.push(scene.join(&xyz()).await);
        }
        all[0].participant.propose([1, 0]).await.unwrap();
        join_all(all.iter_mut().map(|one| one.uses("Y"))).await;
        assert!(all.iter().all(|one| one.active.round == all[0].active.round && one.active.picks == [1, 0]));
    });
}

#[test]
fn a_refusal_reaches_the_proposer_and_leaves_the_others_as_they_were() {
    everywhere(async |scene, _| {
        let mut first = scene.join(&xyz()).await;
        let mut second = scene.join(&xyz()).await;
        let mut third = scene.join(&xy()).await;
        let round = first.active.round;
        first.participant.propose([1, 1]).await.unwrap();
        let proposer = first.until(|event| matches!(event, Event::Refused { .. }));
        let others = async {
            let quiet = scene.pause(Duration::from_secs(2));
            futures_util::future::select(
                std::pin::pin!(join(second.uses("Z"), third.uses("Z"))),
                std::pin::pin!(quiet),
            )
            .await;
        };
        let (refused, ()) = join(proposer, others).await;
        let Event::Refused { reason, .. } = refused else { unreachable!() };
        assert!(reason.contains("refuses") && reason.contains('Z'), "{reason}");
        assert!([&first, &second, &third].iter().all(|one| one.active.round == round));
        // The next proposal succeeds, as the first would have.
        first.participant.propose([1, 0]).await.unwrap();
        join_all([&mut first, &mut second, &mut third].map(|one| one.uses("Y"))).await;
    });
}

#[test]
fn an_owner_may_refuse() {
    everywhere(async |scene, _| {
        let mut first = scene.join(&xy()).await;
        let mut second = scene.join(&xy()).await;
        first.participant.propose([1]).await.unwrap();
        let refuse = async {
            loop {
                if let Some(Event::Stage { round, .. }) = second.participant.next().await {
                    return second.participant.refuse(round, "no memory left for it").await.unwrap();
                }
            }
        };
        let (refused, ()) = join(first.until(|event| matches!(event, Event::Refused { .. })), refuse).await;
        assert!(matches!(refused, Event::Refused { reason, .. } if reason.contains("no memory left")));
    });
}

#[test]
fn of_two_proposals_at_once_both_are_decided() {
    everywhere(async |scene, _| {
        let mut first = scene.join(&xyz()).await;
        let mut second = scene.join(&xyz()).await;
        join(async { first.participant.propose([1, 0]).await.unwrap() }, async {
            second.participant.propose([1, 1]).await.unwrap()
        })
        .await;
        // The proposals take effect one after the other: there are two rounds, and both participants use the
        // stack of the second.
        let two = |event: &Event| matches!(event, Event::Commit(stack) if stack.round == 3);
        join(first.until(two), second.until(two)).await;
        assert_eq!(first.active.stack, second.active.stack);
    });
}

#[test]
fn what_makes_no_sense_is_invalid() {
    everywhere(async |scene, _| {
        let first = scene.join(&xyz()).await;
        for picks in [vec![], vec![0], vec![2, 0], vec![0, 0]] {
            let error = first.participant.propose(picks).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        }
    });
}

#[test]
fn a_newcomer_waits_for_the_upgrade_under_way() {
    everywhere(async |scene, _| {
        let mut first = scene.join(&xy()).await;
        let mut second = scene.join(&xy()).await;
        first.participant.propose([1]).await.unwrap();
        let Event::Stage { round, .. } = second.until_asked().await else { unreachable!() };
        let newcomer = async {
            let third = scene.join(&xy()).await;
            assert_eq!((third.active.stack.to_string(), third.active.round), ("Y".into(), round));
        };
        let late = async {
            scene.pause(Duration::from_secs(2)).await;
            second.participant.staged(round).await.unwrap();
            second.uses("Y").await;
        };
        join(newcomer, join(late, first.uses("Y"))).await;
    });
}

#[test]
fn who_does_not_stage_in_time_keeps_the_stack_as_it_is() {
    everywhere(async |scene, _| {
        let mut first = scene.join(&xy()).await;
        let mut second = scene.join(&xy()).await;
        first.participant.propose([1]).await.unwrap();
        second.until_asked().await;
        let refused = first.until(|event| matches!(event, Event::Refused { .. })).await;
        assert!(matches!(refused, Event::Refused { reason, .. } if reason.contains("not staged in time")));
        second.until(|event| matches!(event, Event::Abandoned { .. })).await;
    });
}
