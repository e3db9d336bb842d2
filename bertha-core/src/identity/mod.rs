//! The identity of a Chunnel type, as a type.
//!
//! An optimisation pass has to find out, while compiling, whether two Chunnel types are the same one. Stable Rust has
//! no comparison of types, so each Chunnel carries a number in its type, derived from crate and name, of which two
//! can be compared digit by digit. `#[derive(Identity)]` makes it.

mod digit;

pub use digit::*;

/// A Chunnel type with a name and a type-level number.
pub trait Identity {
    /// The number: sixteen hexadecimal digits as a nested pair, most significant first, ended by `()`.
    type Id;

    /// Crate and type name, as in `bertha-chunnels::Serialize`: unique, since names in the registry are.
    const NAME: &'static str;
}

/// Type-level true.
#[derive(Debug)]
pub enum True {}

/// Type-level false.
#[derive(Debug)]
pub enum False {}

/// A type-level truth value.
pub trait Bool {
    /// The same at run time.
    const VALUE: bool;
    /// Whether both are true.
    type And<Other: Bool>: Bool;
}

impl Bool for True {
    const VALUE: bool = true;
    type And<Other: Bool> = Other;
}

impl Bool for False {
    const VALUE: bool = false;
    type And<Other: Bool> = False;
}

/// Whether two identities are equal, as [`True`] or [`False`].
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

impl<A: Same<B>, As: Same<Bs>, B, Bs> Same<(B, Bs)> for (A, As) {
    type Is = <A::Is as Bool>::And<As::Is>;
}
