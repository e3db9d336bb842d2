//! Reading `#[chunnel(..)]` and `#[capability(..)]`.

use syn::meta::ParseNestedMeta;
use syn::{Attribute, DeriveInput, Error, LitInt};

/// Returns the crate and type name that identify `input`, unique because names in the registry are.
pub(crate) fn full_name(input: &DeriveInput) -> String {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    format!("{package}::{}", input.ident)
}

/// Calls `read` for each argument of each attribute called `name`.
pub(crate) fn arguments(
    attributes: &[Attribute],
    name: &str,
    mut read: impl FnMut(ParseNestedMeta<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(name)) {
        attribute.parse_nested_meta(&mut read)?;
    }
    Ok(())
}

/// Returns the number in `version = 2`.
pub(crate) fn version(meta: &ParseNestedMeta<'_>) -> syn::Result<u16> {
    let number = meta.value()?.parse::<LitInt>()?;
    number.base10_parse().map_err(|_| Error::new(number.span(), "a version is a number from 0 to 65535"))
}
