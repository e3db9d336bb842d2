//! A choice of one, and of none.

use bertha_chunnels::Nothing;
use bertha_core::select;

fn main() {
    let _ = select!(Nothing);
    let _ = Nothing;
    let _ = select!();
}
