//! The end of a stack that is no longer used.

use crate::multi_endpoint::crowd::{Crowd, Member};
use crate::multi_endpoint::parting::Parting;
use crate::multi_endpoint::seeds::with_seeds;
use bertha_chunnels::Nothing;
use bertha_core::{make_stack, select};
use bertha_negotiation::Pick;
use std::time::Duration;

#[test]
fn the_stack_of_a_round_that_is_over_says_nothing_to_those_who_have_yet_to_leave_it() {
    with_seeds(15, async |crowd: &Crowd, _| {
        let parting = Parting::default();
        let stack = || make_stack!(select!(parting.clone(), Nothing));
        let mut members = Vec::new();
        for number in 0..3 {
            members.push(crowd.enter(number, stack(), Duration::from_millis(2)).await);
        }
        for round in 0..3 {
            crowd.pause(Duration::from_millis(20)).await;
            let agreement = members[round].connection.upgrade(Pick::alternative(1)).await.unwrap();
            assert!(agreement.to_string().starts_with("Nothing"), "{agreement}");
            // By then all participants have left the old stack.
            crowd.pause(Duration::from_secs(1)).await;
            assert_eq!(parting.ended(), (0, 3 * (round + 1)));
            members[0].connection.upgrade(Pick::alternative(0)).await.unwrap();
        }
        crowd.pause(Duration::from_secs(1)).await;
        members.iter().for_each(Member::hush);
        crowd.pause(Duration::from_secs(1)).await;
        crowd.history.has_no_gaps();
        crowd.history.is_complete();
    });
}
