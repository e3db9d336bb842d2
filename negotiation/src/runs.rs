//! The one bound that generic code needs.

use crate::Link;
use bertha_core::{BoxFuture, Chunnel, ConnectContext, Connection, Datapath, Error, Picks, Roaming};

/// A datapath over which the stack `S` runs, after negotiation.
///
/// A generic client or server asks for it, and for the data that it wants to see at the top:
///
/// ```
/// use bertha_core::{Addr, Connection, Error};
/// use bertha_negotiation::{Negotiate, Runs};
///
/// async fn ask<S, D>(stack: &S, datapath: D, server: Addr) -> Result<String, Error>
/// where
///     S: Negotiate + Sync,
///     D: Runs<S, Out: Connection<Data = String>>,
/// {
///     let connection = stack.connect(datapath, server).await?;
///     connection.send("hello".into()).await?;
///     connection.recv().await
/// }
/// ```
///
/// The bound stands on the datapath, not on the stack: with an inferred `S: Chunnel<..>` the compiler's work doubles
/// with every layer. Implemented for every stack that fits; never by hand.
#[diagnostic::on_unimplemented(
    message = "the stack `{S}` cannot run over the datapath `{Self}`",
    label = "this stack does not fit this datapath"
)]
pub trait Runs<S: ?Sized>: Datapath {
    /// The connection at the top of the stack.
    type Out: Connection;

    /// Makes it out of an agreed link.
    #[doc(hidden)]
    fn instantiate<'a>(
        stack: &'a S,
        link: Link<Self::Connection>,
        picks: Picks<'a>,
        context: ConnectContext<'a, Link<Self::Connection>>,
    ) -> BoxFuture<'a, Result<Self::Out, Error>>;

    /// Returns the lowest Chunnels of the stack whose connections outlive the addresses of their peers.
    #[doc(hidden)]
    fn roaming(stack: &S) -> Vec<&dyn Roaming>;
}

impl<D, S> Runs<S> for D
where
    D: Datapath,
    S: Chunnel<Link<D::Connection>> + ?Sized,
{
    type Out = S::Connection;

    fn instantiate<'a>(
        stack: &'a S,
        link: Link<D::Connection>,
        picks: Picks<'a>,
        context: ConnectContext<'a, Link<D::Connection>>,
    ) -> BoxFuture<'a, Result<S::Connection, Error>> {
        stack.instantiate(link, picks, context)
    }

    fn roaming(stack: &S) -> Vec<&dyn Roaming> {
        let mut roaming = Vec::new();
        stack.roaming(&mut roaming);
        roaming
    }
}
