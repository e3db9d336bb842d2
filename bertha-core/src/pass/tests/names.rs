//! Names in user code that the expansion of `subst` might use as well.

use super::*;

chunnels!(Rest Captured);

fn rest(number: u32) -> u32 {
    number + 1
}

#[subst(if [*, Rest, *, Captured, *] then [*, Captured, *, Rest, *] with |a, b| (Captured(rest(a.0)), Rest(b.0)))]
struct Gap0;

#[test]
fn rules_may_use_any_name() {
    let stack = optimize!(make_stack!(Rest(1), A(5), Captured(3)), Gap0);
    assert_eq!(layers(&stack), "Captured / A / Rest");
    assert_eq!(stack.into_inner().head().0, 2);
}
