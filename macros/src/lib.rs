//! Derives for Chunnel identity and capability: what only a procedural macro can do.
//!
//! Use them through `bertha_core` or `bertha`, which re-export them. Each derive exists twice, since the code that it
//! makes has to name the crate that the user depends on.

#![forbid(unsafe_code)]

mod attributes;
mod capability;
mod identity;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input, parse_quote};

/// Gives a Chunnel its identity (crate and type name), and describes it to the other end.
///
/// By default a Chunnel is compatible with the same Chunnel in the same version. Attributes:
///
/// * `#[chunnel(version = 2)]`: the version of its wire format; 1 otherwise.
/// * `#[chunnel(capability = path)]`: a function from `&Self` to a `Capability` that is compared instead.
/// * `#[chunnel(one_sided)]`: it changes nothing that the peer could see, and needs no counterpart there.
#[proc_macro_derive(Identity, attributes(chunnel))]
pub fn identity(input: TokenStream) -> TokenStream {
    identity::derive(&parse_macro_input!(input as DeriveInput), &parse_quote!(::bertha_core)).into()
}

/// `Identity` for whoever depends on `bertha` instead of `bertha-core`.
#[doc(hidden)]
#[proc_macro_derive(FacadeIdentity, attributes(chunnel))]
pub fn facade_identity(input: TokenStream) -> TokenStream {
    identity::derive(&parse_macro_input!(input as DeriveInput), &parse_quote!(::bertha::core)).into()
}

/// Makes a type a capability, with its identity (crate and type name), version and comparison.
///
/// * `#[capability(exact)]`: compatible if equal; the type needs `PartialEq`.
/// * `#[capability(overlap)]`: compatible if every field has an element in common with the other end's.
/// * `#[capability(compare = path)]`: a function from two references to `Result<(), Mismatch>` decides.
/// * `#[capability(.., version = 2)]`: the version of its encoding; 1 otherwise.
/// * `#[capability(.., label = path)]`: a function from `&Self` to a string that a person reads behind the Chunnel's name.
///
/// The type also needs serde's `Serialize` and `Deserialize`, and `Debug`.
#[proc_macro_derive(Capability, attributes(capability))]
pub fn capability(input: TokenStream) -> TokenStream {
    capability::derive(&parse_macro_input!(input as DeriveInput), &parse_quote!(::bertha_core)).into()
}

/// `Capability` for whoever depends on `bertha` instead of `bertha-core`.
#[doc(hidden)]
#[proc_macro_derive(FacadeCapability, attributes(capability))]
pub fn facade_capability(input: TokenStream) -> TokenStream {
    capability::derive(&parse_macro_input!(input as DeriveInput), &parse_quote!(::bertha::core)).into()
}
