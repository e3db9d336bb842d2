//! Preferences that are written wrongly.

use bertha_chunnels::Nothing;
use bertha_core::select;

fn main() {
    let _ = select!(Nothing, Nothing; 1);
    let _ = select!(Nothing, Nothing; prefers 1);
    let _ = select!(Nothing, Nothing; prefer);
    let _ = select!(Nothing, Nothing, prefer 1);
}
