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

/// Gives a Chunnel its identity (crate and type name), and describes it to the other end.
///
/// By default a Chunnel is compatible with the same Chunnel in the same version. Attributes:
///
/// * `#[chunnel(version = 2)]`: the version of its wire format; 1 otherwise. A capability has a version of its own.
/// * `#[chunnel(capability = path)]`: a function from `&Self` to a `Capability` that is compared instead.
/// * `#[chunnel(layers = path)]`: a function from `&Self` to the `LayerInfo`s or `Node`s, top first, that the
///   other end sees in place of this Chunnel's own layer: for a Chunnel that does the work of several
///   Chunnels and communicates with ends that have those Chunnels. Each layer then has its own version,
///   capability and needs.
/// * `#[chunnel(guarantees(Reliable, Ordered))]`: its guarantees; see `bertha_core::guarantee`. None otherwise.
/// * `#[chunnel(withdraws(Encrypted, Ordered))]`: the guarantees of the layers below it that it breaks, as a Chunnel does whose messages go
///   around these layers; see `bertha_core::guarantee`. None otherwise. The stack of an end without a `one_sided` Chunnel does not show
///   what that Chunnel withdraws.
/// * `#[chunnel(adds = path)]`: a function from `&Self` to the `Set` of guarantees that it gives besides, in its configuration.
///   Passes do not see them.
/// * `#[chunnel(needs(Reliable))]`: the guarantees that it needs below it, else connections are refused; `needs = path` names a
///   function from `&Self` to a `Set` instead. None otherwise.
/// * `#[chunnel(one_sided)]`: it changes nothing that the peer could see, and needs no counterpart there; so it has no
///   capability to compare.
/// * `#[chunnel(no_early_data)]`: it is not idempotent, and takes no message that a client sent before the
///   server had answered, since an attacker may replay such messages. It gets only messages from after the
///   answer.
/// * `#[chunnel(parameter)]`: the type is a parameter of a Chunnel, such as a codec, and gets an identity
///   alone.
#[proc_macro_derive(Identity, attributes(chunnel))]
pub fn identity(input: TokenStream) -> TokenStream {
    code_or_error(identity::derive(input.into(), &parse_quote!(::bertha_core)))
}

/// `Identity` for crates that depend on `bertha` instead of `bertha-core`.
#[doc(hidden)]
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
    code_or_error(capability::derive(input.into(), &parse_quote!(::bertha_core)))
}

/// `Capability` for crates that depend on `bertha` instead of `bertha-core`.
#[doc(hidden)]
#[proc_macro_derive(FacadeCapability, attributes(capability))]
pub fn facade_capability(input: TokenStream) -> TokenStream {
    code_or_error(capability::derive(input.into(), &parse_quote!(::bertha::core)))
}

/// Makes a unit struct an optimisation pass that replaces some Chunnels by others.
///
/// ```text
/// #[subst(if [*, Pad, Checksum, *] then [*, PaddedChecksum, *])]
/// pub struct ChecksumWhilePadding;
/// ```
///
/// * **Pattern.** Types of Chunnels, top first. `*` stands for any number of Chunnels, which stay as they are. Without a
///   `*` at the beginning or the end, the pattern matches only at the top or the bottom of the whole stack.
/// * **Variables.** `for<T, C: Codec<T>> if [*, Serialize<T, C>, *] ..` matches every `Serialize`. A type that is no
///   variable is compared, parameters included; such a type needs an identity, which `#[derive(Identity)]` gives
///   and most types of the standard library have. Constants can be variables only. A variable that stands twice has to
///   be the same type wherever the pattern matches, else the use of the pass is an error. A Chunnel whose declaration
///   bounds its parameters can't have variables there, but for bounds such as `Clone` and `Ord` from `core`.
/// * **Condition.** `if [..] when C::Fixed then [..]`: a type that is `bertha_core::identity::True` or `False`. It may use
///   the variables of the pattern.
/// * **Replacement.** No Chunnel, one Chunnel or several, and the same `*`s in the same order. A Chunnel that
///   stands on both sides is kept. A new Chunnel is made by `From` of a tuple of the matched Chunnels that
///   are not kept.
/// * **Closure.** `then [*, C, D, *] with |a, b| (C::new(a), D::new(b))` builds the replacement instead: it takes the Chunnels
///   that matched, and returns the new Chunnel, or a tuple of all new Chunnels.
/// * **The wire.** A rule that drops, replaces or reorders two-sided Chunnels changes the wire, so both ends
///   need it. Its report says so, and so does `explain()`. A new Chunnel with `layers` keeps the wire format
///   of the Chunnels that it replaces.
/// * **Guarantees.** `, weakens(Encrypted)` lists the guarantees that the pass may drop. Applications have to accept them.
/// * **Bounds.** `where C: Codec<T, Key = KeyAt<N>>`, at the end, holds for the replacement. It may determine variables that are
///   not in the pattern. It has to hold wherever the pattern matches and the condition holds.
#[proc_macro_attribute]
pub fn subst(rule: TokenStream, pass: TokenStream) -> TokenStream {
    subst::expand(rule.into(), pass.into(), &parse_quote!(::bertha_core)).into()
}

/// `subst` for crates that depend on `bertha` instead of `bertha-core`.
#[doc(hidden)]
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

/// Makes a typed client and a typed server of a trait, for calls over `bertha::rpc`.
///
/// ```text
/// #[bertha::service]
/// pub trait Greeter {
///     /// A greeting, with one response.
///     #[idempotent]
///     async fn greet(&self, name: String) -> String;
///
///     /// A stream of responses.
///     fn count(&self, to: u32) -> impl Stream<Item = u32>;
/// }
/// ```
///
/// * `GreeterClient::new(client)` has the same methods, which return `Result<_, Failure>`: a response, or `Responses`.
/// * `GreeterServer::new(implementation)` is a `Service`, for `rpc::serve`. The implementation has the
///   methods as the trait declares them.
/// * Arguments and responses have serde's `Serialize` and `Deserialize`, and own their data; responses are `Sync`. A method that can fail
///   returns a `Result` of its own.
/// * `#[idempotent]` says that two runs of a call have the same effect as one run: only such a call is
///   repeated if it may have run.
///
/// Methods are called by the names of trait and method, so both ends need the same names; the order does not
/// matter.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn facade_service(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let rpc = parse_quote!(::bertha::rpc);
    code_or_error(service::expand(&arguments.into(), item.into(), &rpc))
}

/// Returns the code of a macro, or code that makes the compiler report the error.
fn code_or_error(expanded: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expanded.unwrap_or_else(Error::into_compile_error).into()
}
