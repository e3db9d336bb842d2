//! The expansion of a rule: implementations of `Pass`, `Rule`, `Guard` and `Rewrite`.

use super::build;
use super::parse::Subst;
use super::side::{Item, Side};
use crate::guarantee;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Fields, Ident, ItemStruct, Path};

/// Returns the struct, and the implementations that make it a pass.
pub(crate) fn expand(rule: TokenStream, pass: TokenStream, core: &Path) -> TokenStream {
    let implementations = implementations(rule, &pass, core).unwrap_or_else(|error| {
        let error = error.into_compile_error();
        let idle = unit_struct(&pass).ok().map(|ident| idle(&ident, core));
        quote!(#error #idle)
    });
    quote!(#pass #implementations)
}

/// Returns the name of the pass.
fn unit_struct(pass: &TokenStream) -> syn::Result<Ident> {
    let refused =
        |span| Error::new(span, "a rule stands on a unit struct without parameters: `pub struct Name;`");
    let pass = syn::parse2::<ItemStruct>(pass.clone()).map_err(|error| refused(error.span()))?;
    match pass.fields {
        Fields::Unit if pass.generics.params.is_empty() => Ok(pass.ident),
        _ => Err(refused(pass.ident.span())),
    }
}

/// Returns a pass that does nothing, in place of a pass whose rule is wrong, so that its use is not a further
/// error.
fn idle(ident: &Ident, core: &Path) -> TokenStream {
    quote! {
        impl #core::pass::Pass for #ident {
            const NAME: &'static str = "";
            type Weakens = ();
        }
        impl<__Stack> #core::pass::Apply<__Stack> for #ident {
            type Output = __Stack;
            type Changed = #core::identity::False;

            fn apply(&self, stack: __Stack, _: &mut #core::pass::Report) -> __Stack {
                stack
            }
        }
    }
}

/// # Errors
/// The first mistake in the rule, or a pass that is no unit struct.
pub(super) fn implementations(
    rule: TokenStream,
    pass: &TokenStream,
    core: &Path,
) -> syn::Result<TokenStream> {
    let ident = &unit_struct(pass)?;
    let rule = &syn::parse2::<Subst>(rule)?;
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
    let at_top = truth(!side.open_above);
    let at_bottom = truth(!side.open_below);
    let span = at(side.span);
    let core = moved(core, span);
    quote_spanned!(span=> #core::pass::Segment<#items, #at_top, #at_bottom>)
}

/// Returns a span for errors in generated code. Lints of the user's crate still recognise the code as
/// generated.
fn at(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// Returns the path with another span, as if it stood there.
fn moved(path: &Path, span: Span) -> TokenStream {
    let moved = |mut token: TokenTree| {
        token.set_span(span);
        token
    };
    path.to_token_stream().into_iter().map(moved).collect()
}

fn guard(rule: &Subst, pass: &Ident, core: &Path) -> TokenStream {
    let Some(holds) = &rule.guard else {
        return quote! {
            impl<__Captured> #core::pass::Guard<__Captured> for #pass {
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

/// Returns a type parameter for each `*` between Chunnels.
fn gaps(side: &Side) -> Vec<Ident> {
    let gaps = side.items.iter().filter(|item| matches!(item, Item::Gap)).count();
    (0..gaps).map(|number| format_ident!("__Gap{number}")).collect()
}

/// Returns the type of the matched part of the stack.
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
    let rest = build::own("rest");
    let (output, bounds, value) = output(rule, &gaps, core);
    let bind = build::bind(rule, core)?;
    let given = &rule.bounds;
    Ok(quote! {
        impl<#(#variables,)* #(#gaps,)* __Rest> #core::pass::Rewrite<#captured_type, __Rest> for #pass
        where
            #(#bounds,)*
            #(#given,)*
        {
            type Output = #output;

            fn rewrite(&self, #names: #captured_type, #rest: __Rest) -> Self::Output {
                #bind
                #value
            }
        }
    })
}

/// Returns the pattern that destructures the matched part of the stack.
fn named(rule: &Subst) -> TokenStream {
    let matched = build::matched(rule);
    let mut chunnels = matched.iter().rev();
    let mut gaps = gap_names(&rule.pattern).into_iter().rev();
    rule.pattern.items.iter().rev().fold(quote!(()), |rest, item| {
        let name = match item {
            Item::Chunnel(_) => chunnels.next().cloned(),
            Item::Gap => gaps.next(),
        };
        quote!((#name, #rest))
    })
}

fn gap_names(side: &Side) -> Vec<Ident> {
    (0..gaps(side).len()).map(|number| build::own(&format!("gap{number}"))).collect()
}

/// Returns the type of the replacement, its bounds on the gaps, and the expression that makes it.
fn output(rule: &Subst, gaps: &[Ident], core: &Path) -> (TokenStream, Vec<TokenStream>, TokenStream) {
    let replacing = build::replacing(rule);
    let names = gap_names(&rule.replacement);
    let mut chunnels = replacing.iter().rev();
    let mut gaps = gaps.iter().zip(&names).rev();
    let (mut output, mut bounds, mut value) =
        (quote!(__Rest), Vec::new(), build::own("rest").into_token_stream());
    for item in rule.replacement.items.iter().rev() {
        match item {
            Item::Chunnel(chunnel) => {
                let name = chunnels.next();
                let span = at(chunnel.span());
                let core = moved(core, span);
                output = quote!(#core::Stack<#chunnel, #output>);
                value = quote_spanned!(span=> #core::Stack::new(#name, #value));
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
