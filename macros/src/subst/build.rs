//! How the replacement is made of what matched.

use super::parse::Subst;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Ident, Pat, Type};

/// The names of what matched, top first.
pub(super) fn matched(rule: &Subst) -> Vec<Ident> {
    (0..rule.pattern.chunnels().count()).map(|number| format_ident!("matched{number}")).collect()
}

/// The names of what replaces it, top first.
pub(super) fn replacing(rule: &Subst) -> Vec<Ident> {
    (0..rule.replacement.chunnels().count()).map(|number| format_ident!("replacing{number}")).collect()
}

/// Statements that bind the names of the replacement, given those of what matched.
pub(super) fn bind(rule: &Subst) -> syn::Result<TokenStream> {
    let (matched, replacing) = (matched(rule), replacing(rule));
    match &rule.build {
        Some(closure) => Ok(by_closure(rule, closure, &matched, &replacing)),
        None => by_from(rule, &matched, &replacing),
    }
}

fn by_closure(
    rule: &Subst,
    closure: &syn::ExprClosure,
    matched: &[Ident],
    replacing: &[Ident],
) -> TokenStream {
    // Bound one by one rather than called, since lints of the user's crate look at what is generated there.
    let inputs = closure.inputs.iter().zip(rule.pattern.chunnels()).map(|(pattern, chunnel)| match pattern {
        Pat::Type(typed) => typed.to_token_stream(),
        pattern => quote!(#pattern: #chunnel),
    });
    let body = &closure.body;
    let types: Vec<_> = rule.replacement.chunnels().collect();
    let (made, made_types) = match (replacing, &types[..]) {
        ([one], [only]) => (quote!(#one), quote!(#only)),
        _ => (quote!((#(#replacing),*)), quote!((#(#types),*))),
    };
    quote_spanned! {body.span()=>
        let #made: #made_types = {
            #(let #inputs = #matched;)*
            #body
        };
    }
}

/// Chunnels that stand on both sides are kept; a new one is made of those that are not.
fn by_from(rule: &Subst, matched: &[Ident], replacing: &[Ident]) -> syn::Result<TokenStream> {
    let text = |chunnel: &Type| chunnel.to_token_stream().to_string();
    let mut left: Vec<_> = rule.pattern.chunnels().zip(matched).collect();
    let (mut kept, mut new) = (Vec::new(), Vec::new());
    for (chunnel, name) in rule.replacement.chunnels().zip(replacing) {
        match left.iter().position(|(other, _)| text(other) == text(chunnel)) {
            Some(position) => {
                let (_, same) = left.remove(position);
                kept.push(quote!(let #name = #same;));
            }
            None => new.push((chunnel, name)),
        }
    }
    let left_types = left.iter().map(|(chunnel, _)| chunnel);
    let left_names = left.iter().map(|(_, name)| name);
    match new[..] {
        [] => Ok(quote!(#(#kept)*)),
        [(chunnel, name)] => {
            let from = quote_spanned! {chunnel.span()=>
                <#chunnel as ::core::convert::From<(#(#left_types,)*)>>::from
            };
            Ok(quote!(#(#kept)* let #name = #from((#(#left_names,)*));))
        }
        [_, (second, _), ..] => Err(Error::new_spanned(
            second,
            "only one new Chunnel can be made with `From`; say how to build all: `with |a, b| (First::new(a), Second::new(b))`",
        )),
    }
}
