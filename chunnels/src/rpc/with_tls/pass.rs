//! The pass that puts the fused Chunnel in place.

use super::RpcWithTls;
use crate::{Rpc, Tls};
use bertha_core::subst;

/// Replaces [`Rpc`] directly above [`Tls`] by [`RpcWithTls`], which has the wire format of the two: peers with and without the pass
/// understand each other.
///
/// ```
/// use bertha_chunnels::rpc::FuseRpcAndTls;
/// use bertha_chunnels::{Rpc, Tls, Trust};
/// use bertha_core::{make_stack, optimize};
///
/// # fn stack(trust: Trust) -> Result<(), bertha_core::Error> {
/// let stack = make_stack!(Rpc::new(), Tls::client("store.example", trust)?);
/// let stack = optimize!(stack, FuseRpcAndTls);
/// # let _ = stack;
/// # Ok(())
/// # }
/// ```
#[subst(if [*, Rpc, Tls, *] then [*, RpcWithTls, *])]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FuseRpcAndTls;

impl From<(Rpc, Tls)> for RpcWithTls {
    fn from((rpc, tls): (Rpc, Tls)) -> Self {
        Self::new(rpc, tls)
    }
}
