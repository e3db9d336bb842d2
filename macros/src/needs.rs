//! What a Chunnel needs below it: `needs(Reliable)` or `needs = path`.

use crate::guarantee;
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::{Error, ExprPath, Ident, Path, Token};

/// What the attribute says.
pub(crate) enum Needs {
    None,
    /// The same for every value of the type.
    Listed(Vec<Ident>),
    /// What this function says of the value.
    Of(ExprPath),
}

impl Needs {
    /// Reads what stands behind the word `needs`.
    pub(crate) fn read(meta: &ParseNestedMeta<'_>) -> syn::Result<Self> {
        if meta.input.peek(Token![=]) {
            return Ok(Self::Of(meta.value()?.parse()?));
        }
        guarantee::list(meta.input).map(Self::Listed)
    }

    /// The call that tells a `Layer`.
    pub(crate) fn needing(&self, core: &Path) -> Option<TokenStream> {
        match self {
            Self::None => None,
            Self::Listed(names) => {
                let set = guarantee::set(names, core);
                Some(quote!(.needing(#core::guarantee::Set::of::<#set>())))
            }
            // Where it stands is where an error about its type is reported.
            Self::Of(path) => {
                let this = quote!(self);
                Some(quote_spanned!(path.span()=> .needing(#path(#this))))
            }
        }
    }

    /// With `layers = path` each layer has needs of its own.
    pub(crate) fn refuse_beside_layers(&self) -> syn::Result<()> {
        let span = match self {
            Self::None => return Ok(()),
            Self::Listed(names) => names.first().map_or_else(proc_macro2::Span::call_site, Ident::span),
            Self::Of(path) => path.span(),
        };
        Err(Error::new(span, "with `layers`, each layer says what it needs: `LayerInfo::needing`"))
    }
}
