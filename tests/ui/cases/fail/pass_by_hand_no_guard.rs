//! A rule by hand without `Guard`.

use bertha_core::pass::{Pass, Rewrite, Rule, Segment};
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

impl<Rest> Rewrite<(A, ()), Rest> for NoA {
    type Output = Rest;

    fn rewrite(&self, _: (A, ()), rest: Rest) -> Rest {
        rest
    }
}

fn main() {
    let _ = optimize!(make_stack!(A), NoA);
}
