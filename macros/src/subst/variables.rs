//! The variables of a rule: `for<T, C: Codec<T>, const N: usize>`.

use super::side::Side;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::visit_mut::{self, VisitMut};
use syn::{Error, GenericArgument, GenericParam, Ident, Path, Token, Type, parse_quote};

/// The parts of a pattern that match any type or constant.
pub(crate) struct Variables(Vec<GenericParam>);

impl Variables {
    pub(super) fn none() -> Self {
        Self(Vec::new())
    }

    /// Returns the variables as parameters of an `impl`, with their bounds.
    pub(super) fn all(&self) -> &[GenericParam] {
        &self.0
    }

    /// Returns the variables that occur in `pattern`.
    pub(super) fn in_pattern(&self, pattern: &Side) -> Vec<&GenericParam> {
        self.0.iter().filter(|variable| stands_in(&name(variable), pattern)).collect()
    }

    /// Checks that every variable is determined by the pattern or by the bounds.
    pub(super) fn check(&self, pattern: &Side, bounded: bool) -> syn::Result<()> {
        for variable in &self.0 {
            let name = name(variable);
            if !bounded && !stands_in(&name, pattern) {
                let what = format!("`{name}` does not stand in the pattern, and no `where` says what it is");
                return Err(Error::new_spanned(variable, what));
            }
        }
        for chunnel in pattern.chunnels() {
            Constants::refuse(chunnel)?;
        }
        Ok(())
    }

    /// Returns the type with each variable replaced by a type or constant that matches everything.
    pub(super) fn erase(&self, chunnel: &Type, core: &Path) -> Type {
        let mut erased = chunnel.clone();
        Boxed { variables: self, core }.visit_type_mut(&mut erased);
        erased
    }

    fn find(&self, ident: &Ident) -> Option<&GenericParam> {
        self.0.iter().find(|variable| name(variable) == *ident)
    }
}

impl Parse for Variables {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.parse::<Token![for]>()?;
        if !input.peek(Token![<]) {
            return Err(input.error("expected the rule's variables: `for<T, C: Codec<T>>`"));
        }
        input.parse::<Token![<]>()?;
        let mut variables = Vec::new();
        while !input.peek(Token![>]) {
            let variable = input.parse::<GenericParam>()?;
            if matches!(variable, GenericParam::Lifetime(_)) {
                let what = "a Chunnel outlives every borrow, so a rule has no lifetimes; a variable is a type or a constant";
                return Err(Error::new_spanned(variable, what));
            }
            variables.push(variable);
            if !input.peek(Token![>]) {
                input.parse::<Token![,]>()?;
            }
        }
        input.parse::<Token![>]>()?;
        Ok(Self(variables))
    }
}

fn name(variable: &GenericParam) -> Ident {
    match variable {
        GenericParam::Type(variable) => variable.ident.clone(),
        GenericParam::Const(variable) => variable.ident.clone(),
        GenericParam::Lifetime(variable) => variable.lifetime.ident.clone(),
    }
}

fn stands_in(name: &Ident, pattern: &Side) -> bool {
    fn found(name: &Ident, tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            proc_macro2::TokenTree::Ident(ident) => ident == *name,
            proc_macro2::TokenTree::Group(group) => found(name, group.stream()),
            _ => false,
        })
    }
    pattern.chunnels().any(|chunnel| found(name, chunnel.to_token_stream()))
}

/// Replaces variables by types and constants that match everything.
struct Boxed<'v> {
    variables: &'v Variables,
    core: &'v Path,
}

impl VisitMut for Boxed<'_> {
    fn visit_type_mut(&mut self, node: &mut Type) {
        if let Type::Path(path) = node
            && let Some(GenericParam::Type(_)) =
                path.path.get_ident().and_then(|ident| self.variables.find(ident))
        {
            let core = self.core;
            *node = parse_quote!(#core::pass::Anything);
            return;
        }
        visit_mut::visit_type_mut(self, node);
    }

    fn visit_generic_argument_mut(&mut self, node: &mut GenericArgument) {
        // A constant variable has the syntax of a type.
        if let GenericArgument::Type(Type::Path(path)) = node
            && let Some(GenericParam::Const(constant)) =
                path.path.get_ident().and_then(|ident| self.variables.find(ident))
        {
            // Patterns compare types alone, so any value of the right type will do.
            let value = match constant.ty.to_token_stream().to_string().as_str() {
                "bool" => quote!(false),
                "char" => quote!('*'),
                _ => quote!(0),
            };
            *node = GenericArgument::Const(parse_quote!(#value));
            return;
        }
        visit_mut::visit_generic_argument_mut(self, node);
    }
}

/// Finds constants in a pattern: they can't be compared.
struct Constants(Option<Span>);

impl Constants {
    fn refuse(chunnel: &Type) -> syn::Result<()> {
        let mut found = Self(None);
        found.visit_type_mut(&mut chunnel.clone());
        match found.0 {
            None => Ok(()),
            Some(span) => Err(Error::new(
                span,
                "a pattern can't compare constants; make it a variable, `for<const N: usize>`, and say `when` it fits",
            )),
        }
    }
}

impl VisitMut for Constants {
    fn visit_generic_argument_mut(&mut self, node: &mut GenericArgument) {
        if let GenericArgument::Const(constant) = node {
            self.0.get_or_insert(syn::spanned::Spanned::span(constant));
        }
        visit_mut::visit_generic_argument_mut(self, node);
    }
}
