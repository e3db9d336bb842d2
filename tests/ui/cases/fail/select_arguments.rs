//! Too few alternatives, and preferences and policies that are written wrongly.

use bertha_chunnels::Nothing;
use bertha_core::{NumParticipantsAtMost, select};

fn main() {
    let _ = (Nothing, NumParticipantsAtMost(2));

    let _ = select!(Nothing);
    let _ = select!();

    let _ = select!(Nothing, Nothing; 1);
    let _ = select!(Nothing, Nothing; prefers 1);
    let _ = select!(Nothing, Nothing; prefer);
    let _ = select!(Nothing, Nothing, prefer 1);

    let _ = select!(Nothing, Nothing; prefer 0 when NumParticipantsAtMost(2));
    let _ = select!(Nothing, Nothing; prefer if NumParticipantsAtMost(2));
    let _ = select!(Nothing, Nothing; prefer 0 if);
    let _ = select!(Nothing, Nothing; if NumParticipantsAtMost(2) prefer 0);
}
