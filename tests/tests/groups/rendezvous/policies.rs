//! Preferences that depend on the number of participants.

use super::hindered::{Fate, Hindered};
use super::scene::{Endpoint, Scene, Stack, X, Y, Z, everywhere, xy, xyz};
use bertha_core::{BoxFuture, NumParticipantsAtMost, Policy, Runtime, Situation, make_stack};
use bertha_negotiation::rendezvous::{Event, InForce, RendezvousStore};
use futures_util::future::{join, pending, select};
use std::fmt;
use std::pin::pin;
use std::time::Duration;

/// Makes a stack that prefers an alternative among this number of participants.
fn prefers(alternative: usize, participants: usize) -> Stack {
    Box::new(make_stack!(
        bertha_core::select!(X, Y; prefer alternative if NumParticipantsAtMost(participants))
    ))
}

#[test]
fn the_third_makes_all_switch_and_its_going_makes_them_switch_back() {
    everywhere(async |scene, _| {
        let join_one = async || scene.join(&prefers(0, 2)).await;
        let (mut first, mut second) = (join_one().await, join_one().await);
        assert_eq!(first.active.stack.to_string(), "X");
        let mut third = join_one().await;
        join(first.uses("Y"), join(second.uses("Y"), third.uses("Y"))).await;
        third.participant.leave().await.unwrap();
        join(first.uses("X"), second.uses("X")).await;
    });
}

/// A policy of a user's own.
struct Odd;

impl Policy for Odd {
    fn holds(&self, situation: &Situation) -> bool {
        situation.participants() % 2 == 1
    }
}

impl fmt::Display for Odd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Odd")
    }
}

#[test]
fn a_policy_of_a_users_own_is_asked_each_time_that_somebody_comes_or_goes() {
    everywhere(async |scene, _| {
        let stack: Stack = Box::new(make_stack!(bertha_core::select!(X, Y; prefer 1 if Odd)));
        let join_one = async || scene.join(&stack).await;
        let mut first = join_one().await;
        assert_eq!(first.active.stack.to_string(), "Y");
        let mut second = join_one().await;
        join(first.uses("X"), second.uses("X")).await;
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
        select(pin!(both), pin!(quiet)).await;
        let commits = first.seen.iter().filter(|event| matches!(event, Event::Commit(_))).count();
        assert!((1..=2).contains(&commits), "each has its wish once: {commits} commits");
    });
}

/// A participant hangs for so long that the attempts of the other participants would be used up, were
/// time-outs counted. A time-out says nothing about the stack.
#[test]
fn what_was_not_staged_in_time_is_wished_for_again() {
    everywhere(async |scene, _| {
        let join_one = async || scene.join(&prefers(0, 2)).await;
        let (mut first, mut second, mut third) = (join_one().await, join_one().await, join_one().await);
        let never = |event: &Event| *event == Event::Left;
        let others = join(first.until(never), second.until(never));
        let hangs = scene.pause(10 * scene.settings.staging_timeout);
        select(pin!(others), pin!(hangs)).await;
        assert!([&first, &second].iter().all(|one| one.active.stack.to_string() == "X"));
        join(first.uses("Y"), join(second.uses("Y"), third.uses("Y"))).await;
    });
}

/// A decision is made anew each time the participants change, however often, whichever participant has the
/// wish.
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

/// An owner may later be able to stage a stack that it refuses now.
#[test]
fn what_somebody_refused_for_some_time_is_wished_for_again() {
    everywhere(async |scene, _| {
        let join_one = async || scene.join(&prefers(0, 2)).await;
        let (mut first, mut second, mut third) = (join_one().await, join_one().await, join_one().await);
        let others = join(first.until(|_| false), second.until(|_| false));
        let all = join(others, third.refuses());
        select(pin!(all), pin!(scene.pause(Duration::from_secs(20)))).await;
        assert_eq!(first.active.stack.to_string(), "X");
        join(first.uses("Y"), join(second.uses("Y"), third.uses("Y"))).await;
    });
}

/// Returns true if the leader of the round is present.
fn is_led<R: Runtime>(endpoint: &Endpoint<R>) -> bool {
    let present = endpoint.seen.iter().rev().find_map(|event| match event {
        Event::Participants(present) => Some(present),
        _ => None,
    });
    present.is_some_and(|present| present.contains(&endpoint.active.leader))
}

/// Plays a group whose leader has gone. For some time another participant refuses all rounds, or hangs.
async fn loses_its_leader<R: Runtime>(scene: &Scene<impl RendezvousStore, R>, refuse: bool) {
    let mut settings = scene.settings.clone();
    settings.renews = true;
    let join_one =
        async || scene.try_join_with(scene.store.another(), &xy(), settings.clone()).await.unwrap();
    let (leader, mut second, mut third) = (join_one().await, join_one().await, join_one().await);
    drop(leader);
    let hindered = async {
        match refuse {
            true => drop(third.refuses().await),
            false => pending().await,
        }
    };
    let newcomers = async {
        scene.pause(2 * scene.settings.staging_timeout).await;
        for _ in 0..3 {
            join_one().await.participant.leave().await.unwrap();
        }
        scene.pause(4 * scene.settings.staging_timeout).await;
    };
    select(pin!(join(second.until(|_| false), hindered)), pin!(newcomers)).await;
    assert!(!is_led(&second));
    while !is_led(&second) {
        select(pin!(second.until(|_| true)), pin!(third.until(|_| false))).await;
    }
}

#[test]
fn somebody_leads_though_one_refused_for_some_time() {
    everywhere(async |scene, _| loses_its_leader(scene, true).await);
}

#[test]
fn somebody_leads_though_one_hung_and_newcomers_are_let_in_meanwhile() {
    everywhere(async |scene, _| loses_its_leader(scene, false).await);
}

/// A participant's owner proposes a stack just after its policies have proposed another, and before the store
/// has answered.
#[test]
fn an_owner_and_a_policy_at_once_get_their_wishes_one_after_the_other() {
    everywhere(async |scene, memory| {
        let runtime = scene.runtime.clone();
        let fate = move |_| -> BoxFuture<'static, Fate> {
            let runtime = runtime.clone();
            Box::pin(async move {
                runtime.sleep(Duration::from_millis(100)).await;
                Fate::CarriedOut
            })
        };
        let way = Hindered { store: memory.clone(), fate: Box::new(fate) };
        let stack: Stack =
            Box::new(make_stack!(bertha_core::select!(X, Y, Z; prefer 0 if NumParticipantsAtMost(2))));
        let mut first = scene.try_join_with(way, &stack, scene.settings.clone()).await.unwrap();
        let mut second = scene.join(&xyz()).await;
        first.knows_of(2).await;
        let mut third = scene.join(&xyz()).await;
        first.knows_of(3).await;
        scene.pause(Duration::from_millis(50)).await;
        first.participant.propose([1, 1]).await.unwrap();
        join(first.uses("Z"), join(second.uses("Z"), third.uses("Z"))).await;
        for event in &first.seen {
            let Event::Commit(InForce { stack, picks, .. }) = event else { continue };
            assert_eq!(
                (stack.to_string().as_str(), picks[1]),
                if picks[1] == 1 { ("Z", 1) } else { ("Y", 0) }
            );
        }
    });
}
