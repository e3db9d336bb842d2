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
    /// The parameter of type `&Context`, and the number of arguments in front of it.
    pub(crate) context: Option<(usize, Argument)>,
    /// The last parameter, of type `rpc::Requests<T>`, and the `T`.
    pub(crate) requests: Option<(Argument, Type)>,
    pub(crate) response: Response,
    /// True if the method returns `Result<T, rpc::Failure>`, or a stream of such items.
    pub(crate) fails: bool,
    pub(crate) is_idempotent: bool,
}

pub(crate) struct Argument {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
}

/// The response of a method, by its type as declared, and the type that is sent.
pub(crate) enum Response {
    One(Box<Type>, Type),
    Several(Box<Type>, Type),
}

impl Response {
    /// Returns the type that is sent.
    pub(crate) fn ty(&self) -> &Type {
        match self {
            Self::One(_, ty) | Self::Several(_, ty) => ty,
        }
    }

    /// Makes the `T` of `Result<T, rpc::Failure>` the type that is sent. Returns true if there is one.
    fn take_failure(&mut self) -> bool {
        let (Self::One(_, ty) | Self::Several(_, ty)) = self;
        let sent = without_failure(ty);
        let fails = sent.is_some();
        if let Some(sent) = sent {
            *ty = sent;
        }
        fails
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
        let Parameters { arguments, context, requests } = Parameters::parse(function)?;
        let mut response = response(function)?;
        let is_idempotent = attributes.len() < before;
        if let Some((requests, _)) = requests.as_ref().filter(|_| is_idempotent) {
            let what =
                "a call with a stream of requests is never repeated, so its method is not `#[idempotent]`";
            return Err(Error::new_spanned(&requests.ty, what));
        }
        Ok(Self {
            is_idempotent,
            attributes,
            name: signature.ident.clone(),
            arguments,
            context,
            requests,
            fails: response.take_failure(),
            response,
        })
    }
}

/// The parameters of a method behind `&self`, as [`Method`] has them.
#[derive(Default)]
struct Parameters {
    arguments: Vec<Argument>,
    context: Option<(usize, Argument)>,
    requests: Option<(Argument, Type)>,
}

impl Parameters {
    fn parse(function: &TraitItemFn) -> syn::Result<Self> {
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
        let mut parameters = Self::default();
        inputs.try_for_each(|input| parameters.add(input))?;
        Ok(parameters)
    }

    fn add(&mut self, input: &FnArg) -> syn::Result<()> {
        let argument = argument(input)?;
        if self.requests.is_some() {
            return Err(Error::new_spanned(input, "the `rpc::Requests` of a method are its last parameter"));
        }
        if is_context(&argument.ty) {
            let before = self.context.replace((self.arguments.len(), argument));
            return match before {
                None => Ok(()),
                Some(_) => Err(Error::new_spanned(input, "a method of a service has at most one `&Context`")),
            };
        }
        match item_of_requests(&argument.ty) {
            Some(item) => self.requests = Some((argument, item)),
            None => self.arguments.push(argument),
        }
        Ok(())
    }
}

/// Returns an argument that owns its data, or the context.
fn argument(input: &FnArg) -> syn::Result<Argument> {
    let FnArg::Typed(input) = input else {
        return Err(Error::new_spanned(input, "`self` comes first"));
    };
    let Pat::Ident(name) = &*input.pat else {
        return Err(Error::new_spanned(&input.pat, "an argument of a service has a name and no pattern"));
    };
    if let Type::Reference(reference) = &*input.ty
        && !is_context(&input.ty)
    {
        let what = "an argument is sent to another process, so it owns its data: `String` instead of `&str`, `Vec<T>` instead of `&[T]`";
        return Err(Error::new_spanned(reference, what));
    }
    Ok(Argument { name: name.ident.clone(), ty: (*input.ty).clone() })
}

/// Returns the `T` of `rpc::Requests<T>`. The name alone may be that of a type of the application.
fn item_of_requests(ty: &Type) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    let mut names = path.path.segments.iter().rev();
    let last = names.next().filter(|last| last.ident == "Requests")?;
    names.next().filter(|name| name.ident == "rpc")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(item)) if arguments.args.len() == 1 => Some(item.clone()),
        _ => None,
    }
}

/// Returns true for `&Context`, with any path in front of the name.
fn is_context(ty: &Type) -> bool {
    let Type::Reference(reference) = ty else { return false };
    let Type::Path(path) = &*reference.elem else { return false };
    let last = path.path.segments.last();
    reference.mutability.is_none()
        && last.is_some_and(|last| last.ident == "Context" && last.arguments.is_none())
}

/// Returns the `T` of `Result<T, rpc::Failure>`. The name alone may be that of a type of the application.
fn without_failure(ty: &Type) -> Option<Type> {
    let Type::Path(path) = ty else { return None };
    let result = path.path.segments.last().filter(|last| last.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &result.arguments else { return None };
    let mut arguments = arguments.args.iter();
    let (Some(GenericArgument::Type(sent)), Some(GenericArgument::Type(Type::Path(error))), None) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return None;
    };
    let mut names = error.path.segments.iter().rev().map(|segment| &segment.ident);
    let is_failure =
        names.next().is_some_and(|name| name == "Failure") && names.next().is_some_and(|name| name == "rpc");
    is_failure.then(|| sent.clone())
}

fn response(function: &TraitItemFn) -> syn::Result<Response> {
    let signature = &function.sig;
    if signature.asyncness.is_some() {
        return match &signature.output {
            ReturnType::Default => Ok(Response::One(syn::parse_quote!(()), syn::parse_quote!(()))),
            ReturnType::Type(_, ty) => match &**ty {
                Type::Reference(_) => {
                    let what = "a response is sent to another process, so it owns its data";
                    Err(Error::new_spanned(ty, what))
                }
                Type::ImplTrait(_) => {
                    let what = "a stream of responses comes from a `fn`, not from an `async fn`";
                    Err(Error::new_spanned(ty, what))
                }
                declared => Ok(Response::One(ty.clone(), declared.clone())),
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
