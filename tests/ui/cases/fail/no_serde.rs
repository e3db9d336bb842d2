//! Serialisation of a type that lacks serde's derives.

use bertha_chunnels::Serialize;
use bertha_core::make_stack;

struct Request {
    user: u64,
}

fn main() {
    let _ = make_stack!(Serialize::<Request>::new());
}
