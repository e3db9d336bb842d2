//! `#[derive(Identity)]`.

use crate::attributes::{arguments, full_name, version};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DeriveInput, ExprPath, Path};

pub(crate) fn derive(input: &DeriveInput, core: &Path) -> TokenStream {
    expand(input, core).unwrap_or_else(syn::Error::into_compile_error)
}

fn expand(input: &DeriveInput, core: &Path) -> syn::Result<TokenStream> {
    let (mut wire_version, mut capability, mut one_sided) = (1, None, false);
    arguments(&input.attrs, "chunnel", |meta| {
        if meta.path.is_ident("version") {
            wire_version = version(&meta)?;
        } else if meta.path.is_ident("capability") {
            capability = Some(meta.value()?.parse::<ExprPath>()?);
        } else if meta.path.is_ident("one_sided") {
            one_sided = true;
        } else {
            return Err(meta.error("expected `version = N`, `capability = path` or `one_sided`"));
        }
        Ok(())
    })?;

    let (ident, name) = (&input.ident, full_name(input));
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let id = id(&name, core);
    let layer = match capability {
        Some(path) => quote!(#core::Layer::with(<Self as #core::identity::Identity>::NAME, #path(self))),
        None => quote!(#core::Layer::plain(<Self as #core::identity::Identity>::NAME, #wire_version)),
    };
    let layer = if one_sided { quote!(#layer.one_sided()) } else { layer };
    Ok(quote! {
        impl #impl_generics #core::identity::Identity for #ident #type_generics #where_clause {
            type Id = #id;
            const NAME: &'static str = #name;
        }
        impl #impl_generics #core::Describe for #ident #type_generics #where_clause {
            fn describe(&self, into: &mut ::std::vec::Vec<#core::Node>) {
                into.push(#core::Node::Layer(#layer));
            }
        }
    })
}

/// The name's hash as nested pairs of digits, most significant first.
fn id(name: &str, core: &Path) -> TokenStream {
    let digits = format!("{:016X}", fnv1a(name.as_bytes()));
    digits.chars().rev().fold(quote!(()), |rest, digit| {
        let digit = format_ident!("D{digit}");
        quote!((#core::identity::#digit, #rest))
    })
}

/// FNV-1a, 64 bits: short, fixed for all time, and good enough to tell a few thousand names apart.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
