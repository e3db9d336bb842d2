//! Checks of a macro's errors, message and place, without the compiler.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::ops::Range;

/// Asserts that `expand` refuses a source with this message. The error underlines the part of the source
/// between `«` and `»`, or the whole call of the macro if the source has no such part.
#[track_caller]
pub(crate) fn refuses(
    expand: impl FnOnce(TokenStream) -> syn::Result<TokenStream>,
    marked: &str,
    message: &str,
) {
    let source = marked.replace(['«', '»'], "");
    let tokens = source.parse().expect("the source consists of tokens");
    let errors: Vec<_> = expand(tokens).expect_err("the source is wrong").into_iter().collect();
    let [error] = &errors[..] else { panic!("{} errors in place of a single error", errors.len()) };
    assert_eq!(error.to_string(), message);
    assert_eq!(mark(&source, error.span().byte_range()), marked);
}

/// Returns the source with `«` and `»` around the underlined part.
fn mark(source: &str, underlined: Range<usize>) -> String {
    if underlined.is_empty() {
        return source.to_owned();
    }
    let before = &source[..underlined.start];
    let after = &source[underlined.end..];
    format!("{before}«{}»{after}", &source[underlined])
}

/// Splits `#[name(arguments)] item` into the two inputs of an attribute's macro.
pub(crate) fn attribute(source: TokenStream) -> (TokenStream, TokenStream) {
    let mut tokens = source.into_iter().skip(1);
    let Some(TokenTree::Group(attribute)) = tokens.next() else {
        panic!("the source begins with an attribute")
    };
    let arguments = attribute.stream().into_iter().find_map(|token| match token {
        TokenTree::Group(arguments) if arguments.delimiter() == Delimiter::Parenthesis => {
            Some(arguments.stream())
        }
        _ => None,
    });
    (arguments.unwrap_or_default(), tokens.collect())
}
