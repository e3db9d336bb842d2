//! The guarantees that a Chunnel needs below it: `needs(Reliable)` or `needs = path`.

use crate::guarantee;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{ExprPath, Ident, Path, Token};

/// The argument of the attribute.
pub(crate) enum Needs {
    None,
    /// The guarantees of every value of the type.
    Listed(Vec<Ident>),
    /// The function that returns the set for a value.
    Of(ExprPath),
}

impl Needs {
    /// Reads the argument behind the word `needs`.
    pub(crate) fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<Self> {
        if meta.input.peek(Token![=]) {
            return Ok(Self::Of(meta.value()?.parse()?));
        }
        guarantee::list(meta.input).map(Self::Listed)
    }

    /// Returns the call that hands the guarantees to a `LayerInfo`.
    pub(crate) fn needing(&self, core: &Path) -> Option<TokenStream> {
        match self {
            Self::None => None,
            Self::Listed(names) => {
                let set = guarantee::set(names, core);
                Some(quote!(.needing(#core::guarantee::Set::of::<#set>())))
            }
            // An error about the function's type is reported where it stands.
            Self::Of(path) => {
                let this = quote!(self);
                Some(quote_spanned!(path.span()=> .needing(#path(#this))))
            }
        }
    }
}
