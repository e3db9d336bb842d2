//! `#[bertha::main]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, ItemFn, parse2};

/// Returns an ordinary function that runs the asynchronous function.
pub(crate) fn expand(arguments: &TokenStream, function: TokenStream) -> TokenStream {
    ordinary(arguments, function.clone()).unwrap_or_else(|error| {
        let error = error.into_compile_error();
        // A missing main function would be a further error.
        let function = parse2::<ItemFn>(function).ok();
        quote!(#error #function)
    })
}

/// # Errors
/// The first reason why the function can't be the main function.
fn ordinary(arguments: &TokenStream, function: TokenStream) -> syn::Result<TokenStream> {
    let function = parse2::<ItemFn>(function)?;
    check(arguments, &function)?;
    let attributes = &function.attrs;
    let visibility = &function.vis;
    let output = &function.sig.output;
    let name = &function.sig.ident;
    let body = &function.block;
    Ok(quote! {
        #(#attributes)*
        #visibility fn #name() #output {
            async fn #name() #output #body
            match ::bertha::run(#name()) {
                Ok(output) => output,
                Err(error) => ::bertha::not_started(&error),
            }
        }
    })
}

fn check(arguments: &TokenStream, function: &ItemFn) -> syn::Result<()> {
    let signature = &function.sig;
    if !arguments.is_empty() {
        let what = "`#[bertha::main]` takes no arguments: the runtime has its settings from the environment";
        return Err(Error::new_spanned(arguments, what));
    }
    if signature.asyncness.is_none() {
        return Err(Error::new_spanned(signature.fn_token, "`#[bertha::main]` is for an `async fn`"));
    }
    if !signature.inputs.is_empty() || !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(signature, "the main function takes no arguments"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{expand, ordinary};
    use crate::refusal::{self, attribute};

    #[track_caller]
    fn refuses(source: &str, message: &str) {
        let expand = |source| {
            let (arguments, function) = attribute(source);
            ordinary(&arguments, function)
        };
        refusal::refuses(expand, source, message);
    }

    #[test]
    fn main_is_an_asynchronous_function_without_arguments() {
        refuses(
            "#[main(«threads = 4»)] async fn main() {}",
            "`#[bertha::main]` takes no arguments: the runtime has its settings from the environment",
        );
        refuses("#[main] «fn» main() {}", "`#[bertha::main]` is for an `async fn`");
        refuses("#[main] «async fn main(words: Words)» {}", "the main function takes no arguments");
        refuses("#[main] «async fn main<T>()» {}", "the main function takes no arguments");
        refuses("#[main] «struct» Main;", "expected `fn`");
    }

    #[test]
    fn a_refused_function_stays_the_main_function() {
        let (arguments, function) = attribute("#[main] fn main() {}".parse().unwrap());
        let expanded = expand(&arguments, function).to_string();
        assert!(expanded.ends_with("fn main () { }"), "{expanded}");
    }
}
