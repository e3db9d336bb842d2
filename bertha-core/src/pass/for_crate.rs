//! Passes for all stacks of a crate.

use super::optimized::Optimize;
use std::panic::Location;

/// Names the optimisation passes of a crate: every [`make_stack!`](crate::make_stack) of the crate is rewritten by
/// them, wherever it stands.
///
/// The line stands once, at the root of the crate. A program's `main.rs`, its `lib.rs`, and each of its integration
/// tests, examples and documentation tests are crates of their own. A pass is the path of a unit struct; `accepting` stands behind it as in
/// [`optimize!`](crate::optimize). [`plain_stack!`](crate::plain_stack) makes a stack without the passes.
///
/// ```standalone_crate
/// mod checking {
///     use bertha_core::{Identity, subst};
///
///     #[derive(Identity)]
///     pub struct Pad;
///     #[derive(Identity)]
///     pub struct Checksum;
///     #[derive(Identity)]
///     pub struct PaddedChecksum;
///
///     /// One walk over the message instead of two.
///     #[subst(if [*, Pad, Checksum, *] then [*, PaddedChecksum, *] with |_, _| PaddedChecksum)]
///     pub struct ChecksumWhilePadding;
/// }
///
/// bertha_core::passes!(checking::ChecksumWhilePadding);
///
/// mod client {
///     use super::checking::{Checksum, Pad};
///     use bertha_core::{Describe, make_stack, plain_stack};
///
///     pub fn connect() {
///         assert!(make_stack!(Pad, Checksum).explain().to_string().starts_with("PaddedChecksum\n"));
///         assert_eq!(plain_stack!(Pad, Checksum).explain().to_string(), "Pad / Checksum");
///     }
/// }
///
/// fn main() {
///     client::connect();
/// }
/// ```
///
/// # Parts of a stack
///
/// A stack that is an element of another stack has been rewritten when it was made. It is rewritten again as a part of
/// the whole, and the reports of both are kept. A rule for the top or the bottom of a stack applies to the part as
/// well; a part that it should see within its whole alone is made by [`plain_stack!`](crate::plain_stack).
///
/// # Limits
///
/// A rewritten stack is made at run time, and its type is [`Optimized`](crate::Optimized). A constant, and a field or a
/// result whose type is written as `Stack<..>`, need [`plain_stack!`](crate::plain_stack).
///
/// # Reports
///
/// [`explain`](crate::Describe::explain) shows what each pass has changed, and the line of the
/// [`make_stack!`](crate::make_stack). Passes that change nothing in a stack do not appear in it;
/// [`Optimized::reports`](crate::Optimized::reports) has their reasons. As a stack is made, an event of `tracing` tells
/// each change: `RUST_LOG=bertha::passes=debug` shows the changes of a whole application, and
/// `RUST_LOG=bertha::passes=trace` also the passes that changed nothing.
#[allow(clippy::crate_in_macro_def, reason = "the root is that of the calling crate")]
#[macro_export]
macro_rules! passes {
    ($($passes:tt)+) => {
        // First, for its name to begin the errors. In a module or in a function, `make_stack!` would not find the passes.
        #[doc(hidden)]
        struct PassesStandOnceAtTheRootOfTheCrate;
        const _: crate::PassesStandOnceAtTheRootOfTheCrate = PassesStandOnceAtTheRootOfTheCrate;

        #[doc(hidden)]
        type __BerthaPasses = $crate::__pass_types!([] $($passes)+);

        #[doc(hidden)]
        #[track_caller]
        fn __bertha_passes<S: $crate::pass::Optimize<__BerthaPasses>>(stack: S) -> S::Output {
            $crate::pass::optimize_for_crate($crate::__passes!([] $($passes)+), stack)
        }

    };
    () => { compile_error!("passes! needs at least one pass: passes!(Pass)"); };
}

/// The function that [`make_stack!`](crate::make_stack) finds in a crate without passes.
#[doc(hidden)]
pub mod no_passes {
    #[inline(always)]
    pub const fn __bertha_passes<S>(stack: S) -> S {
        stack
    }
}

/// Rewrites `stack` by the passes of a crate; [`passes!`](crate::passes) calls it.
#[doc(hidden)]
#[track_caller]
pub fn optimize_for_crate<Passes, S: Optimize<Passes>>(passes: Passes, stack: S) -> S::Output {
    stack.optimize_at(&passes, Location::caller(), true)
}
