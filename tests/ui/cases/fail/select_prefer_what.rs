//! A preference by name.

use bertha_chunnels::Nothing;
use bertha_core::select;

fn main() {
    let _ = select!(Nothing, Nothing; prefer Nothing);
}
