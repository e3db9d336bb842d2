//! The identity of a Chunnel type, as a type.
//!
//! An optimisation pass has to find out, while compiling, whether two Chunnel types are the same type. Stable
//! Rust has no comparison of types, so each Chunnel carries a number in its type, derived from crate and
//! name; passes compare two numbers digit by digit. `#[derive(Identity)]` makes the number.

mod digit;
pub mod kind;
mod standard;

pub use digit::*;

use crate::guarantee::Guarantees;
pub use crate::truth::{Bool, False, True};

/// The properties of a Chunnel type that passes use during compilation: a name, a type-level number, parameters,
/// guarantees and a kind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no identity",
    label = "not a type that passes can tell from others",
    note = "a Chunnel gets one by `#[derive(Identity)]`; so does a type that a pass names as a parameter of a Chunnel, with `#[chunnel(parameter)]` beside it"
)]
pub trait Identity {
    /// The number: sixteen hexadecimal digits as a nested pair, most significant first, ended by `()`.
    type Id;

    /// The type's own type parameters, in order, as a nested pair ended by `()`.
    type Parameters;

    /// The guarantees of the Chunnel.
    type Guarantees: Guarantees;

    /// The kind of element that the type is in a stack: [`Layer`](kind::Layer) for every Chunnel.
    type Kind: kind::Kind;

    /// Crate and type name, as in `bertha-chunnels::Serialize`. The name is unique, since crate names in the
    /// registry are unique.
    const NAME: &'static str;
}

/// The identity of a type that is no Chunnel and is never compared, such as a whole stack. A derive produces
/// this number only by accident.
#[rustfmt::skip]
pub type Reserved =
    (D0, (D0, (D0, (D0, (D0, (D0, (D0, (D0, (D0, (D0, (D0, (D0, (D0, (D0, (D0, (D0, ()))))))))))))))));

/// The comparison of two identities, as [`True`] or [`False`].
///
/// ```
/// # use bertha_core::identity::{Bool, Same};
/// # use bertha_core::Identity;
/// #[derive(Identity)] struct Zip;
/// #[derive(Identity)] struct Tag;
/// type Equal<A, B> = <<A as Identity>::Id as Same<<B as Identity>::Id>>::Is;
/// assert!(Equal::<Zip, Zip>::VALUE);
/// assert!(!Equal::<Zip, Tag>::VALUE);
/// ```
pub trait Same<Other> {
    /// The result.
    type Is: Bool;
}

impl Same<()> for () {
    type Is = True;
}

impl<A: Same<B>, As: SameIf<A::Is, Bs>, B, Bs> Same<(B, Bs)> for (A, As) {
    type Is = As::Is;
}

/// [`Same`], evaluated only if all earlier digits are equal: most pairs of identities differ in the first
/// digit, and the compiler can skip the remaining digits.
#[doc(hidden)]
pub trait SameIf<So, Other> {
    /// The result.
    type Is: Bool;
}

impl<Digits, Other> SameIf<False, Other> for Digits {
    type Is = False;
}

impl<Digits: Same<Other>, Other> SameIf<True, Other> for Digits {
    type Is = Digits::Is;
}
