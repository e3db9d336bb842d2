//! Lists of guarantees, as in `guarantees(Reliable, Ordered)` and `weakens(Encrypted)`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Error, Ident, Path, Token, parenthesized};

const GUARANTEES: [&str; 8] = [
    "Encrypted",
    "Authenticated",
    "Reliable",
    "Ordered",
    "AtMostOnce",
    "IntegrityChecked",
    "ForwardSecret",
    "PeerIdentified",
];

/// Reads a list in parentheses.
pub(crate) fn list(input: ParseStream<'_>) -> syn::Result<Vec<Ident>> {
    if !input.peek(syn::token::Paren) {
        return Err(input.error("expected guarantees in parentheses: `(Encrypted, Ordered)`"));
    }
    let content;
    parenthesized!(content in input);
    let names = Punctuated::<Ident, Token![,]>::parse_terminated(&content)?;
    for name in &names {
        if !GUARANTEES.contains(&name.to_string().as_str()) {
            let expected = GUARANTEES.map(|name| format!("`{name}`")).join(", ");
            let what = format!("`{name}` is no guarantee; expected any of {expected}");
            return Err(Error::new(name.span(), what));
        }
    }
    Ok(names.into_iter().collect())
}

/// Returns the list as a set on the level of types.
pub(crate) fn set(names: &[Ident], core: &Path) -> TokenStream {
    names.iter().rev().fold(quote!(()), |rest, name| quote!((#core::guarantee::#name, #rest)))
}
