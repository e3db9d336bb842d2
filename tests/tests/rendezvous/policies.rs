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

/// Somebody hangs until nobody has a try left, were they counted. That the time was up says nothing about the stack.
#[test]
fn what_was_not_staged_in_time_is_wished_for_again() {
    everywhere(async |scene, _| {
        let join_one = async || scene.join(&prefers(0, 2)).await;
        let (mut first, mut second, mut third) = (join_one().await, join_one().await, join_one().await);
        let never = |event: &Event| *event == Event::Left;
        let others = join(first.until(never), second.until(never));
        let hangs = scene.pause(10 * scene.settings.staging_timeout);
        futures_util::future::select(std::pin::pin!(others), std::pin::pin!(hangs)).await;
        assert!([&first, &second].iter().all(|one| one.in_force.stack.to_string() == "X"));
        join(first.uses("Y"), join(second.uses("Y"), third.uses("Y"))).await;
    });
}

/// However often, and whoever of them had which wish: what was decided among others is tried again.
#[test]
fn as_others_come_and_go_all_switch_each_time() {
    everywhere(async |scene, _| {
        let join_one = async || scene.join(&prefers(0, 2)).await;
        let (mut first, mut second) = (join_one().await, join_one().await);
        for _ in 0..8 {
            let mut third = join_one().await;
            join(first.uses("Y"), join(second.uses("Y"), third.uses("Y"))).await;
            third.participant.leave().await.unwrap();
            join(first.uses("X"), second.uses("X")).await;
        }
    });
}
