//! A rule written without the macro.

use super::*;

struct Fuse;

impl Pass for Fuse {
    const NAME: &'static str = "Fuse";
    type Weakens = ();
}

impl Rule for Fuse {
    type Pattern = Segment<(A, (B, ()))>;
}

impl<Captured> Guard<Captured> for Fuse {
    type Holds = True;
}

impl<Rest> Rewrite<(A, (B, ())), Rest> for Fuse {
    type Output = Stack<C, Rest>;

    fn rewrite(&self, (A(a), (B(b), ())): (A, (B, ())), rest: Rest) -> Stack<C, Rest> {
        Stack::from_parts(C(10 * a + b), rest)
    }
}

#[test]
fn a_rule_by_hand_rewrites_every_occurrence() {
    let choice = select!(make_stack!(A(5), B(6)), B(7));
    let stack = optimize!(make_stack!(A(1), B(2), make_stack!(A(3), B(4)), choice, A(8)), Fuse);
    assert_eq!(layers(&stack), "C / C / (C | B) / A");
    let once = "A / B became C";
    assert_eq!(notes(&stack), [format!("Fuse: {once}; {once}; {once}{CHANGES_WIRE}")]);
}
