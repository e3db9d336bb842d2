//! The guarantees that a pass may drop, and the declarations that allow it.

use super::*;

chunnels!(
    #[chunnel(guarantees(Encrypted))] Tls
    #[chunnel(guarantees(Encrypted, Ordered))] OrderedTls
    #[chunnel(guarantees(Reliable, Ordered))] Stream
);

#[subst(if [*, Tls, *] then [*, *], weakens(Encrypted))]
struct DropTls;

#[subst(if [*, Tls, Tls, *] then [*, Tls, *] with |first, _second| first)]
struct OnceIsEnough;

#[subst(if [*, Tls, *] then [*, OrderedTls, *] with |tls| OrderedTls(tls.0))]
struct Strengthen;

#[subst(if [*, B, Tls, *] then [*, *] with |_, _| {}, weakens(Encrypted))]
struct DropBoth;

fn promises<S: Identity>(_: &S) -> Set {
    Set::of::<S::Guarantees>()
}

#[test]
fn guarantees_add_up_and_a_choice_has_what_is_common() {
    assert_eq!(
        promises(&make_stack!(Tls(1), A(2), Stream(3))),
        Set::of::<(Encrypted, (Reliable, Ordered))>()
    );
    assert_eq!(promises(&make_stack!(select!(OrderedTls(1), Stream(2)))), Set::of::<Ordered>());
    assert_eq!(promises(&make_stack!(select!(OrderedTls(1), A(2)))), Set::NONE);
}

#[test]
fn an_accepted_pass_may_drop_what_it_names() {
    let stack = optimize!(make_stack!(A(1), Tls(2)), DropTls accepting (Encrypted));
    assert_eq!(layers(&stack), "A");
    assert_eq!(promises(&stack), Set::NONE);
    assert_eq!(
        layers(&optimize!(make_stack!(B(1), Tls(2)), DropBoth accepting (Encrypted, Ordered), AllOf)),
        "nothing"
    );
}

/// A guarantee that shows that several passes may stand behind `accepting`.
#[subst(if [*, E, *] then [*, *])]
struct AllOf;

chunnels!(
    #[chunnel(withdraws(Encrypted, Authenticated))] Bypass
    #[chunnel(guarantees(Ordered), withdraws(Encrypted, Ordered))] Sorted
);

#[subst(if [*, Tls, Bypass, *] then [*, Bypass, Tls, *], weakens(Encrypted))]
struct Sink;

#[subst(if [*, E, *] then [*, Bypass, *] with |e| Bypass(e.0), weakens(Encrypted, Authenticated))]
struct GoAround;

#[test]
fn a_guarantee_that_is_withdrawn_does_not_hold_above() {
    assert_eq!(promises(&make_stack!(Bypass(1), Tls(2))), Set::NONE);
    assert_eq!(promises(&make_stack!(Tls(1), Bypass(2))), Set::of::<Encrypted>());
    assert_eq!(promises(&make_stack!(Sorted(1), OrderedTls(2))), Set::of::<Ordered>());
    assert_eq!(promises(&make_stack!(select!(Bypass(1), A(2)), Tls(3))), Set::NONE);
    assert_eq!(promises(&make_stack!(Stream(0), Bypass(1), Tls(2))), Set::of::<(Reliable, Ordered)>());
}

#[test]
fn a_pass_may_withdraw_what_it_names() {
    let stack = optimize!(make_stack!(Tls(1), Bypass(2)), Sink accepting (Encrypted));
    assert_eq!(layers(&stack), "Bypass / Tls");
    let stack = optimize!(make_stack!(E(1)), GoAround accepting (Encrypted, Authenticated));
    assert_eq!(layers(&stack), "Bypass");
    // Another one above it has withdrawn them already, or gives them anew.
    let stack = optimize!(make_stack!(Bypass(1), E(2)), Both);
    assert_eq!(layers(&stack), "Bypass / Sorted");
    assert_eq!(layers(&optimize!(make_stack!(Tls(1), E(2)), Both)), "Tls / Sorted");
}

/// Withdraws what another Chunnel above has withdrawn already, and with it nothing more.
#[subst(if [*, E, *] then [*, Sorted, *] with |e| Sorted(e.0))]
struct Both;

#[test]
fn what_the_stack_still_promises_was_not_dropped() {
    assert_eq!(layers(&optimize!(make_stack!(Tls(1), Tls(2)), OnceIsEnough)), "Tls");
    assert_eq!(layers(&optimize!(select!(make_stack!(Tls(1), Tls(2)), A(3)), OnceIsEnough)), "(Tls | A)");
    let stack = optimize!(make_stack!(Tls(1)), Strengthen);
    assert_eq!(promises(&stack), Set::of::<(Encrypted, Ordered)>());
}

#[test]
fn layers_say_their_guarantees_at_run_time() {
    let nodes = make_stack!(OrderedTls(1)).nodes();
    let [crate::Node::Layer(layer)] = &nodes[..] else { panic!("{nodes:?}") };
    assert_eq!(layer.guarantees(), Set::of::<(Encrypted, Ordered)>());
}
