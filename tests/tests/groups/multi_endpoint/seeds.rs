//! Joins, leaves, crashes and changes while messages flow, with a history of every message.

use crate::multi_endpoint::crowd::{Crowd, Dice, Member};
use bertha_chunnels::{Batch, Nothing, ReceiverOrdered, SequencerOrdered};
use bertha_core::{Buf, Connection, make_stack, select};
use bertha_datapath_sim::{Link, Schedule, Sim, SimGroup};
use bertha_negotiation::Pick;
use bertha_negotiation::rendezvous::{Rendezvous, RunsAmong};
use std::time::Duration;

/// Has participants come, leave, crash and ask for changes, at random.
async fn bustle<S, C>(crowd: &Crowd, stack: impl Fn() -> S, seed: u64, may_crash: bool)
where
    S: Rendezvous + 'static,
    SimGroup: RunsAmong<S, Out = C>,
    C: Connection<Data = Buf>,
{
    let mut dice = Dice::new(seed);
    let mut members: Vec<Member<C>> = Vec::new();
    let mut next = 0;
    for _ in 0..7 + dice.roll(7) {
        let event = if members.len() < 2 { 0 } else { dice.roll(8) };
        let who = dice.roll(members.len().max(1) as u64) as usize;
        match event {
            0 | 1 if members.len() < 5 => {
                let pace = Duration::from_micros(1000 + dice.roll(5000));
                members.push(crowd.enter(next, stack(), pace).await);
                next += 1;
            }
            2 => members.swap_remove(who).leave(crowd).await,
            3 if may_crash => members.swap_remove(who).crash(crowd),
            _ => {
                // The call fails if a participant vanishes while it is asked, or if the group takes the
                // asking participant for gone.
                let asked = members[who].connection.upgrade(Pick::alternative(dice.roll(2) as usize)).await;
                assert!(asked.is_ok() || may_crash, "{asked:?}");
            }
        }
        crowd.pause(Duration::from_micros(dice.roll(20_000))).await;
    }
    // By then the newest participant has received a message of each other participant.
    crowd.pause(Duration::from_millis(20)).await;
    members.iter().for_each(Member::hush);
    // By then participants that vanished have expired, and a change that waits for them has ended.
    crowd.pause(Duration::from_secs(20)).await;
    let rounds: Vec<u64> = members.iter().map(|member| member.connection.explain().round()).collect();
    assert!(rounds.windows(2).all(|two| two[0] == two[1]), "not in one round: {rounds:?}");
    for member in &members {
        assert_eq!(member.connection.participants().len(), members.len());
    }
}

/// Gives each link between two hosts a delay of its own, so that a message of a round may come after another
/// host's message of the next round.
fn spread(crowd: &Crowd, seed: u64) {
    let mut dice = Dice::new(seed + 1);
    for (from, to) in (0..16).flat_map(|from| (0..16).map(move |to| (from, to))) {
        let link = Link { delay: Duration::from_micros(50 + dice.roll(6000)), ..Link::default() };
        crowd.network.set_link_between(Crowd::ip(from), Crowd::ip(to), link);
    }
}

/// Plays with each seed. For a third of the seeds tasks run in the order in which they are woken, for the
/// other seeds in a random order.
pub(crate) fn with_seeds(usual: u64, play: impl AsyncFn(&Crowd, u64)) {
    bertha_tests::with_seeds(usual, |seed| {
        let schedule = if seed % 3 == 0 { Schedule::Fifo } else { Schedule::Random };
        let mut sim = Sim::new(seed).schedule(schedule).step_limit(1_000_000);
        let crowd = Crowd::new(sim.network().clone());
        sim.run(play(&crowd, seed));
    });
}

#[test]
fn changes_lose_repeat_and_swap_nothing() {
    with_seeds(300, async |crowd, seed| {
        spread(crowd, seed);
        bustle(crowd, || make_stack!(select!(Nothing, Batch::new())), seed, false).await;
        crowd.history.has_no_gaps();
        crowd.history.is_complete();
    });
}

#[test]
fn who_vanishes_is_not_waited_for() {
    with_seeds(300, async |crowd, seed| {
        spread(crowd, seed);
        bustle(crowd, || make_stack!(select!(Nothing, Batch::new())), seed, true).await;
        crowd.history.has_no_gaps();
        crowd.history.is_complete();
    });
}

#[test]
fn one_order_holds_across_changes() {
    with_seeds(200, async |crowd, seed| {
        let stack = || make_stack!(select!(Nothing, Batch::new()), SequencerOrdered::new());
        spread(crowd, seed);
        bustle(crowd, stack, seed, false).await;
        crowd.history.has_no_gaps();
        crowd.history.is_complete();
        crowd.history.has_one_order();
    });
}

#[test]
fn what_the_network_swaps_the_receivers_put_in_order_across_changes() {
    with_seeds(200, async |crowd, seed| {
        let detour = Duration::from_millis(20);
        let link = Link { reordering: 0.2, jitter: Duration::from_micros(300), detour, ..Link::default() };
        crowd.network.set_link(link);
        bustle(crowd, || make_stack!(select!(ReceiverOrdered::new(), SequencerOrdered::new())), seed, false)
            .await;
        crowd.history.has_no_gaps();
        crowd.history.is_complete();
    });
}

#[test]
fn loss_and_crashes_repeat_and_swap_nothing() {
    with_seeds(200, async |crowd, seed| {
        crowd.network.set_link(Link::poor(0.05));
        bustle(crowd, || make_stack!(select!(ReceiverOrdered::new(), SequencerOrdered::new())), seed, true)
            .await;
        crowd.history.is_in_order();
    });
}
