//! Derives for Chunnel identity and capability, and the rules of passes: the parts that need a procedural macro.
//!
//! Use them through `bertha_core` or `bertha`, which re-export them. Each derive exists twice, since the code that it
//! makes has to name the crate that the user depends on.

#![forbid(unsafe_code)]

mod attributes;
mod capability;
mod entry;
mod guarantee;
mod identity;
mod needs;
#[cfg(test)]
mod refusal;
mod service;
mod standard;
mod subst;

use proc_macro::TokenStream;
use standard::Standard;
use syn::{Error, parse_macro_input, parse_quote};

#[doc = include_str!("docs/identity.md")]
#[proc_macro_derive(Identity, attributes(chunnel))]
pub fn identity(input: TokenStream) -> TokenStream {
    code_or_error(identity::derive(input.into(), &parse_quote!(::bertha_core)))
}

#[doc = include_str!("docs/identity.md")]
///
/// This form is for crates that depend on `bertha` instead of `bertha-core`.
#[proc_macro_derive(FacadeIdentity, attributes(chunnel))]
pub fn facade_identity(input: TokenStream) -> TokenStream {
    code_or_error(identity::derive(input.into(), &parse_quote!(::bertha::core)))
}

/// Identities for types of the standard library, for use in `bertha-core` alone.
#[doc(hidden)]
#[proc_macro]
pub fn standard_identities(types: TokenStream) -> TokenStream {
    standard::identities(&parse_macro_input!(types as Standard)).into()
}

#[doc = include_str!("docs/capability.md")]
#[proc_macro_derive(Capability, attributes(capability))]
pub fn capability(input: TokenStream) -> TokenStream {
    code_or_error(capability::derive(input.into(), &parse_quote!(::bertha_core)))
}

#[doc = include_str!("docs/capability.md")]
///
/// This form is for crates that depend on `bertha` instead of `bertha-core`.
#[proc_macro_derive(FacadeCapability, attributes(capability))]
pub fn facade_capability(input: TokenStream) -> TokenStream {
    code_or_error(capability::derive(input.into(), &parse_quote!(::bertha::core)))
}

#[doc = include_str!("docs/subst.md")]
#[proc_macro_attribute]
pub fn subst(rule: TokenStream, pass: TokenStream) -> TokenStream {
    subst::expand(rule.into(), pass.into(), &parse_quote!(::bertha_core)).into()
}

#[doc = include_str!("docs/subst.md")]
///
/// This form is for crates that depend on `bertha` instead of `bertha-core`.
#[proc_macro_attribute]
pub fn facade_subst(rule: TokenStream, pass: TokenStream) -> TokenStream {
    subst::expand(rule.into(), pass.into(), &parse_quote!(::bertha::core)).into()
}

/// Runs `async fn main` with `bertha::run`: on the runtime that the features of `bertha` select.
///
/// Each future that `main` awaits has to be `Send`, as in a task. If the runtime does not start, the program
/// prints the reason and ends with status 1.
#[proc_macro_attribute]
pub fn main(arguments: TokenStream, function: TokenStream) -> TokenStream {
    entry::expand(&arguments.into(), function.into()).into()
}

#[doc = include_str!("docs/service.md")]
///
/// This form is for crates that depend on `bertha-chunnels` instead of `bertha`.
#[proc_macro_attribute]
pub fn service(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let rpc = parse_quote!(::bertha_chunnels::rpc);
    code_or_error(service::expand(&arguments.into(), item.into(), &rpc))
}

#[doc = include_str!("docs/service.md")]
#[proc_macro_attribute]
pub fn facade_service(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let rpc = parse_quote!(::bertha::rpc);
    code_or_error(service::expand(&arguments.into(), item.into(), &rpc))
}

/// Returns the code of a macro, or code that makes the compiler report the error.
fn code_or_error(expanded: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expanded.unwrap_or_else(Error::into_compile_error).into()
}
