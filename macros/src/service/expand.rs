//! The trait, its client and its server.

use super::parse::{Argument, Method, Response, Service};
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
        let Method { attributes, name, response, .. } = method;
        let arguments = parameters(method).into_iter().map(|argument| {
            let name = &argument.name;
            let ty = &argument.ty;
            quote!(#name: #ty)
        });
        let output = match response {
            Response::One(ty, _) => quote!(impl ::core::future::Future<Output = #ty> + ::core::marker::Send),
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
    let requests = method.requests.as_ref().map(|_| quote!(.with_requests()));
    let responses = matches!(method.response, Response::Several(..)).then(|| quote!(.with_responses()));
    quote!(#rpc::Method::new(#name) #idempotent #requests #responses)
}

/// Returns the parameters of a method behind `&self`, in order.
fn parameters(method: &Method) -> Vec<&Argument> {
    let mut parameters: Vec<_> = method.arguments.iter().collect();
    if let Some((at, context)) = &method.context {
        parameters.insert(*at, context);
    }
    parameters.extend(method.requests.as_ref().map(|(requests, _)| requests));
    parameters
}

/// Returns the arguments of a method as one type.
fn request(method: &Method) -> Type {
    let types = method.arguments.iter().map(|argument| &argument.ty);
    syn::parse_quote!((#(#types,)*))
}

fn client(service: &Service, rpc: &Path) -> TokenStream {
    let Service { visibility, name, methods, .. } = service;
    let client = format_ident!("{name}Client");
    let about = format!(" Calls the methods of `{name}` at another process.");
    let calls = methods.iter().map(|method| calls(service, method, rpc));
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

            /// Adds an entry to the metadata of each call. Calls fail before they are sent if it breaks a limit.
            #[must_use]
            #visibility fn metadata(
                self,
                key: &str,
                value: impl ::core::convert::AsRef<[u8]>,
            ) -> Self {
                Self { client: self.client.metadata(key, value) }
            }

            /// Returns the client that makes the calls.
            #visibility fn client(&self) -> &#rpc::Client<__Caller, __Codec> {
                &self.client
            }

            #(#calls)*
        }
    }
}

/// Returns the functions of the client that call a method.
fn calls(service: &Service, method: &Method, rpc: &Path) -> TokenStream {
    let Method { name, response, .. } = method;
    let docs = docs(method);
    let ty = response.ty();
    let (output, make) = match response {
        Response::One(..) => (quote!(#ty), quote!(response)),
        Response::Several(..) => (quote!(#rpc::Responses<__Caller::Parts, __Codec, #ty>), quote!(responses)),
    };
    let plain = call(service, method, name, &output, &make, rpc);
    let with_trailers = format_ident!("{name}_and_trailers");
    let is_taken = service.methods.iter().any(|method| method.name == with_trailers);
    let with_trailers = (matches!(response, Response::One(..)) && !is_taken).then(|| {
        let about =
            format!(" Works as [`{name}`](Self::{name}), and returns the metadata of the server, too.");
        let output = quote!((#ty, #rpc::Metadata));
        let function = call(service, method, &with_trailers, &output, &quote!(response_and_trailers), rpc);
        quote! {
            #[doc = #about]
            #[doc = ""]
            #[allow(dead_code)]
            #function
        }
    });
    quote!(#(#docs)* #[doc = ""] #plain #with_trailers)
}

/// Returns a function of the client, which makes a call by `make`.
fn call(
    service: &Service,
    method: &Method,
    name: &Ident,
    output: &TokenStream,
    make: &TokenStream,
    rpc: &Path,
) -> TokenStream {
    let Service { visibility, .. } = service;
    let constant = constant(service, method, rpc);
    let (request, response) = (request(method), method.response.ty());
    let names = method.arguments.iter().map(|argument| &argument.name);
    let arguments = method.arguments.iter().map(|Argument { name, ty }| quote!(#name: #ty));
    let requests = method.requests.iter().map(|(argument, _)| &argument.name);
    let streams = method.requests.iter().map(|(argument, item)| {
        let name = &argument.name;
        quote!(#name: impl #rpc::Stream<Item = #item> + ::core::marker::Send + 'static)
    });
    let items = method.requests.iter().map(|(_, item)| item);
    quote! {
        /// # Errors
        /// See `FailureKind`.
        #visibility async fn #name(
            &self,
            #(#arguments,)*
            #(#streams,)*
        ) -> ::core::result::Result<#output, #rpc::Failure>
        where
            __Codec: #rpc::Codec<#request> + #rpc::Codec<#response> #(+ #rpc::Codec<#items>)*,
        {
            const METHOD: #rpc::Method = #constant;
            self.client
                .call::<#request, #response>(METHOD, &(#(#names,)*))
                #(.requests(#requests))*
                .#make()
                .await
        }
    }
}

fn server(service: &Service, rpc: &Path) -> TokenStream {
    let Service { visibility, name, methods, .. } = service;
    let server = format_ident!("{name}Server");
    let response = format_ident!("{name}Response");
    let about = format!(" Answers calls by an implementation of `{name}`, for `rpc::serve`.");
    let variants: Vec<_> = methods.iter().map(variant).collect();
    let types: Vec<_> = methods.iter().map(|method| method.response.ty()).collect();
    let requests: Vec<_> = methods.iter().map(request).collect();
    let items = methods.iter().filter_map(|method| method.requests.as_ref()).map(|(_, item)| item);
    let constants = methods.iter().map(|method| constant(service, method, rpc));
    let first = types[0];
    let arms = methods.iter().zip(&variants).map(|(method, variant)| {
        let constant = constant(service, method, rpc);
        let request = request(method);
        let names: Vec<_> = method.arguments.iter().map(|argument| &argument.name).collect();
        let (context, reply) = reply(service, method, variant, rpc);
        let context = context.map(|context| quote!(let #context = __request.context();));
        let streams = method.requests.iter().map(|(argument, item)| {
            let name = &argument.name;
            quote!(let #name = __request.requests::<#item, __Codec>(&self.codec);)
        });
        quote! {
            if __request.is(const { #constant }) {
                let (#(#names,)*) = __request.decode::<#request, __Codec>(&self.codec)?;
                #context
                #(#streams)*
                // Its buffer is not needed while the method runs.
                ::core::mem::drop(__request);
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
            #(__Codec: #rpc::Codec<#items>,)*
        {
            type Response = #response;

            async fn call(
                &self,
                __request: #rpc::Request<'_>,
            ) -> ::core::result::Result<#rpc::Reply<'_, #response>, #rpc::Failure> {
                #(#arms)*
                ::core::result::Result::Err(__request.unknown())
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

            fn methods(&self) -> &[#rpc::Method] {
                const METHODS: &[#rpc::Method] = &[#(#constants),*];
                METHODS
            }
        }
    }
}

/// Returns the name of the context, if the method takes it, and the reply of the server.
fn reply<'a>(
    service: &Service,
    method: &'a Method,
    variant: &Ident,
    rpc: &Path,
) -> (Option<&'a Ident>, TokenStream) {
    let name = &service.name;
    let response = format_ident!("{name}Response");
    let function = &method.name;
    let context = method.context.as_ref().map(|(_, context)| &context.name);
    let names = parameters(method).into_iter().map(|argument| match &argument.name {
        name if Some(name) == context => quote!(&#name),
        name => quote!(#name),
    });
    let call = quote!(#name::#function(&self.service, #(#names),*));
    let reply = match (&method.response, context) {
        (Response::One(..), _) => {
            // Its method has begun, so the call may have run.
            let failed = method.fails.then(|| quote!(.map_err(#rpc::Failure::after_running)?));
            quote!(#rpc::Reply::One(#response::#variant(#call.await #failed)))
        }
        (Response::Several(..), None) => match method.fails {
            true => quote!(#rpc::Reply::each_until(#call, #response::#variant)),
            false => quote!(#rpc::Reply::each(#call, #response::#variant)),
        },
        // The stream may borrow from the context, which is of this call.
        (Response::Several(..), Some(context)) => {
            let respond = match method.fails {
                true => quote!(|__item| __item.map(#response::#variant)),
                false => quote!(|__item| ::core::result::Result::Ok(#response::#variant(__item))),
            };
            quote! {
                #rpc::Reply::generated(move |__responding| async move {
                    let #context = #context;
                    __responding.each(#call, #respond).await
                })
            }
        }
    };
    (context, reply)
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
