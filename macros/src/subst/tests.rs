//! Rules with mistakes.

use super::expand::{expand, implementations};
use crate::refusal::{self, attribute};
use syn::parse_quote;

#[track_caller]
fn refuses(source: &str, message: &str) {
    let expand = |source| {
        let (rule, pass) = attribute(source);
        implementations(rule, &pass, &parse_quote!(::bertha_core))
    };
    refusal::refuses(expand, source, message);
}

const IF: &str = "`if [..]`, the Chunnels to look for";
const UNIT_STRUCT: &str = "a rule stands on a unit struct without parameters: `pub struct Name;`";
const NO_CHUNNEL: &str = "a pattern needs at least one Chunnel: `[*, Chunnel, *]`";
const CONSTANT: &str =
    "a pattern can't compare constants; make it a variable, `for<const N: usize>`, and say `when` it fits";
const END: &str = "expected `with |..| ..`, `, weakens(..)`, `where ..` or the end of the rule";

#[test]
fn a_rule_stands_on_a_unit_struct() {
    refuses("#[subst(if [*, A, *] then [*, *])] «enum» Rule {}", UNIT_STRUCT);
    refuses("#[subst(if [*, A, *] then [*, *])] struct «Rule»(u8);", UNIT_STRUCT);
    refuses("#[subst(if [*, A, *] then [*, *])] struct «Rule»<T>;", UNIT_STRUCT);
}

#[test]
fn a_refused_pass_stays_a_type() {
    let (rule, pass) = attribute("#[subst(if [*, A, *] then [*, *])] struct Rule<T>;".parse().unwrap());
    let expanded = expand(rule, pass, &parse_quote!(::bertha_core)).to_string();
    assert!(expanded.starts_with("struct Rule < T >"), "{expanded}");
}

#[test]
fn a_rule_has_a_pattern_and_a_replacement() {
    refuses("#[subst] struct Rule;", &format!("unexpected end of input, expected {IF}"));
    refuses("#[subst()] struct Rule;", &format!("unexpected end of input, expected {IF}"));
    refuses("#[subst(«[»*, A, *] then [*, *])] struct Rule;", &format!("expected {IF}"));
    refuses(
        "#[subst(if [*, A, *])] struct Rule;",
        "unexpected end of input, expected `then [..]`, what the Chunnels are replaced by",
    );
    refuses(
        "#[subst(if [*, A, *] «than» [*, *])] struct Rule;",
        "expected `then [..]`, what the Chunnels are replaced by",
    );
}

#[test]
fn lists_have_brackets_and_commas() {
    refuses(
        "#[subst(if «*», A, * then [*, *])] struct Rule;",
        "expected the Chunnels to look for in brackets: `[*, First, Second, *]`",
    );
    refuses(
        "#[subst(if [*, A, *] then «*»)] struct Rule;",
        "expected what the Chunnels are replaced by in brackets: `[*, First, Second, *]`",
    );
    refuses("#[subst(if [* «A» *] then [*, *])] struct Rule;", "expected `,`");
    refuses("#[subst(if [*«*», A, *] then [*, *])] struct Rule;", "expected `,`");
}

#[test]
fn a_pattern_has_chunnels_and_single_stars() {
    refuses("#[subst(if «[*]» then [*])] struct Rule;", NO_CHUNNEL);
    refuses("#[subst(if «[]» then [])] struct Rule;", NO_CHUNNEL);
    refuses(
        "#[subst(if [*, «7», *] then [*, *])] struct Rule;",
        "expected the type of a Chunnel, or `*` for any number of them",
    );
    refuses(
        "#[subst(if [*, «*», A, *] then [*, *])] struct Rule;",
        "one `*` stands for any number of Chunnels; remove this one",
    );
}

#[test]
fn a_pattern_compares_no_constants() {
    refuses("#[subst(if [*, Pad<«4»>, *] then [*, *])] struct Rule;", CONSTANT);
    refuses("#[subst(if [*, Pad<«{ 2 + 2 }»>, *] then [*, *])] struct Rule;", CONSTANT);
}

#[test]
fn variables_are_types_or_constants_of_the_pattern() {
    refuses(
        "#[subst(for «T» if [*, Hold<T>, *] then [*, *])] struct Rule;",
        "expected the rule's variables: `for<T, C: Codec<T>>`",
    );
    refuses(
        "#[subst(for<«'a», T> if [*, Hold<T>, *] then [*, *])] struct Rule;",
        "a Chunnel outlives every borrow, so a rule has no lifetimes; a variable is a type or a constant",
    );
    refuses(
        "#[subst(for<«T»> if [*, A, *] then [*, *])] struct Rule;",
        "`T` does not stand in the pattern, and no `where` says what it is",
    );
}

#[test]
fn a_replacement_has_the_stars_of_the_pattern() {
    refuses(
        "#[subst(if [A, *] then «[*, A, *]»)] struct Rule;",
        "the pattern has 1 `*`, and this has 2; each stands for Chunnels that stay, in this order",
    );
    refuses(
        "#[subst(if [*, A, *, B, *] then «[*, A, B, *]»)] struct Rule;",
        "the pattern has 3 `*`, and this has 2; each stands for Chunnels that stay, in this order",
    );
    refuses(
        "#[subst(if [*, A, *] then «[A, *]»)] struct Rule;",
        "the pattern begins with `*`, for what stands above it and stays; so this must begin with `*`",
    );
    refuses(
        "#[subst(if [*, A, *] then «[*, A]»)] struct Rule;",
        "the pattern ends with `*`, for what stands below it and stays; so this must end with `*`",
    );
}

#[test]
fn a_closure_takes_the_matched_chunnels() {
    refuses(
        "#[subst(if [*, A, *] then [*, B, *] with «B»)] struct Rule;",
        "expected a closure that builds the replacement: `with |a, b| ..`",
    );
    refuses(
        "#[subst(if [*, A, B, *] then [*, C, *] with |«a»| C)] struct Rule;",
        "the pattern matches 2 Chunnels, so the closure takes 2 arguments, not 1",
    );
    refuses(
        "#[subst(if [*, A, *] then [*, C, *] with «|»| C)] struct Rule;",
        "the pattern matches one Chunnel, so the closure takes one argument, not 0",
    );
}

#[test]
fn several_new_chunnels_need_a_closure() {
    refuses(
        "#[subst(if [*, A, *] then [*, B, «C», *])] struct Rule;",
        "only one new Chunnel can be made with `From`; say how to build all: `with |a, b| (First::new(a), Second::new(b))`",
    );
}

#[test]
fn only_known_words_follow_the_replacement() {
    refuses("#[subst(if [*, A, *] then [*, B, *] «wiht» |_| B)] struct Rule;", END);
    refuses("#[subst(if [*, A, *] then [*, *] «weakens»(Encrypted))] struct Rule;", END);
    refuses(
        "#[subst(if [*, A, *] then [*, *], «weaken»(Encrypted))] struct Rule;",
        "expected `weakens(..)`, the guarantees that the pass may drop",
    );
    refuses(
        "#[subst(for<T> if [*, Hold<T>, *] then [*, *] where T: Send, «weakens»(Encrypted))] struct Rule;",
        "`, weakens(..)` stands before `where`",
    );
}

#[test]
fn a_pass_weakens_guarantees() {
    refuses(
        "#[subst(if [*, A, *] then [*, *], weakens(«Encryption»))] struct Rule;",
        "`Encryption` is no guarantee; expected any of `Encrypted`, `Authenticated`, `Reliable`, `Ordered`, `AtMostOnce`, `IntegrityChecked`, `ForwardSecret`, `PeerIdentified`",
    );
    refuses(
        "#[subst(if [*, A, *] then [*, *], weakens «Encrypted»)] struct Rule;",
        "expected guarantees in parentheses: `(Encrypted, Ordered)`",
    );
}
