//! The rules' language: patterns, and the replacements of matches.

use super::*;

#[subst(if [*, A, B, *] then [*, C, *])]
struct AbIsC;

impl From<(A, B)> for C {
    fn from((a, b): (A, B)) -> Self {
        Self(10 * a.0 + b.0)
    }
}

#[subst(if [*, C, *] then [*, *])]
struct NoC;

#[subst(if [*, D, *] then [*, A, B, *] with |d| (A(d.0), B(d.0 + 1)))]
struct DIsAb;

#[subst(if [*, A, *, E, *] then [*, B, *, C, *] with |a, e| (B(a.0), C(e.0)))]
struct Around;

#[subst(if [A, *] then [B, *] with |a| B(a.0))]
struct AtTheTop;

#[subst(if [*, A] then [*, B] with |a| B(a.0))]
struct AtTheBottom;

#[subst(for<T> if [*, Holder<T, Plain>, *] then [*, A, *] with |held| A(held.0))]
struct PlainHolders;

#[subst(for<T, K> if [*, Holder<T, K>, B, *] then [*, B, Holder<T, K>, *])]
struct Sink;

#[subst(if [A, *, B] then [*, C] with |a, b| C(10 * a.0 + b.0))]
struct ToTheBottom;

#[subst(for<K> if [*, Holder<Vec<(u8, String)>, K>, *] then [*, A, *] with |held| A(held.0))]
struct PairLists;

trait Size {
    type Small: Bool;
}

impl Size for Plain {
    type Small = True;
}

impl Size for Fancy {
    type Small = False;
}

#[subst(for<T, K: Size> if [*, Holder<T, K>, *] when K::Small then [*, E, *] with |held| E(held.0))]
struct SmallIsE;

#[test]
fn a_match_is_replaced_and_its_values_are_used() {
    let stack = optimize!(make_stack!(E(0), A(1), B(2), E(3)), AbIsC);
    assert_eq!(layers(&stack), "E / C / E");
    let C(number) = *stack.into_inner().tail().head();
    assert_eq!(number, 12);
}

#[test]
fn a_replacement_may_be_empty_or_longer() {
    assert_eq!(layers(&optimize!(make_stack!(C(1), C(2)), NoC)), "nothing");
    let stack = optimize!(make_stack!(E(1), D(5)), DIsAb);
    assert_eq!(layers(&stack), "E / A / B");
}

#[test]
fn what_stands_between_stays() {
    let stack = optimize!(make_stack!(A(1), D(2), select!(D(3), C(4)), E(5), D(6)), Around);
    assert_eq!(layers(&stack), "B / D / (D | C) / C / D");
    // An empty gap matches as well.
    assert_eq!(layers(&optimize!(make_stack!(A(1), E(5)), Around)), "B / C");
}

#[test]
fn what_stands_between_may_come_to_an_end() {
    assert_eq!(layers(&optimize!(make_stack!(A(1), D(2), E(3), B(4)), ToTheBottom)), "D / E / C");
    assert_eq!(layers(&optimize!(make_stack!(A(1), B(4)), ToTheBottom)), "C");
    assert_eq!(layers(&optimize!(make_stack!(A(1), B(4), D(2)), ToTheBottom)), "A / B / D");
}

#[test]
fn patterns_without_a_star_hold_at_the_ends_of_the_whole_stack() {
    let inside = || select!(A(1), B(1));
    assert_eq!(layers(&optimize!(make_stack!(A(1), A(2)), AtTheTop)), "B / A");
    assert_eq!(layers(&optimize!(make_stack!(C(0), A(1)), AtTheTop)), "C / A");
    assert_eq!(layers(&optimize!(make_stack!(A(1), A(2)), AtTheBottom)), "A / B");
    assert_eq!(layers(&optimize!(make_stack!(A(1), C(0)), AtTheBottom)), "A / C");
    assert_eq!(layers(&optimize!(make_stack!(inside()), AtTheTop, AtTheBottom)), "(A | B)");
}

#[test]
fn parameters_are_compared_unless_they_are_variables() {
    let stack = make_stack!(holder::<u8, Plain>(1), holder::<String, Plain>(2), holder::<u8, Fancy>(3));
    assert_eq!(layers(&optimize!(stack, PlainHolders)), "A / A / Holder");
    assert_eq!(layers(&optimize!(make_stack!(holder::<u8, Fancy>(1), B(2)), Sink)), "B / Holder");
    let lists = make_stack!(
        holder::<Vec<(u8, String)>, Plain>(1),
        holder::<Vec<(u8, u8)>, Plain>(2),
        holder::<Vec<(u8, String, u8)>, Plain>(3),
        holder::<String, Plain>(4)
    );
    assert_eq!(layers(&optimize!(lists, PairLists)), "A / Holder / Holder / Holder");
}

#[test]
fn a_condition_is_asked_of_each_match() {
    let stack = make_stack!(holder::<u8, Fancy>(1), holder::<u8, Plain>(2));
    assert_eq!(layers(&optimize!(stack, SmallIsE)), "Holder / E");
    let none = optimize!(make_stack!(holder::<u8, Fancy>(1)), SmallIsE);
    assert_eq!(
        notes(&none),
        ["SmallIsE: changed nothing: Holder stands there, but the pass's condition does not hold"]
    );
}

#[test]
fn a_match_does_not_reach_into_a_choice() {
    let stack =
        make_stack!(A(1), select!(B(2), make_stack!(A(3), B(4)), make_stack!(A(5), select!(B(6), B(7)))));
    let stack = optimize!(stack, AbIsC);
    assert_eq!(layers(&stack), "A / (B | C | A / (B | B))");
}

#[test]
fn passes_run_until_nothing_changes() {
    // The second pass makes the stack that the first pass looks for.
    let stack = optimize!(make_stack!(D(1)), AbIsC, DIsAb, NoC);
    assert_eq!(layers(&stack), "nothing");
    let changes = ["AbIsC: A / B became C", "DIsAb: D became A / B", "NoC: C became nothing"];
    assert_eq!(notes(&stack), changes.map(|change| format!("{change}{CHANGES_WIRE}")));
}

#[test]
fn a_pass_that_matches_nowhere_leaves_the_stack_and_its_type() {
    let plain = make_stack!(E(1), D(2));
    let stack = optimize!(make_stack!(E(1), D(2)), AbIsC);
    assert_eq!(notes(&stack), ["AbIsC: changed nothing: there is no A in the stack"]);
    assert!(stack.into_inner() == plain);
}

#[test]
fn an_optimized_stack_can_be_part_of_another() {
    let lower = optimize!(make_stack!(B(2)), AbIsC);
    let stack = optimize!(make_stack!(A(1), lower), AbIsC);
    assert_eq!(layers(&stack), "C");
}

#[test]
fn a_single_chunnel_and_a_choice_are_stacks_too() {
    assert_eq!(layers(&optimize!(C(1), NoC)), "nothing");
    assert_eq!(layers(&optimize!(select!(C(1), A(2)), NoC)), "(nothing | A)");
}
