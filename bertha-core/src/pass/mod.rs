//! Optimisation passes: rewriting a stack while compiling.
//!
//! Two stacks may have the same effect at different cost: one Chunnel may do the work of two, or make another
//! unnecessary. A pass is a rule that replaces some Chunnels by others. A crate publishes the rule, and an
//! application applies it in one line, [`optimize!`](crate::optimize). The result is the stack that the
//! application could have written by hand, with the same connection type.
//!
//! # Writing a rule
//!
//! ```
//! use bertha_core::{Describe, Identity, make_stack, optimize, subst};
//!
//! #[derive(Identity)]
//! pub struct Pad;
//! #[derive(Identity)]
//! pub struct Checksum { bits: u8 }
//! #[derive(Identity)]
//! pub struct PaddedChecksum { bits: u8 }
//!
//! /// One walk over the message instead of two.
//! #[subst(if [*, Pad, Checksum, *] then [*, PaddedChecksum, *])]
//! pub struct ChecksumWhilePadding;
//!
//! impl From<(Pad, Checksum)> for PaddedChecksum {
//!     fn from((_, checksum): (Pad, Checksum)) -> Self {
//!         Self { bits: checksum.bits }
//!     }
//! }
//!
//! let stack = optimize!(make_stack!(Pad, Checksum { bits: 32 }), ChecksumWhilePadding);
//! assert_eq!(
//!     stack.explain().to_string(),
//!     "PaddedChecksum\n  ChecksumWhilePadding: Pad / Checksum became PaddedChecksum; \
//!      this changes the wire, so both ends need the pass",
//! );
//! ```
//!
//! [`subst`](crate::subst) describes the rules' language. A rule written by hand is an implementation of
//! [`Pass`], [`Rule`], [`Guard`] and [`Rewrite`], the traits that `subst` implements. A pass that is no rule
//! implements [`Pass`] and [`Apply`].
//!
//! # All stacks of a crate
//!
//! [`passes!`](crate::passes) at the root of a crate applies passes to each [`make_stack!`](crate::make_stack) of the
//! crate, so a new stack cannot be forgotten.
//!
//! # Where rules apply
//!
//! A rule applies at every position, and in every alternative of a [`select!`](crate::select), as often as it
//! matches; a match never reaches across the edge of a `select!`. After a replacement the rule goes on below
//! it. All passes run in the order in which they are written, and then again while any pass still changes
//! something. Passes that have no fixpoint within eight rounds are a compile error. A pass that matches
//! nowhere changes nothing.
//!
//! # Passes and the wire
//!
//! A pass that leaves the stack unchanged for the other end is needed on one end only. Such a pass adds,
//! drops or moves one-sided Chunnels, or its new Chunnel represents the replaced Chunnels by
//! `#[chunnel(layers = path)]`. A pass that drops, replaces or reorders two-sided Chunnels in any other way
//! changes the wire: both ends need it, and negotiation refuses an end without it. The pass's [`Report`] says
//! so, and so does [`explain`](crate::Describe::explain): "this changes the wire, so both ends need the
//! pass".
//!
//! # Limits of a pass
//!
//! A pass that drops a [guarantee](crate::guarantee) of the stack is a compile error, unless the pass declares it with
//! `weakens(..)` and the application writes `accepting (..)` behind the pass's name. If the Chunnels of a rewritten stack do
//! not fit together, the compiler's error names the passes beside the Chunnels, as part of [`Optimized`].

mod apply;
mod fixpoint;
mod flatten;
mod for_crate;
mod given;
mod occurs;
mod optimized;
mod pattern;
mod place;
mod report;
mod rewrite;
mod rule;
mod split;
mod verdict;
mod wire;

pub use apply::Apply;
pub use flatten::{Append, Flatten};
#[doc(hidden)]
pub use for_crate::{no_passes, optimize_for_crate};
pub use given::Given;
pub use optimized::{Optimize, Optimized, optimize};
pub use pattern::{Anything, End, Gap, Pattern, Segment};
pub use report::Report;
#[doc(hidden)]
pub use rule::MadeOf;
pub use rule::{Guard, Pass, Rewrite, Rule};

/// Rewrites a stack by optimisation passes: `optimize!(stack, FirstPass, SecondPass)`.
///
/// The passes are applied in order, and again while they change something; see [`pass`](crate::pass). The
/// application has to accept a pass that may drop a guarantee: `optimize!(stack, SkipTlsWhenLocal accepting
/// (Encrypted))`.
#[macro_export]
macro_rules! optimize {
    ($stack:expr, $($passes:tt)+) => {
        $crate::pass::optimize($crate::__passes!([] $($passes)+), $crate::plain_stack!($stack))
    };
    ($stack:expr $(,)?) => {
        compile_error!("optimize! needs at least one pass behind the stack: optimize!(stack, Pass)")
    };
    () => { compile_error!("optimize! needs a stack and at least one pass: optimize!(stack, Pass)") };
}

/// Turns the passes of `optimize!` into nested pairs. Gathers the words of a pass until a comma, `accepting`
/// or the end.
#[doc(hidden)]
#[macro_export]
macro_rules! __passes {
    ([]) => { () };
    ([$($pass:tt)+] accepting ($($guarantee:ident),* $(,)?) $(, $($rest:tt)*)?) => {
        (
            $crate::pass::Given::<_, $crate::__accepted!($($guarantee)*)>::new($($pass)+),
            $crate::__passes!([] $($($rest)*)?),
        )
    };
    ([$($pass:tt)+] accepting $($other:tt)*) => {
        compile_error!("behind `accepting` stand guarantees in parentheses: Pass accepting (Encrypted)")
    };
    ([$(::)? $first:ident $(:: $more:ident)*] $word:ident $($rest:tt)*) => {
        compile_error!("behind a pass stands `accepting (..)`, a comma or the end: Pass accepting (Encrypted), OtherPass")
    };
    ([$($pass:tt)+] $(, $($rest:tt)*)?) => {
        ($crate::pass::Given::<_, ()>::new($($pass)+), $crate::__passes!([] $($($rest)*)?))
    };
    ([$($pass:tt)*] $next:tt $($rest:tt)*) => { $crate::__passes!([$($pass)* $next] $($rest)*) };
}

/// Turns the passes of `passes!` into the type of these nested pairs. `__passes` reports the errors.
#[doc(hidden)]
#[macro_export]
macro_rules! __pass_types {
    ([]) => { () };
    ([$($pass:tt)+] accepting ($($guarantee:ident),* $(,)?) $(, $($rest:tt)*)?) => {
        (
            $crate::pass::Given<$($pass)+, $crate::__accepted!($($guarantee)*)>,
            $crate::__pass_types!([] $($($rest)*)?),
        )
    };
    ([$($pass:tt)+] accepting $($other:tt)*) => { () };
    ([$(::)? $first:ident $(:: $more:ident)*] $word:ident $($rest:tt)*) => { () };
    ([$($pass:tt)+] $(, $($rest:tt)*)?) => {
        ($crate::pass::Given<$($pass)+, ()>, $crate::__pass_types!([] $($($rest)*)?))
    };
    ([$($pass:tt)*] $next:tt $($rest:tt)*) => { $crate::__pass_types!([$($pass)* $next] $($rest)*) };
}

/// Turns the guarantees behind `accepting` into nested pairs.
#[doc(hidden)]
#[macro_export]
macro_rules! __accepted {
    () => { () };
    ($first:ident $($rest:ident)*) => { ($crate::guarantee::$first, $crate::__accepted!($($rest)*)) };
}

#[cfg(test)]
mod tests;
