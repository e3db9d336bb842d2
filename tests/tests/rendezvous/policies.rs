//! Preferences that depend on how many participants there are.

use super::scene::{everywhere, xy};
use bertha_negotiation::rendezvous::{Event, NumParticipantsAtMost, Policy};
use futures_util::future::join;
use std::time::Duration;

#[test]
fn the_third_makes_all_switch_and_its_going_makes_them_switch_back() {
    everywhere(async |scene, _| {
        let mut settings = scene.settings.clone();
        settings.policies = vec![Policy::prefer(0, NumParticipantsAtMost(2))];
        let join_one =
            async || scene.try_join_with(scene.store.another(), &xy(), settings.clone()).await.unwrap();
        let (mut first, mut second) = (join_one().await, join_one().await);
        assert_eq!(first.in_force.stack.to_string(), "X");
        let mut third = join_one().await;
        join(first.uses("Y"), join(second.uses("Y"), third.uses("Y"))).await;
        third.participant.leave().await.unwrap();
        join(first.uses("X"), second.uses("X")).await;
    });
}

#[test]
fn policies_that_contradict_come_to_rest() {
    everywhere(async |scene, _| {
        let with = async |alternative| {
            let mut settings = scene.settings.clone();
            settings.policies = vec![Policy::prefer(alternative, NumParticipantsAtMost(9))];
            scene.try_join_with(scene.store.another(), &xy(), settings).await.unwrap()
        };
        let (mut first, mut second) = (with(0).await, with(1).await);
        let quiet = scene.pause(Duration::from_secs(60));
        let never = |event: &Event| *event == Event::Left;
        let both = join(first.until(never), second.until(never));
        futures_util::future::select(std::pin::pin!(both), std::pin::pin!(quiet)).await;
        let commits = first.seen.iter().filter(|event| matches!(event, Event::Commit(_))).count();
        assert!((1..=2).contains(&commits), "each has its wish once: {commits} commits");
    });
}
