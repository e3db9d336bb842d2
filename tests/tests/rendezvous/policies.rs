//! Preferences that depend on how many participants there are.

use super::scene::{Stack, X, Y, everywhere};
use bertha_core::{NumParticipantsAtMost, make_stack, select};
use bertha_negotiation::rendezvous::Event;
use futures_util::future::join;
use std::time::Duration;

/// Prefers one of two alternatives among so many participants.
fn prefers(alternative: usize, participants: usize) -> Stack {
    Box::new(make_stack!(select!(X, Y; prefer alternative if NumParticipantsAtMost(participants))))
}

#[test]
fn the_third_makes_all_switch_and_its_going_makes_them_switch_back() {
    everywhere(async |scene, _| {
        let join_one = async || scene.join(&prefers(0, 2)).await;
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
        let (mut first, mut second) = (scene.join(&prefers(0, 9)).await, scene.join(&prefers(1, 9)).await);
        let quiet = scene.pause(Duration::from_secs(60));
        let never = |event: &Event| *event == Event::Left;
        let both = join(first.until(never), second.until(never));
        futures_util::future::select(std::pin::pin!(both), std::pin::pin!(quiet)).await;
        let commits = first.seen.iter().filter(|event| matches!(event, Event::Commit(_))).count();
        assert!((1..=2).contains(&commits), "each has its wish once: {commits} commits");
    });
}
