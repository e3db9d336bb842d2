//! A program whose stack passes rewrite.

use super::connecting;

/// Sixteen Chunnels of different types, and passes.
///
/// Each pass matches once, and leaves as many Chunnels as it found: what is compiled besides the passes stays the same.
const DECLARATIONS: &str = "\
use bertha_chunnels::Nothing;
use bertha_core::{Chunnel, Identity, ConnectContext, make_stack};

macro_rules! layers {
    ($($name:ident)*) => {$(
        #[derive(Debug, Identity)]
        #[chunnel(one_sided)]
        struct $name;

        impl<Inner: Connection> Chunnel<Inner> for $name {
            type Connection = <Nothing as Chunnel<Inner>>::Connection;

            async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Self::Connection, Error> {
                Nothing.connect_wrap(inner, context).await
            }
        }
    )*};
}

layers!(L1 L2 L3 L4 L5 L6 L7 L8 L9 L10 L11 L12 L13 L14 L15 L16);
";

const PASSES: &str = "
use bertha_core::{optimize, subst};

#[subst(if [*, L1, L2, *] then [*, L2, L1, *])]
struct SwapFirst;
#[subst(if [*, L7, L8, *] then [*, L8, L7, *])]
struct SwapMiddle;
#[subst(if [*, L15, L16, *] then [*, L16, L15, *])]
struct SwapLast;
#[subst(if [*, L4, *, L12, *] then [*, L12, *, L4, *])]
struct SwapFarApart;
";

const STACK: &str = "make_stack!(L1, L2, L3, L4, L5, L6, L7, L8, L9, L10, L11, L12, L13, L14, L15, L16)";

/// A generic client with a stack of sixteen Chunnels, rewritten by four passes or by none.
pub fn sixteen_layers(rewritten: bool) -> String {
    if rewritten {
        let stack = format!("optimize!({STACK}, SwapFirst, SwapMiddle, SwapLast, SwapFarApart)");
        connecting(&[DECLARATIONS, PASSES].concat(), &stack)
    } else {
        connecting(DECLARATIONS, STACK)
    }
}
