//! The parts of a rule: pattern, condition and replacement.

use super::pattern::Pattern;
use crate::guarantee::Guarantees;
use crate::identity::Bool;

/// An optimisation pass: the part that does not depend on its stack.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an optimisation pass",
    label = "not a pass",
    note = "`#[subst(if [..] then [..])]` makes a unit struct a pass; by hand, one implements `Pass` and `Apply`"
)]
pub trait Pass {
    /// The pass's name in reports.
    const NAME: &'static str;

    /// The guarantees that the pass may drop, `()` if none. An application has to accept them by name.
    type Weakens: Guarantees;
}

/// A pass that replaces some Chunnels by others wherever they match a pattern. [`subst`](crate::subst) makes
/// such passes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an optimisation pass for this stack",
    label = "neither a rule nor a pass that is applied by hand",
    note = "`#[subst(if [..] then [..])]` makes a unit struct a pass; by hand, one implements `Pass` and `Apply`"
)]
pub trait Rule: Pass {
    /// The pattern of the Chunnels that the rule looks for.
    type Pattern: Pattern;
}

/// The condition of a rule on the Chunnels that matched its pattern.
///
/// The condition is evaluated after the match, so it may use the types that matched: `type Holds = C::Fixed`.
#[diagnostic::on_unimplemented(
    message = "the rule `{Self}` does not say whether it applies to `{Captured}`",
    label = "a match of the pattern of `{Self}`",
    note = "a rule by hand implements `Guard<{Captured}>` for what its pattern matches, with `type Holds = True` if it always applies"
)]
pub trait Guard<Captured> {
    /// True if the rule applies.
    type Holds: Bool;
}

/// The replacement of the Chunnels `Captured`, which stood on `Rest`.
///
/// `Captured` holds the Chunnels that matched, top first, as nested pairs ended by `()`; a [`Gap`](super::Gap) gives a stack.
#[diagnostic::on_unimplemented(
    message = "the rule `{Self}` does not say what `{Captured}` becomes",
    label = "a match of the pattern of `{Self}`",
    note = "a rule by hand implements `Rewrite<{Captured}, Rest>` for what its pattern matches and every `Rest`",
    note = "a variable that stands twice in a rule of `subst` has to be the same type where the pattern matches"
)]
pub trait Rewrite<Captured, Rest> {
    /// The stack that replaces them, `Rest` included.
    type Output;

    /// Builds the stack.
    fn rewrite(&self, captured: Captured, rest: Rest) -> Self::Output;
}

/// `From`, where a rule makes its new Chunnel from Chunnels that matched and are not kept.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be made of what the rule replaces, `{Matched}`",
    label = "the rule does not say how to make it",
    note = "implement `From<{Matched}>` for `{Self}`, or build it in the rule: `then [..] with |a, b| ..`"
)]
pub trait MadeOf<Matched> {
    fn made_of(matched: Matched) -> Self;
}

#[diagnostic::do_not_recommend]
impl<Matched, Made: From<Matched>> MadeOf<Matched> for Made {
    fn made_of(matched: Matched) -> Self {
        matched.into()
    }
}
