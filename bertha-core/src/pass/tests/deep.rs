//! Depth: stacks of 31 Chunnels, four passes, in generic functions.

use super::*;

#[subst(if [*, A, B, *] then [*, C, *] with |a, b| C(a.0 + b.0))]
struct Pairs;

#[subst(if [*, C, C, *] then [*, D, *] with |a, b| D(a.0 + b.0))]
struct Fours;

#[subst(if [*, D, D, *] then [*, E, *] with |a, b| E(a.0 + b.0))]
struct Eights;

#[subst(if [*, E, *] then [*, *])]
struct NoE;

#[test]
fn thirty_one_chunnels_and_four_passes() {
    macro_rules! pairs {
        () => {
            make_stack!(A(1), B(1), A(1), B(1), A(1), B(1), A(1), B(1))
        };
    }
    let stack =
        make_stack!(pairs!(), pairs!(), pairs!(), make_stack!(A(1), B(1), A(1), B(1), A(1), B(1), A(1)));
    let stack = optimize!(stack, Pairs, Fours, Eights, NoE);
    assert_eq!(layers(&stack), "D / C / A");
}

#[test]
fn thirty_one_chunnels_that_no_pass_matches() {
    let stack = make_stack!(
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0),
        A(0)
    );
    let stack = optimize!(stack, Pairs, Fours, Eights, NoE);
    assert_eq!(stack.nodes().len(), 31);
}

/// Generic over the data of a Chunnel.
fn optimized<T, K>(number: u32) -> impl Describe {
    optimize!(make_stack!(holder::<T, K>(number), A(1), B(2)), Pairs, Fours)
}

/// Generic over the whole stack.
fn any<S>(stack: S) -> S::Output
where
    S: Optimize<(Given<Pairs, ()>, ())>,
{
    stack.optimize(&(Given::new(Pairs), ()))
}

#[test]
fn generic_functions_can_apply_passes() {
    assert_eq!(layers(&optimized::<String, Plain>(1)), "Holder / C");
    assert_eq!(layers(&any(make_stack!(D(1), A(2), B(3)))), "D / C");
}
