//! Reading a rule.

use super::side::{Item, Side};
use super::variables::Variables;
use crate::guarantee;
use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, ExprClosure, Ident, Token, Type, WherePredicate, bracketed};

mod keyword {
    syn::custom_keyword!(when);
    syn::custom_keyword!(then);
    syn::custom_keyword!(with);
    syn::custom_keyword!(weakens);
}

/// `for<..> if [..] when .. then [..] with |..| .., weakens(..) where ..`
pub(crate) struct Subst {
    pub(super) variables: Variables,
    pub(super) pattern: Side,
    pub(super) guard: Option<Type>,
    pub(super) replacement: Side,
    pub(super) build: Option<ExprClosure>,
    pub(super) weakens: Vec<Ident>,
    pub(super) bounds: Vec<WherePredicate>,
}

impl Parse for Subst {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let variables = if input.peek(Token![for]) { input.parse()? } else { Variables::none() };
        expect(input.peek(Token![if]), input, "`if [..]`, the Chunnels to look for")?;
        input.parse::<Token![if]>()?;
        let pattern = pattern(input)?;

        let mut guard = None;
        if input.peek(keyword::when) {
            input.parse::<keyword::when>()?;
            guard = Some(input.parse()?);
        }
        expect(input.peek(keyword::then), input, "`then [..]`, what the Chunnels are replaced by")?;
        input.parse::<keyword::then>()?;
        let replacement = replacement(input, &pattern)?;

        let mut build = None;
        if input.peek(keyword::with) {
            input.parse::<keyword::with>()?;
            expect(input.peek(Token![|]), input, "a closure that builds the replacement: `with |a, b| ..`")?;
            build = Some(closure(input, &pattern)?);
        }
        let mut weakens = Vec::new();
        if input.peek(Token![,]) {
            input.parse::<Token![,]>()?;
            if !input.is_empty() {
                expect(
                    input.peek(keyword::weakens),
                    input,
                    "`weakens(..)`, the guarantees that the pass may drop",
                )?;
                input.parse::<keyword::weakens>()?;
                weakens = guarantee::list(input)?;
            }
        }
        let bounds = bounds(input)?;
        expect(
            input.is_empty(),
            input,
            "`with |..| ..`, `, weakens(..)`, `where ..` or the end of the rule",
        )?;
        variables.check(&pattern, !bounds.is_empty())?;
        Ok(Self { variables, pattern, guard, replacement, build, weakens, bounds })
    }
}

fn expect(there: bool, input: ParseStream<'_>, what: &str) -> syn::Result<()> {
    if there { Ok(()) } else { Err(input.error(format!("expected {what}"))) }
}

fn side(input: ParseStream<'_>, what: &str) -> syn::Result<(Span, Vec<(Span, Item)>)> {
    expect(input.peek(syn::token::Bracket), input, &format!("{what} in brackets: `[*, First, Second, *]`"))?;
    let content;
    let bracket = bracketed!(content in input);
    let items = Punctuated::<(Span, Item), Token![,]>::parse_terminated_with(&content, |input| {
        let span = input.span();
        if input.peek(Token![*]) {
            input.parse::<Token![*]>()?;
            return Ok((span, Item::Gap));
        }
        match input.parse::<Type>() {
            Ok(chunnel) => Ok((chunnel.span(), Item::Chunnel(Box::new(chunnel)))),
            Err(error) => {
                Err(Error::new(error.span(), "expected the type of a Chunnel, or `*` for any number of them"))
            }
        }
    })?;
    Ok((bracket.span.join(), items.into_iter().collect()))
}

fn pattern(input: ParseStream<'_>) -> syn::Result<Side> {
    let (span, items) = side(input, "the Chunnels to look for")?;
    if items.iter().all(|(_, item)| matches!(item, Item::Gap)) {
        return Err(Error::new(span, "a pattern needs at least one Chunnel: `[*, Chunnel, *]`"));
    }
    for pair in items.windows(2) {
        if let [(_, Item::Gap), (second, Item::Gap)] = pair {
            return Err(Error::new(*second, "one `*` stands for any number of Chunnels; remove this one"));
        }
    }
    let mut items: Vec<_> = items.into_iter().map(|(_, item)| item).collect();
    let open_below = matches!(items.last(), Some(Item::Gap));
    if open_below {
        items.pop();
    }
    let open_above = matches!(items.first(), Some(Item::Gap));
    if open_above {
        items.remove(0);
    }
    Ok(Side { open_above, items, open_below, span })
}

fn replacement(input: ParseStream<'_>, pattern: &Side) -> syn::Result<Side> {
    let (span, items) = side(input, "what the Chunnels are replaced by")?;
    let mut items: Vec<_> = items.into_iter().map(|(_, item)| item).collect();
    // In `[*, *]` the first `*` is the upper end and the second `*` is the lower end.
    if pattern.open_above {
        if !matches!(items.first(), Some(Item::Gap)) {
            let what = "the pattern begins with `*`, for what stands above it and stays; so this must begin with `*`";
            return Err(Error::new(span, what));
        }
        items.remove(0);
    }
    if pattern.open_below {
        if !matches!(items.last(), Some(Item::Gap)) {
            let what =
                "the pattern ends with `*`, for what stands below it and stays; so this must end with `*`";
            return Err(Error::new(span, what));
        }
        items.pop();
    }
    let side = Side { open_above: pattern.open_above, items, open_below: pattern.open_below, span };
    let ends = usize::from(side.open_above) + usize::from(side.open_below);
    let there = pattern.gaps() + ends;
    let here = side.gaps() + ends;
    if here != there {
        let what = format!(
            "the pattern has {there} `*`, and this has {here}; each stands for Chunnels that stay, in this order"
        );
        return Err(Error::new(side.span, what));
    }
    Ok(side)
}

/// `where ..`, up to the end of the rule.
fn bounds(input: ParseStream<'_>) -> syn::Result<Vec<WherePredicate>> {
    let mut bounds = Vec::new();
    if !input.peek(Token![where]) {
        return Ok(bounds);
    }
    input.parse::<Token![where]>()?;
    while !input.is_empty() {
        // The word would be read as a type.
        if input.peek(keyword::weakens) && !input.peek2(Token![:]) {
            return Err(input.error("`, weakens(..)` stands before `where`"));
        }
        bounds.push(input.parse()?);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    Ok(bounds)
}

fn closure(input: ParseStream<'_>, pattern: &Side) -> syn::Result<ExprClosure> {
    let closure = input.parse::<ExprClosure>()?;
    let taken = closure.inputs.len();
    let matched = pattern.chunnels().count();
    if taken != matched {
        let span = if taken == 0 { closure.or1_token.span() } else { closure.inputs.span() };
        let (chunnels, arguments) = match matched {
            1 => ("one Chunnel".to_owned(), "one argument".to_owned()),
            several => (format!("{several} Chunnels"), format!("{several} arguments")),
        };
        let what = format!("the pattern matches {chunnels}, so the closure takes {arguments}, not {taken}");
        return Err(Error::new(span, what));
    }
    Ok(closure)
}
