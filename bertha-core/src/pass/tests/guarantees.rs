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
