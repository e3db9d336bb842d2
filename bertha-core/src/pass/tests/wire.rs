//! Reports of passes that only one end applies, and of passes that both ends need.

use super::*;
use crate::LayerInfo;

/// A one-sided Chunnel.
#[derive(Debug, Identity)]
#[chunnel(one_sided)]
struct Count;

/// A Chunnel that does the work of an `A` on a `B`, with the same wire format.
#[derive(Debug, Identity)]
#[chunnel(layers = Self::layers)]
struct Both;

impl Both {
    fn layers(&self) -> [LayerInfo; 2] {
        [LayerInfo::plain(A::NAME, 1), LayerInfo::plain(B::NAME, 1)]
    }
}

#[subst(if [*, A, B, *] then [*, B, A, *])]
struct Reorder;

#[subst(if [*, A, Count, *] then [*, Count, A, *])]
struct CountFirst;

#[subst(if [*, Count, *] then [*, *])]
struct NoCount;

#[subst(if [*, A, B, *] then [*, Both, *] with |_, _| Both)]
struct Fuse;

/// Returns the only note, and true if the report says that the wire changes.
fn note<S, P>(stack: &Optimized<S, P>) -> String {
    let [report] = stack.reports() else { panic!("several passes") };
    let note = report.to_string();
    assert_eq!(note.ends_with(CHANGES_WIRE), report.changes_wire(), "{note}");
    note
}

#[test]
fn two_sided_chunnels_in_another_order_change_the_wire() {
    let stack = optimize!(make_stack!(A(1), B(2)), Reorder);
    assert_eq!(note(&stack), format!("Reorder: A / B became B / A{CHANGES_WIRE}"));
    let inside = optimize!(make_stack!(select!(make_stack!(A(1), B(2)), C(3))), Reorder);
    assert!(note(&inside).ends_with(CHANGES_WIRE));
}

#[test]
fn one_sided_chunnels_do_not_change_the_wire() {
    assert_eq!(
        note(&optimize!(make_stack!(A(1), Count, B(2)), CountFirst)),
        "CountFirst: A / Count became Count / A"
    );
    assert_eq!(note(&optimize!(make_stack!(A(1), Count), NoCount)), "NoCount: Count became nothing");
}

#[test]
fn a_chunnel_that_speaks_as_those_it_replaces_does_not_change_the_wire() {
    assert_eq!(note(&optimize!(make_stack!(A(1), B(2)), Fuse)), "Fuse: A / B became Both(A / B)");
}
