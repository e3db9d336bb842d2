//! A pass that no rule can express, over every stack.

use bertha_core::identity::False;
use bertha_core::pass::{Append, Apply, Pass, Report};
use bertha_core::{Bottom, Describe, Identity, Stack, make_stack, optimize};

#[derive(Identity)]
struct A;

#[derive(Identity)]
struct B;

struct BelowAll;

impl Pass for BelowAll {
    const NAME: &'static str = "BelowAll";
    type Weakens = ();
}

impl<S: Append<Stack<B, Bottom>>> Apply<S> for BelowAll {
    type Output = S::Output;
    type Changed = False;

    fn apply(&self, stack: S, report: &mut Report) -> Self::Output {
        report.changed("nothing", "B");
        stack.append(make_stack!(B))
    }
}

fn main() {
    let stack = optimize!(make_stack!(A), BelowAll);
    assert_eq!(stack.explain().to_string(), "A / B\n  BelowAll: nothing became B");
}
