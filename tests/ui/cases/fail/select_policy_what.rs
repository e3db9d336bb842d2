//! Policies about what is no condition.

use bertha_chunnels::Nothing;
use bertha_core::{NumParticipantsAtMost, Policy, Situation, select};

/// Says nothing of itself.
struct Silent;

impl Policy for Silent {
    fn holds(&self, _: &Situation) -> bool {
        true
    }
}

fn main() {
    let _ = select!(Nothing, Nothing; prefer 0 if 2);
    let _ = select!(Nothing, Nothing; prefer 0 if NumParticipantsAtMost);
    let _ = select!(Nothing, Nothing; prefer Nothing if NumParticipantsAtMost(2));
}
