//! `#[derive(Identity)]`.

use crate::attributes::{arguments, full_name, version};
use crate::guarantee;
use crate::needs::Needs;
use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, ExprPath, Generics, Ident, LitInt, Path, Type, parse_quote, parse2};

/// # Errors
/// The first mistake in the attributes.
pub(crate) fn derive(input: TokenStream, core: &Path) -> syn::Result<TokenStream> {
    let input = &parse2::<DeriveInput>(input)?;
    let chunnel = Attributes::read(input)?;
    let ident = &input.ident;
    let name = full_name(input);
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let of = parse_quote!(#ident #type_generics);
    let kind = format_ident!("{}", if chunnel.parameter { "Parameter" } else { "Layer" });
    let guarantees = guarantee::set(&chunnel.guarantees, core);
    let withdraws = (!chunnel.withdraws.is_empty()).then(|| guarantee::set(&chunnel.withdraws, core));
    let effects = match &withdraws {
        Some(withdraws) => quote!((#guarantees, #core::guarantee::Withdrawn<#withdraws>)),
        None => guarantees.clone(),
    };
    let identity = implementation(&of, &input.generics, &name, &kind, &effects, core);
    if chunnel.parameter {
        return Ok(identity);
    }

    let wire_version = chunnel.version;
    let layer = match chunnel.capability {
        Some(path) => quote!(#core::LayerInfo::with(<Self as #core::identity::Identity>::NAME, #path(self))),
        None => quote!(#core::LayerInfo::plain(<Self as #core::identity::Identity>::NAME, #wire_version)),
    };
    if let Some(path) = chunnel.layers {
        return Ok(quote! {
            #identity
            impl #impl_generics #core::Describe for #ident #type_generics #where_clause {
                fn describe(&self, into: &mut ::std::vec::Vec<#core::Node>) {
                    into.extend(::std::iter::Iterator::map(
                        ::std::iter::IntoIterator::into_iter(#path(self)),
                        |layer| #core::Node::from(layer).done_by(#name),
                    ));
                }
            }
        });
    }
    let needing = chunnel.needs.needing(core);
    let one_sided = chunnel.one_sided.then(|| quote!(.one_sided()));
    let apart = chunnel.apart.as_ref().map(|front| quote!(.apart(#front)));
    let steered = chunnel.steered.map(|path| quote!(.steered(#path(self))));
    let early = chunnel.no_early_data.then(|| quote!(.without_early_data()));
    let withdrawing =
        withdraws.map(|withdraws| quote!(.withdrawing(#core::guarantee::Set::of::<#withdraws>())));
    let added = chunnel.adds.as_ref().map(|path| {
        let this = quote!(self);
        quote_spanned!(path.span()=> | #path(#this))
    });
    let guaranteeing = (!chunnel.guarantees.is_empty() || added.is_some())
        .then(|| quote!(.guaranteeing(#core::guarantee::Set::of::<#guarantees>() #added)));
    Ok(quote! {
        #identity
        impl #impl_generics #core::Describe for #ident #type_generics #where_clause {
            fn describe(&self, into: &mut ::std::vec::Vec<#core::Node>) {
                into.push(#core::Node::Layer(#layer #apart #steered #one_sided #early #guaranteeing #withdrawing #needing));
            }

            fn layers(&self) -> usize {
                1
            }
        }
    })
}

/// `Identity` for the type `of`.
pub(crate) fn implementation(
    of: &Type,
    generics: &Generics,
    name: &str,
    kind: &Ident,
    guarantees: &TokenStream,
    core: &Path,
) -> TokenStream {
    let (impl_generics, _, where_clause) = generics.split_for_impl();
    let id = id(name, core);
    let parameters = parameters(generics);
    quote! {
        impl #impl_generics #core::identity::Identity for #of #where_clause {
            type Id = #id;
            type Parameters = #parameters;
            type Guarantees = #guarantees;
            type Kind = #core::identity::kind::#kind;
            const NAME: &'static str = #name;
        }
    }
}

/// The arguments of `#[chunnel(..)]`.
struct Attributes {
    version: u16,
    capability: Option<ExprPath>,
    layers: Option<ExprPath>,
    apart: Option<LitInt>,
    steered: Option<ExprPath>,
    one_sided: bool,
    no_early_data: bool,
    parameter: bool,
    guarantees: Vec<Ident>,
    withdraws: Vec<Ident>,
    adds: Option<ExprPath>,
    needs: Needs,
}

impl Attributes {
    fn read(input: &DeriveInput) -> syn::Result<Self> {
        let mut read = Self {
            version: 1,
            capability: None,
            layers: None,
            apart: None,
            steered: None,
            one_sided: false,
            no_early_data: false,
            parameter: false,
            guarantees: Vec::new(),
            withdraws: Vec::new(),
            adds: None,
            needs: Needs::None,
        };
        let mut given = Vec::new();
        arguments(&input.attrs, "chunnel", |meta| {
            given.extend(meta.path.get_ident().cloned());
            if meta.path.is_ident("version") {
                read.version = version(&meta)?;
            } else if meta.path.is_ident("capability") {
                read.capability = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("layers") {
                read.layers = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("apart") {
                read.apart = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("steered") {
                read.steered = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("one_sided") {
                read.one_sided = true;
            } else if meta.path.is_ident("no_early_data") {
                read.no_early_data = true;
            } else if meta.path.is_ident("parameter") {
                read.parameter = true;
            } else if meta.path.is_ident("guarantees") {
                read.guarantees = guarantee::list(meta.input)?;
            } else if meta.path.is_ident("withdraws") {
                read.withdraws = guarantee::list(meta.input)?;
            } else if meta.path.is_ident("adds") {
                read.adds = Some(meta.value()?.parse()?);
            } else if meta.path.is_ident("needs") {
                read.needs = Needs::read(&meta)?;
            } else {
                return Err(meta.error(
                    "expected `version = N`, `capability = path`, `layers = path`, `guarantees(..)`, `withdraws(..)`, `adds = path`, `needs(..)`, `needs = path`, `apart = N`, `steered = path`, `one_sided`, `no_early_data` or `parameter`",
                ));
            }
            Ok(())
        })?;
        CONTRADICTIONS.iter().try_for_each(|pair| pair.refuse(&given))?;
        Ok(read)
    }
}

/// Two arguments of which one would have no effect beside the other.
struct Contradiction {
    argument: &'static str,
    beside: &'static str,
    reason: &'static str,
}

const EACH_LAYER: &str = "with `layers`, each layer says this itself, by a method of `LayerInfo`";

const CONTRADICTIONS: [Contradiction; 9] = [
    Contradiction {
        argument: "one_sided",
        beside: "capability",
        reason: "a one-sided Chunnel needs no counterpart, so its `capability` would never be compared; leave one of them out",
    },
    Contradiction {
        argument: "version",
        beside: "capability",
        reason: "with `capability`, the version is the capability's: `#[capability(.., version = N)]`",
    },
    Contradiction { argument: "capability", beside: "layers", reason: EACH_LAYER },
    Contradiction { argument: "apart", beside: "layers", reason: EACH_LAYER },
    Contradiction { argument: "steered", beside: "layers", reason: EACH_LAYER },
    Contradiction { argument: "one_sided", beside: "layers", reason: EACH_LAYER },
    Contradiction { argument: "no_early_data", beside: "layers", reason: EACH_LAYER },
    Contradiction { argument: "adds", beside: "layers", reason: EACH_LAYER },
    Contradiction { argument: "needs", beside: "layers", reason: EACH_LAYER },
];

impl Contradiction {
    fn refuse(&self, given: &[Ident]) -> syn::Result<()> {
        let find = |name| given.iter().find(|argument| *argument == name);
        match (find(self.argument), find(self.beside)) {
            (Some(argument), Some(_)) => Err(syn::Error::new(argument.span(), self.reason)),
            _ => Ok(()),
        }
    }
}

/// Returns the type parameters as nested pairs.
fn parameters(generics: &Generics) -> TokenStream {
    let names: Vec<_> = generics.type_params().map(|parameter| &parameter.ident).collect();
    names.iter().rev().fold(quote!(()), |rest, name| quote!((#name, #rest)))
}

/// Returns the name's hash as nested pairs of digits, most significant first.
fn id(name: &str, core: &Path) -> TokenStream {
    let digits = format!("{:016X}", fnv1a(name.as_bytes()));
    digits.chars().rev().fold(quote!(()), |rest, digit| {
        let digit = format_ident!("D{digit}");
        quote!((#core::identity::#digit, #rest))
    })
}

/// FNV-1a, 64 bits: short, fixed for all time, and good enough to tell a few thousand names apart.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use crate::refusal;
    use syn::parse_quote;

    #[track_caller]
    fn refuses(source: &str, message: &str) {
        refusal::refuses(|source| super::derive(source, &parse_quote!(::bertha_core)), source, message);
    }

    const NO_GUARANTEE: &str = "`Fast` is no guarantee; expected any of `Encrypted`, `Authenticated`, `Reliable`, `Ordered`, `AtMostOnce`, `IntegrityChecked`, `ForwardSecret`, `PeerIdentified`";
    const EACH_LAYER: &str = "with `layers`, each layer says this itself, by a method of `LayerInfo`";

    #[test]
    fn an_argument_is_known_and_of_its_kind() {
        refuses(
            "#[chunnel(«onesided»)] struct Misspelt;",
            "expected `version = N`, `capability = path`, `layers = path`, `guarantees(..)`, `withdraws(..)`, `adds = path`, `needs(..)`, `needs = path`, `apart = N`, `steered = path`, `one_sided`, `no_early_data` or `parameter`",
        );
        refuses("#[chunnel(apart = «\"four\"»)] struct NoLength;", "expected integer literal");
        refuses("#[chunnel(version = «\"two\"»)] struct NoNumber;", "expected integer literal");
        refuses("#[chunnel(version = «70000»)] struct LargeNumber;", "a version is a number from 0 to 65535");
    }

    #[test]
    fn guarantees_are_known() {
        refuses("#[chunnel(guarantees(«Fast»))] struct A;", NO_GUARANTEE);
        refuses("#[chunnel(withdraws(«Fast»))] struct A;", NO_GUARANTEE);
        refuses("#[chunnel(needs(«Fast»))] struct A;", NO_GUARANTEE);
        refuses(
            "#[chunnel(needs«)»] struct A;",
            "unexpected end of input, expected guarantees in parentheses: `(Encrypted, Ordered)`",
        );
    }

    #[test]
    fn an_argument_without_effect_beside_another_is_refused() {
        refuses(
            "#[chunnel(«one_sided», capability = never_compared)] struct A;",
            "a one-sided Chunnel needs no counterpart, so its `capability` would never be compared; leave one of them out",
        );
        refuses(
            "#[chunnel(capability = width, «version» = 2)] struct A;",
            "with `capability`, the version is the capability's: `#[capability(.., version = N)]`",
        );
        refuses("#[chunnel(«one_sided», layers = layers)] struct A;", EACH_LAYER);
        refuses("#[chunnel(«apart» = 4, layers = layers)] struct A;", EACH_LAYER);
        refuses("#[chunnel(layers = layers, «steered» = by)] struct A;", EACH_LAYER);
        refuses("#[chunnel(«needs»(Reliable), layers = layers)] struct A;", EACH_LAYER);
        refuses("#[chunnel(«capability» = width, layers = layers)] struct A;", EACH_LAYER);
        refuses("#[chunnel(«no_early_data», layers = layers)] struct A;", EACH_LAYER);
        refuses("#[chunnel(layers = layers, «adds» = more)] struct A;", EACH_LAYER);
    }
}
