//! `#[bertha::main]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, ItemFn, parse2};

/// Returns an ordinary function that runs the asynchronous function.
pub(crate) fn expand(arguments: TokenStream, function: TokenStream) -> TokenStream {
    let function: ItemFn = match parse2(function) {
        Ok(function) => function,
        Err(error) => return error.to_compile_error(),
    };
    match check(&arguments, &function) {
        Ok(()) => {}
        Err(error) => {
            let error = error.to_compile_error();
            return quote!(#error #function);
        }
    }
    let (attributes, visibility, output) = (&function.attrs, &function.vis, &function.sig.output);
    let (name, body) = (&function.sig.ident, &function.block);
    quote! {
        #(#attributes)*
        #visibility fn #name() #output {
            async fn #name() #output #body
            match ::bertha::run(#name()) {
                Ok(output) => output,
                Err(error) => ::bertha::not_started(&error),
            }
        }
    }
}

fn check(arguments: &TokenStream, function: &ItemFn) -> Result<(), Error> {
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
