//! The construction of the replacement from the matched Chunnels.

use super::parse::Subst;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Ident, Pat, Path, Type};

/// Returns a name of a value that the user's code does not see.
pub(super) fn own(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// Returns the names of the matched Chunnels, top first.
pub(super) fn matched(rule: &Subst) -> Vec<Ident> {
    (0..rule.pattern.chunnels().count()).map(|number| own(&format!("matched{number}"))).collect()
}

/// Returns the names of the Chunnels of the replacement, top first.
pub(super) fn replacing(rule: &Subst) -> Vec<Ident> {
    let name = |(number, chunnel): (usize, &Type)| {
        let mut name = own(&format!("replacing{number}"));
        name.set_span(name.span().located_at(chunnel.span()));
        name
    };
    rule.replacement.chunnels().enumerate().map(name).collect()
}

/// Returns statements that bind the names of the replacement, given the names of the matched Chunnels.
pub(super) fn bind(rule: &Subst, core: &Path) -> syn::Result<TokenStream> {
    let matched = matched(rule);
    let replacing = replacing(rule);
    match &rule.build {
        Some(closure) => Ok(by_closure(rule, closure, &matched, &replacing)),
        None => by_from(rule, core, &matched, &replacing),
    }
}

fn by_closure(
    rule: &Subst,
    closure: &syn::ExprClosure,
    matched: &[Ident],
    replacing: &[Ident],
) -> TokenStream {
    // The parameters are bound one by one and the closure is not called, since lints of the user's crate look
    // at the code that is generated there.
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

/// Keeps the Chunnels that stand on both sides, and makes a new Chunnel from the matched Chunnels that are
/// not kept.
fn by_from(rule: &Subst, core: &Path, matched: &[Ident], replacing: &[Ident]) -> syn::Result<TokenStream> {
    let text = |chunnel: &Type| chunnel.to_token_stream().to_string();
    let mut left: Vec<_> = rule.pattern.chunnels().zip(matched).collect();
    let mut kept = Vec::new();
    let mut new = Vec::new();
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
                <#chunnel as #core::pass::MadeOf<(#(#left_types,)*)>>::made_of
            };
            Ok(quote!(#(#kept)* let #name = #from((#(#left_names,)*));))
        }
        [_, (second, _), ..] => Err(Error::new_spanned(
            second,
            "only one new Chunnel can be made with `From`; say how to build all: `with |a, b| (First::new(a), Second::new(b))`",
        )),
    }
}
