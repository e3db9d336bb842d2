//! `#[derive(Capability)]`.

use crate::attributes::{arguments, full_name, version};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, ExprPath, Member, Path, parse2};

enum Comparison {
    Exact,
    Overlap,
    Own(ExprPath),
}

/// # Errors
/// The first mistake in the attributes.
pub(crate) fn derive(input: TokenStream, core: &Path) -> syn::Result<TokenStream> {
    let input = &parse2::<DeriveInput>(input)?;
    let mut wire_version = 1;
    let mut comparison = None;
    let mut label = None;
    arguments(&input.attrs, "capability", |meta| {
        if meta.path.is_ident("version") {
            wire_version = version(&meta)?;
            return Ok(());
        }
        if meta.path.is_ident("label") {
            label = Some(meta.value()?.parse::<ExprPath>()?);
            return Ok(());
        }
        let chosen = if meta.path.is_ident("exact") {
            Comparison::Exact
        } else if meta.path.is_ident("overlap") {
            Comparison::Overlap
        } else if meta.path.is_ident("compare") {
            Comparison::Own(meta.value()?.parse()?)
        } else {
            return Err(
                meta.error("expected `exact`, `overlap`, `compare = path`, `label = path` or `version = N`")
            );
        };
        match comparison.replace(chosen) {
            None => Ok(()),
            Some(_) => Err(meta.error("a capability has one comparison; remove one of them")),
        }
    })?;
    let Some(comparison) = comparison else {
        let what = "say how it is compared: #[capability(exact)], #[capability(overlap)] or #[capability(compare = path)]";
        return Err(Error::new_spanned(&input.ident, what));
    };

    let body = match comparison {
        Comparison::Exact => quote!(#core::capability::exact(self, other)),
        Comparison::Own(path) => quote!(#path(self, other)),
        Comparison::Overlap => {
            let fields = fields(input)?;
            quote!(#(#core::capability::overlap(&self.#fields, &other.#fields)?;)* ::std::result::Result::Ok(()))
        }
    };
    let label = label.map(|path| {
        quote! {
            fn label(&self) -> ::std::option::Option<::std::string::String> {
                ::std::option::Option::Some(#path(self).into())
            }
        }
    });
    let ident = &input.ident;
    let name = full_name(input);
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        impl #impl_generics #core::Capability for #ident #type_generics #where_clause {
            const ID: &'static str = #name;
            const VERSION: u16 = #wire_version;

            #label

            fn compatible(&self, other: &Self) -> ::std::result::Result<(), #core::Mismatch> {
                #body
            }
        }
    })
}

fn fields(input: &DeriveInput) -> syn::Result<Vec<Member>> {
    match &input.data {
        Data::Struct(data) => Ok(data.fields.members().collect()),
        _ => Err(Error::new_spanned(&input.ident, "`overlap` needs a struct whose fields are sets or lists")),
    }
}

#[cfg(test)]
mod tests {
    use crate::refusal;
    use syn::parse_quote;

    #[track_caller]
    fn refuses(source: &str, message: &str) {
        refusal::refuses(|source| super::derive(source, &parse_quote!(::bertha_core)), source, message);
    }

    #[test]
    fn a_capability_has_one_comparison() {
        refuses(
            "struct «None»(u32);",
            "say how it is compared: #[capability(exact)], #[capability(overlap)] or #[capability(compare = path)]",
        );
        refuses(
            "#[capability(exact, «overlap»)] struct Two(u32);",
            "a capability has one comparison; remove one of them",
        );
        refuses(
            "#[capability(«equal»)] struct Unknown(u32);",
            "expected `exact`, `overlap`, `compare = path`, `label = path` or `version = N`",
        );
    }

    #[test]
    fn variants_do_not_overlap() {
        refuses(
            "#[capability(overlap)] enum «Ciphers» { Aes, ChaCha }",
            "`overlap` needs a struct whose fields are sets or lists",
        );
    }
}
