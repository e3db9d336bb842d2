//! The trait of a service.

use proc_macro2::TokenStream;
use syn::{
    Attribute, Error, FnArg, GenericArgument, Ident, ItemTrait, Pat, PathArguments, ReturnType, TraitItem,
    TraitItemFn, Type, TypeParamBound, Visibility,
};

/// A trait whose methods are calls.
pub(crate) struct Service {
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) visibility: Visibility,
    pub(crate) name: Ident,
    pub(crate) methods: Vec<Method>,
}

pub(crate) struct Method {
    /// The attributes of the method, except `#[idempotent]`.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) name: Ident,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) response: Response,
    pub(crate) is_idempotent: bool,
}

pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
}

pub(crate) enum Response {
    One(Type),
    /// The type of the stream, and the type of its items.
    Several(Box<Type>, Type),
}

impl Response {
    pub(crate) fn ty(&self) -> &Type {
        match self {
            Self::One(ty) | Self::Several(_, ty) => ty,
        }
    }
}

impl Service {
    /// # Errors
    /// The first item that can't be called from another process.
    pub(crate) fn parse(arguments: &TokenStream, item: TokenStream) -> syn::Result<Self> {
        if !arguments.is_empty() {
            return Err(Error::new_spanned(arguments, "`#[bertha::service]` takes no arguments"));
        }
        let item = syn::parse2::<ItemTrait>(item)
            .map_err(|error| Error::new(error.span(), "`#[bertha::service]` stands on a trait"))?;
        if let Some(parameter) = item.generics.params.first() {
            let what = "a service has no parameters: the other end can't know which types they are";
            return Err(Error::new_spanned(parameter, what));
        }
        if let Some(bound) = item.supertraits.first() {
            return Err(Error::new_spanned(
                bound,
                "a service has no supertraits but `Send`, `Sync` and `'static`, which it gets by itself",
            ));
        }
        let methods = item.items.iter().map(Method::parse).collect::<syn::Result<Vec<_>>>()?;
        if methods.is_empty() {
            return Err(Error::new_spanned(&item.ident, "a service has at least one method"));
        }
        Ok(Self { attributes: item.attrs, visibility: item.vis, name: item.ident, methods })
    }
}

impl Method {
    fn parse(item: &TraitItem) -> syn::Result<Self> {
        let TraitItem::Fn(function) = item else {
            return Err(Error::new_spanned(item, "a service has methods only"));
        };
        let signature = &function.sig;
        if let Some(body) = &function.default {
            return Err(Error::new_spanned(
                body,
                "a method of a service has no body here; the server's type implements it",
            ));
        }
        if let Some(parameter) = signature.generics.params.first() {
            let what =
                "a method of a service has no parameters: the other end can't know which types they are";
            return Err(Error::new_spanned(parameter, what));
        }
        let mut attributes = function.attrs.clone();
        let before = attributes.len();
        attributes.retain(|attribute| !attribute.path().is_ident("idempotent"));
        Ok(Self {
            is_idempotent: attributes.len() < before,
            attributes,
            name: signature.ident.clone(),
            arguments: arguments(function)?,
            response: response(function)?,
        })
    }
}

fn arguments(function: &TraitItemFn) -> syn::Result<Vec<Argument>> {
    let signature = &function.sig;
    let mut inputs = signature.inputs.iter();
    match inputs.next() {
        Some(FnArg::Receiver(receiver))
            if receiver.reference.is_some()
                && receiver.mutability.is_none()
                && receiver.colon_token.is_none() => {}
        other => {
            let what = "a method of a service takes `&self`: calls run at the same time";
            return Err(match other {
                Some(first) => Error::new_spanned(first, what),
                None => Error::new_spanned(&signature.ident, what),
            });
        }
    }
    inputs.map(argument).collect()
}

fn argument(input: &FnArg) -> syn::Result<Argument> {
    let FnArg::Typed(input) = input else {
        return Err(Error::new_spanned(input, "`self` comes first"));
    };
    let Pat::Ident(name) = &*input.pat else {
        return Err(Error::new_spanned(&input.pat, "an argument of a service has a name and no pattern"));
    };
    if let Type::Reference(reference) = &*input.ty {
        let what = "an argument is sent to another process, so it owns its data: `String` instead of `&str`, `Vec<T>` instead of `&[T]`";
        return Err(Error::new_spanned(reference, what));
    }
    Ok(Argument { name: name.ident.clone(), ty: (*input.ty).clone() })
}

fn response(function: &TraitItemFn) -> syn::Result<Response> {
    let signature = &function.sig;
    if signature.asyncness.is_some() {
        return match &signature.output {
            ReturnType::Default => Ok(Response::One(syn::parse_quote!(()))),
            ReturnType::Type(_, ty) => match &**ty {
                Type::Reference(_) => {
                    let what = "a response is sent to another process, so it owns its data";
                    Err(Error::new_spanned(ty, what))
                }
                Type::ImplTrait(_) => {
                    let what = "a stream of responses comes from a `fn`, not from an `async fn`";
                    Err(Error::new_spanned(ty, what))
                }
                ty => Ok(Response::One(ty.clone())),
            },
        };
    }
    if let ReturnType::Type(_, ty) = &signature.output
        && let Some(item) = item_of_stream(ty)
    {
        return Ok(Response::Several(ty.clone(), item));
    }
    let what = "a method of a service is an `async fn`, or a `fn` that returns `impl Stream<Item = T>`";
    Err(Error::new_spanned(signature, what))
}

/// Returns the `T` of `impl Stream<Item = T>`.
fn item_of_stream(ty: &Type) -> Option<Type> {
    let Type::ImplTrait(stream) = ty else { return None };
    stream.bounds.iter().find_map(|bound| {
        let TypeParamBound::Trait(bound) = bound else { return None };
        let stream = bound.path.segments.last().filter(|segment| segment.ident == "Stream")?;
        let PathArguments::AngleBracketed(arguments) = &stream.arguments else { return None };
        arguments.args.iter().find_map(|argument| match argument {
            GenericArgument::AssocType(item) if item.ident == "Item" => Some(item.ty.clone()),
            _ => None,
        })
    })
}
