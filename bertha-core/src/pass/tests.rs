//! Rules over stacks, and the resulting stacks.

use super::*;
use crate::guarantee::{Encrypted, Ordered, Reliable, Set};
use crate::identity::{Bool, False, True};
use crate::{Describe, Identity, Stack, make_stack, select, subst};
use std::marker::PhantomData;

/// A Chunnel with a number, which shows where each value went.
macro_rules! chunnels {
    ($($(#[$attribute:meta])* $name:ident)*) => {
        $(
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Identity)]
            $(#[$attribute])*
            struct $name(u32);
        )*
    };
}

chunnels!(A B C D E);

const CHANGES_WIRE: &str = "; this changes the wire, so both ends need the pass";

// The module stands behind the macro that it uses.
mod by_hand;
mod deep;
mod guarantees;
mod names;
mod rules;
mod wire;

/// A Chunnel with parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Identity)]
struct Holder<T, K = Plain>(u32, PhantomData<fn() -> (T, K)>);

#[derive(Debug, Identity)]
#[chunnel(parameter)]
struct Plain;

#[derive(Debug, Identity)]
#[chunnel(parameter)]
struct Fancy;

fn holder<T, K>(number: u32) -> Holder<T, K> {
    Holder(number, PhantomData)
}

/// Returns the stack's first line, without the reports of passes.
fn layers(stack: &impl Describe) -> String {
    stack.explain().to_string().lines().next().unwrap_or_default().to_owned()
}

/// Returns the reports of the passes, one line each.
fn notes<S, P>(stack: &Optimized<S, P>) -> Vec<String> {
    stack.reports().iter().map(Report::to_string).collect()
}
