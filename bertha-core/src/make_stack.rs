//! The macros that make stacks.

/// Makes a Chunnel stack of any length, top first: a sent message passes through the first Chunnel first, and reaches the
/// datapath last. An element may itself be a stack, or a [`select!`](crate::select).
///
/// If the crate names optimisation passes by [`passes!`](crate::passes), they are applied to the stack. An empty stack stays empty.
///
/// # Depth
///
/// Any number of layers may be stacked if they return the future from below. Layers whose `send` and `recv`
/// are `async fn`s that await that future nest their futures' types; from about eighteen such layers, the
/// crate that uses the stack needs `#![recursion_limit = "256"]`.
///
/// ```
/// # use bertha_core::{Describe, Identity, make_stack};
/// # #[derive(Identity)] struct Order; #[derive(Identity)] struct Batch;
/// let stack = make_stack!(Order, Batch);
/// assert_eq!(stack.explain().to_string(), "Order / Batch");
/// ```
// `crate` is the crate that makes the stack: the passes are at its root, if there are any. A glob import of an
// inner block goes before that of an outer block, so a root without passes leaves the function that does nothing.
// The elements stand outside of both blocks, and see neither import. An `allow` for an import without a use would be an
// error in a crate that forbids them, whereas the lint passes over the macros of other crates.
#[allow(clippy::crate_in_macro_def, reason = "the passes are those of the calling crate")]
#[macro_export]
macro_rules! make_stack {
    // A constant, which may be borrowed in a longer expression, unlike a function's result. Passes do not see it.
    () => { $crate::Bottom };
    ($($elements:tt)*) => {
        ({
            use $crate::pass::no_passes::*;
            {
                    use crate::*;
                __bertha_passes
            }
        })($crate::plain_stack!($($elements)*))
    };
}

/// Makes a Chunnel stack as [`make_stack!`](crate::make_stack) does, but leaves it as it is written in a crate
/// that names optimisation passes by [`passes!`](crate::passes).
///
/// The stack, as a part of another one of [`make_stack!`](crate::make_stack) or [`optimize!`](crate::optimize), is
/// rewritten with that stack.
#[macro_export]
macro_rules! plain_stack {
    () => { $crate::Bottom };
    // Eight elements are taken at a time, so that the compiler's recursion limit of 128 allows for a thousand
    // elements.
    ($a:expr, $b:expr, $c:expr, $d:expr, $e:expr, $f:expr, $g:expr, $h:expr, $($rest:expr),+ $(,)?) => {
        $crate::Stack::new($a, $crate::Stack::new($b, $crate::Stack::new($c, $crate::Stack::new($d,
        $crate::Stack::new($e, $crate::Stack::new($f, $crate::Stack::new($g, $crate::Stack::new($h,
            $crate::plain_stack!($($rest),+)))))))))
    };
    ($head:expr $(, $rest:expr)* $(,)?) => { $crate::Stack::new($head, $crate::plain_stack!($($rest),*)) };
}
