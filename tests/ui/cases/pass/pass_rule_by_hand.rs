//! A rule without the macro.

use bertha_core::identity::True;
use bertha_core::pass::{Guard, Pass, Rewrite, Rule, Segment};
use bertha_core::{Describe, Identity, make_stack, optimize};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

struct NoAb;

impl Pass for NoAb {
    const NAME: &'static str = "NoAb";
    type Weakens = ();
}

impl Rule for NoAb {
    type Pattern = Segment<(A, (B, ()))>;
}

impl<Captured> Guard<Captured> for NoAb {
    type Holds = True;
}

impl<Rest> Rewrite<(A, (B, ())), Rest> for NoAb {
    type Output = Rest;

    fn rewrite(&self, _: (A, (B, ())), rest: Rest) -> Rest {
        rest
    }
}

fn main() {
    assert_eq!(optimize!(make_stack!(A, B, A), NoAb).nodes().len(), 1);
}
