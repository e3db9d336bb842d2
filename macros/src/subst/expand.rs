//! What a rule becomes: implementations of `Pass`, `Rule`, `Guard` and `Rewrite`.

use super::build;
use super::parse::{Item, Side, Subst};
use crate::guarantee;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Error, Fields, Ident, ItemStruct, Path};

/// The struct, and the implementations that make it a pass.
pub(crate) fn expand(rule: &Subst, pass: &ItemStruct, core: &Path) -> TokenStream {
    let implementations = implementations(rule, pass, core).unwrap_or_else(Error::into_compile_error);
    quote!(#pass #implementations)
}

fn implementations(rule: &Subst, pass: &ItemStruct, core: &Path) -> syn::Result<TokenStream> {
    if !matches!(pass.fields, Fields::Unit) || !pass.generics.params.is_empty() {
        return Err(Error::new_spanned(
            &pass.ident,
            "a rule stands on a unit struct without parameters: `pub struct Name;`",
        ));
    }
    let ident = &pass.ident;
    let name = ident.to_string();
    let weakens = guarantee::set(&rule.weakens, core);
    let pattern = pattern(rule, core);
    let guard = guard(rule, ident, core);
    let rewrite = rewrite(rule, ident, core)?;
    Ok(quote! {
        impl #core::pass::Pass for #ident {
            const NAME: &'static str = #name;
            type Weakens = #weakens;
        }
        impl #core::pass::Rule for #ident {
            type Pattern = #pattern;
        }
        #guard
        #rewrite
    })
}

fn pattern(rule: &Subst, core: &Path) -> TokenStream {
    let side = &rule.pattern;
    let end = if side.open_below { quote!(()) } else { quote!(#core::pass::End) };
    let items = side.items.iter().rev().fold(end, |rest, item| match item {
        Item::Chunnel(chunnel) => {
            let chunnel = rule.variables.erase(chunnel, core);
            quote!((#chunnel, #rest))
        }
        Item::Gap => quote!((#core::pass::Gap, #rest)),
    });
    let truth = |so: bool| if so { quote!(#core::identity::True) } else { quote!(#core::identity::False) };
    let (at_top, at_bottom) = (truth(!side.open_above), truth(!side.open_below));
    quote!(#core::pass::Segment<#items, #at_top, #at_bottom>)
}

fn guard(rule: &Subst, pass: &Ident, core: &Path) -> TokenStream {
    let Some(holds) = &rule.guard else {
        return quote! {
            impl<Captured> #core::pass::Guard<Captured> for #pass {
                type Holds = #core::identity::True;
            }
        };
    };
    let variables = rule.variables.in_pattern(&rule.pattern);
    let gaps = gaps(&rule.pattern);
    let captured = captured(&rule.pattern, &gaps);
    quote! {
        impl<#(#variables,)* #(#gaps,)*> #core::pass::Guard<#captured> for #pass {
            type Holds = #holds;
        }
    }
}

/// A type parameter for each `*` between Chunnels.
fn gaps(side: &Side) -> Vec<Ident> {
    let gaps = side.items.iter().filter(|item| matches!(item, Item::Gap)).count();
    (0..gaps).map(|number| format_ident!("Gap{number}")).collect()
}

/// The type of what matched.
fn captured(side: &Side, gaps: &[Ident]) -> TokenStream {
    let mut gaps = gaps.iter().rev();
    side.items.iter().rev().fold(quote!(()), |rest, item| match item {
        Item::Chunnel(chunnel) => quote!((#chunnel, #rest)),
        Item::Gap => {
            let gap = gaps.next();
            quote!((#gap, #rest))
        }
    })
}

fn rewrite(rule: &Subst, pass: &Ident, core: &Path) -> syn::Result<TokenStream> {
    let variables = rule.variables.all();
    let gaps = gaps(&rule.pattern);
    let captured_type = captured(&rule.pattern, &gaps);
    let names = named(rule);
    let (output, bounds, value) = output(rule, &gaps, core);
    let bind = build::bind(rule)?;
    let given = rule.bounds.as_ref().map(|bounds| &bounds.predicates);
    Ok(quote! {
        impl<#(#variables,)* #(#gaps,)* Rest> #core::pass::Rewrite<#captured_type, Rest> for #pass
        where
            #(#bounds,)*
            #given
        {
            type Output = #output;

            fn rewrite(&self, #names: #captured_type, rest: Rest) -> Self::Output {
                #bind
                #value
            }
        }
    })
}

/// The pattern that takes what matched apart.
fn named(rule: &Subst) -> TokenStream {
    let matched = build::matched(rule);
    let (mut chunnels, mut gaps) = (matched.iter().rev(), gap_names(&rule.pattern).into_iter().rev());
    rule.pattern.items.iter().rev().fold(quote!(()), |rest, item| {
        let name = match item {
            Item::Chunnel(_) => chunnels.next().cloned(),
            Item::Gap => gaps.next(),
        };
        quote!((#name, #rest))
    })
}

fn gap_names(side: &Side) -> Vec<Ident> {
    (0..gaps(side).len()).map(|number| format_ident!("gap{number}")).collect()
}

/// The type that comes out, what it asks of the gaps, and the expression that makes it.
fn output(rule: &Subst, gaps: &[Ident], core: &Path) -> (TokenStream, Vec<TokenStream>, TokenStream) {
    let replacing = build::replacing(rule);
    let names = gap_names(&rule.replacement);
    let (mut chunnels, mut gaps) = (replacing.iter().rev(), gaps.iter().zip(&names).rev());
    let (mut output, mut bounds, mut value) = (quote!(Rest), Vec::new(), quote!(rest));
    for item in rule.replacement.items.iter().rev() {
        match item {
            Item::Chunnel(chunnel) => {
                let name = chunnels.next();
                output = quote!(#core::Stack<#chunnel, #output>);
                value = quote!(#core::Stack::new(#name, #value));
            }
            Item::Gap => {
                let Some((gap, name)) = gaps.next() else { continue };
                bounds.push(quote!(#gap: #core::pass::Append<#output>));
                output = quote!(<#gap as #core::pass::Append<#output>>::Output);
                value = quote!(#core::pass::Append::append(#name, #value));
            }
        }
    }
    (output, bounds, value)
}
