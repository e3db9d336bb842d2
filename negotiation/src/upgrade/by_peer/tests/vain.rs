//! A peer that proposes without end.

use super::*;

/// Returns the number of stacks that an end builds for a peer that proposes this often, and gives up each
/// proposal.
fn built(pause: Duration, proposals: u64) -> u32 {
    let (start, offer) = (Instant::now(), Offer::new(7, &stack()).unwrap());
    let mut end = End::new(Role::Server);
    let mut built = 0;
    for number in 0..proposals {
        let now = start + pause * number as u32;
        // Each proposal takes the place of the proposal before; every second proposal is given up explicitly.
        let step = UpgradeStep::Propose { offer: offer.clone() };
        end.agreement.on_message(now, Upgrade { id: 7, round: number + 1, step });
        if number.is_multiple_of(2) {
            end.agreement.on_message(now, Upgrade { id: 7, round: number + 1, step: UpgradeStep::Abort });
        }
        while let Some(step) = end.agreement.handover().poll_step() {
            built += u32::from(step == Step::Build);
        }
        while end.agreement.poll_transmit(now).is_some() {}
    }
    built
}

#[test]
fn a_peer_that_proposes_in_vain_has_few_stacks_built() {
    let quick = built(Duration::from_micros(10), 10_000);
    assert!((4..=6).contains(&quick), "{quick}");
    let lasting = built(Duration::from_millis(1), 10_000);
    assert!((40..=50).contains(&lasting), "{lasting}");
    assert_eq!(built(Duration::from_secs(1), 10), 10, "those of a peer that takes its time");
}

/// The proposer repeats unanswered proposals.
#[test]
fn an_honest_proposal_comes_through_after_those_in_vain() {
    let (mut now, offer) = (Instant::now(), Offer::new(7, &stack()).unwrap());
    let mut end = End::new(Role::Server);
    for round in 1..100 {
        for step in [UpgradeStep::Propose { offer: offer.clone() }, UpgradeStep::Abort] {
            end.agreement.on_message(now, Upgrade { id: 7, round, step });
        }
    }
    while end.agreement.poll_transmit(now).is_some() {}
    let repeated = (0..10).find(|_| {
        let step = UpgradeStep::Propose { offer: offer.clone() };
        end.agreement.on_message(now, Upgrade { id: 7, round: 100, step });
        now += Duration::from_millis(100);
        end.agreement.poll_transmit(now).is_some_and(|said| matches!(said.step, UpgradeStep::Accept { .. }))
    });
    assert!(repeated.is_some_and(|times| times > 0), "{repeated:?}");
}
