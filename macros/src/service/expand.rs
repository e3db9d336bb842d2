//! The trait, its client and its server.

use super::parse::{Method, Response, Service};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, Path, Type};

/// Returns the trait, the client and the server; `rpc` is the path of the module with what they need.
///
/// # Errors
/// The first item that can't be called from another process. An error takes the trait's place, since the
/// compiler would report the trait's errors twice.
pub(crate) fn expand(arguments: &TokenStream, item: TokenStream, rpc: &Path) -> syn::Result<TokenStream> {
    let service = Service::parse(arguments, item)?;
    let own = own_trait(&service);
    let client = client(&service, rpc);
    let server = server(&service, rpc);
    let distinct = distinct(&service, rpc);
    Ok(quote!(#own #client #server #distinct))
}

/// Returns the trait that the server's type implements, with futures that may move between threads.
fn own_trait(service: &Service) -> TokenStream {
    let Service { attributes, visibility, name, methods } = service;
    let methods = methods.iter().map(|method| {
        let Method { attributes, name, arguments, response, .. } = method;
        let arguments = arguments.iter().map(|argument| {
            let name = &argument.name;
            let ty = &argument.ty;
            quote!(#name: #ty)
        });
        let output = match response {
            Response::One(ty) => quote!(impl ::core::future::Future<Output = #ty> + ::core::marker::Send),
            Response::Several(stream, _) => quote!(#stream + ::core::marker::Send),
        };
        quote!(#(#attributes)* fn #name(&self, #(#arguments),*) -> #output;)
    });
    quote! {
        #(#attributes)*
        #visibility trait #name: ::core::marker::Send + ::core::marker::Sync + 'static {
            #(#methods)*
        }
    }
}

/// Returns the constant that names a method on the wire.
fn constant(service: &Service, method: &Method, rpc: &Path) -> TokenStream {
    let name = format!("{}.{}", service.name, method.name);
    let idempotent = method.is_idempotent.then(|| quote!(.idempotent()));
    quote!(#rpc::Method::new(#name) #idempotent)
}

/// Returns the arguments of a method as one type.
fn request(method: &Method) -> Type {
    let types = method.arguments.iter().map(|argument| &argument.ty);
    syn::parse_quote!((#(#types,)*))
}

fn client(service: &Service, rpc: &Path) -> TokenStream {
    let Service { visibility, name, methods, .. } = service;
    let client = format_ident!("{name}Client");
    let about = format!(" Calls the methods of [`{name}`] at another process.");
    let calls = methods.iter().map(|method| {
        let docs = docs(method);
        let constant = constant(service, method, rpc);
        let name = &method.name;
        let request = request(method);
        let response = method.response.ty();
        let arguments = method.arguments.iter().map(|argument| {
            let name = &argument.name;
            let ty = &argument.ty;
            quote!(#name: #ty)
        });
        let names = method.arguments.iter().map(|argument| &argument.name);
        let (output, make) = match &method.response {
            Response::One(_) => (quote!(#response), quote!(response)),
            Response::Several(..) => {
                (quote!(#rpc::Responses<__Caller::Parts, __Codec, #response>), quote!(responses))
            }
        };
        quote! {
            #(#docs)*
            ///
            /// # Errors
            /// See `FailureKind`.
            #visibility async fn #name(
                &self,
                #(#arguments),*
            ) -> ::core::result::Result<#output, #rpc::Failure>
            where
                __Codec: #rpc::Codec<#request> + #rpc::Codec<#response>,
            {
                const METHOD: #rpc::Method = #constant;
                self.client.call::<#request, #response>(METHOD, &(#(#names,)*)).#make().await
            }
        }
    });
    quote! {
        #[doc = #about]
        #[derive(Debug, Clone)]
        #visibility struct #client<__Caller, __Codec = #rpc::Postcard> {
            client: #rpc::Client<__Caller, __Codec>,
        }

        impl<__Caller: #rpc::Caller, __Codec> #client<__Caller, __Codec> {
            /// Makes a client that calls through `client`.
            #visibility fn new(client: #rpc::Client<__Caller, __Codec>) -> Self {
                Self { client }
            }

            /// Sets the time limit of each call.
            #[must_use]
            #visibility fn deadline(self, within: ::core::time::Duration) -> Self {
                Self { client: self.client.deadline(within) }
            }

            /// Returns the client that makes the calls.
            #visibility fn client(&self) -> &#rpc::Client<__Caller, __Codec> {
                &self.client
            }

            #(#calls)*
        }
    }
}

fn server(service: &Service, rpc: &Path) -> TokenStream {
    let Service { visibility, name, methods, .. } = service;
    let server = format_ident!("{name}Server");
    let response = format_ident!("{name}Response");
    let about = format!(" Answers calls by an implementation of [`{name}`], for `rpc::serve`.");
    let variants: Vec<_> = methods.iter().map(variant).collect();
    let types: Vec<_> = methods.iter().map(|method| method.response.ty()).collect();
    let requests: Vec<_> = methods.iter().map(request).collect();
    let first = types[0];
    let arms = methods.iter().zip(&variants).map(|(method, variant)| {
        let constant = constant(service, method, rpc);
        let function = &method.name;
        let request = request(method);
        let names: Vec<_> = method.arguments.iter().map(|argument| &argument.name).collect();
        let reply = match &method.response {
            Response::One(_) => quote! {
                #rpc::Reply::One(#response::#variant(#name::#function(&self.service, #(#names),*).await))
            },
            Response::Several(..) => quote! {
                #rpc::Reply::each(#name::#function(&self.service, #(#names),*), #response::#variant)
            },
        };
        quote! {
            if request.is(const { #constant }) {
                let (#(#names,)*) = request.decode::<#request, __Codec>(&self.codec)?;
                // Its buffer is not needed while the method runs.
                ::core::mem::drop(request);
                return ::core::result::Result::Ok(#reply);
            }
        }
    });
    quote! {
        #[doc = #about]
        #[derive(Debug, Clone)]
        #visibility struct #server<__Service, __Codec = #rpc::Postcard> {
            service: __Service,
            codec: __Codec,
        }

        impl<__Service: #name> #server<__Service> {
            /// Makes a server that answers with this implementation.
            #visibility fn new(service: __Service) -> Self {
                Self { service, codec: #rpc::Postcard }
            }
        }

        impl<__Service, __Codec> #server<__Service, __Codec> {
            /// Answers in the format of another codec, which has to be the codec of the clients.
            #visibility fn codec<__Other>(self, codec: __Other) -> #server<__Service, __Other> {
                #server { service: self.service, codec }
            }
        }

        /// A response of one of the methods.
        #[doc(hidden)]
        #[allow(missing_docs, missing_debug_implementations, clippy::large_enum_variant)]
        #visibility enum #response {
            #(#variants(#types),)*
        }

        impl<__Service, __Codec> #rpc::Service for #server<__Service, __Codec>
        where
            __Service: #name,
            #response: ::core::marker::Sync,
            #(__Codec: #rpc::Codec<#types> + #rpc::Codec<#requests>,)*
        {
            type Response = #response;

            async fn call(
                &self,
                request: #rpc::Request,
            ) -> ::core::result::Result<#rpc::Reply<'_, #response>, #rpc::Failure> {
                #(#arms)*
                ::core::result::Result::Err(request.unknown())
            }

            fn encode(
                &self,
                response: &#response,
                into: &mut [u8],
            ) -> ::core::result::Result<::core::option::Option<usize>, #rpc::Failure> {
                match response {
                    #(#response::#variants(response) => #rpc::encode(&self.codec, response, into),)*
                }
            }

            fn limit(&self) -> usize {
                #rpc::Codec::<#first>::limit(&self.codec)
            }
        }
    }
}

/// Returns the comments of a method.
fn docs(method: &Method) -> Vec<&syn::Attribute> {
    method.attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).collect()
}

/// `get_all` as `GetAll`.
fn variant(method: &Method) -> Ident {
    let name = method.name.to_string();
    let words = name.trim_start_matches("r#").split('_').filter(|word| !word.is_empty()).map(|word| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    });
    format_ident!("{}", words.collect::<String>(), span = method.name.span())
}

/// Fails to compile where two names have one hash.
fn distinct(service: &Service, rpc: &Path) -> TokenStream {
    let constants: Vec<_> = service.methods.iter().map(|method| constant(service, method, rpc)).collect();
    quote! {
        const _: () = {
            let methods = [#(#constants.id()),*];
            let mut one = 0;
            while one < methods.len() {
                let mut other = one + 1;
                while other < methods.len() {
                    assert!(methods[one] != methods[other], "two methods of the service have names with one hash; rename one");
                    other += 1;
                }
                one += 1;
            }
        };
    }
}
