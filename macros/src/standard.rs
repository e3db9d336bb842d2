//! Identities of the standard library's types, which rules name as parameters of Chunnels.

use crate::identity::implementation;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{Error, Generics, Token, Type, parse_quote};

/// Types, separated by commas. The types in their `<..>` or tuples are their parameters.
pub(crate) struct Standard(Punctuated<Type, Token![,]>);

impl Parse for Standard {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Punctuated::parse_terminated(input).map(Self)
    }
}

pub(crate) fn identities(types: &Standard) -> TokenStream {
    let core = parse_quote!(::bertha_core);
    let identity = |of: &Type| -> syn::Result<TokenStream> {
        let name = format!("std::{}", name(of)?);
        let identity =
            implementation(of, &parameters(of), &name, &format_ident!("Parameter"), &quote!(()), &core);
        // A list of these types does not help a user with a type that lacks the derive.
        Ok(quote!(#[diagnostic::do_not_recommend] #identity))
    };
    types.0.iter().map(|of| identity(of).unwrap_or_else(Error::into_compile_error)).collect()
}

/// `Vec` of `Vec<T>`, `(,)` of `(A, B)`.
fn name(of: &Type) -> syn::Result<String> {
    match of {
        Type::Path(path) => Ok(path.path.segments.iter().map(|segment| segment.ident.to_string()).collect()),
        Type::Tuple(tuple) => Ok(format!("({})", ",".repeat(tuple.elems.len().saturating_sub(1)))),
        other => Err(Error::new_spanned(other, "expected a path or a tuple")),
    }
}

/// Returns the types within the type.
fn parameters(of: &Type) -> Generics {
    struct Found(Generics);

    impl VisitMut for Found {
        fn visit_type_mut(&mut self, node: &mut Type) {
            let name = node.to_token_stream();
            self.0.params.push(parse_quote!(#name));
        }
    }

    let mut found = Found(Generics::default());
    match &mut of.clone() {
        Type::Path(path) => found.visit_path_mut(&mut path.path),
        tuple => visit_mut::visit_type_mut(&mut found, tuple),
    }
    found.0
}
