//! Patterns that name types of the standard library as parameters.

use bertha_chunnels::Serialize;
use bertha_core::{Describe, Identity, make_stack, optimize, subst};

#[derive(Identity)]
struct Text;

#[derive(Identity)]
struct Lists;

#[subst(for<C> if [*, Serialize<String, C>, *] then [*, Text, *] with |_| Text)]
struct Strings;

#[subst(for<T, C> if [*, Serialize<Vec<Option<T>>, C>, *] then [*, Lists, *] with |_| Lists)]
struct OptionLists;

fn main() {
    let stack = make_stack!(
        Serialize::<String>::new(),
        Serialize::<u64>::new(),
        Serialize::<Vec<u64>>::new(),
        Serialize::<Vec<Option<(u64, bool)>>>::new()
    );
    let stack = optimize!(stack, Strings, OptionLists).into_inner();
    let names: Vec<_> = stack.nodes().iter().map(|node| node.to_string()).collect();
    assert_eq!(names, ["Text", "Serialize[postcard]", "Serialize[postcard]", "Lists"]);
}
