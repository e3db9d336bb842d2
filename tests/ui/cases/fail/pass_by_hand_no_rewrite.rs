//! A rule by hand without `Rewrite` for what its pattern captures.

use bertha_core::identity::True;
use bertha_core::pass::{Guard, Pass, Rewrite, Rule, Segment};
use bertha_core::{Identity, make_stack, optimize};

#[derive(Identity)]
struct A;

struct NoA;

impl Pass for NoA {
    const NAME: &'static str = "NoA";
    type Weakens = ();
}

impl Rule for NoA {
    type Pattern = Segment<(A, ())>;
}

impl<Captured> Guard<Captured> for NoA {
    type Holds = True;
}

impl<Rest> Rewrite<A, Rest> for NoA {
    type Output = Rest;

    fn rewrite(&self, _: A, rest: Rest) -> Rest {
        rest
    }
}

fn main() {
    let _ = optimize!(make_stack!(A), NoA);
}
