//! A stack without negotiation.

use crate::picks::{Picks, preferred, resolve};
use crate::{Base, BoxFuture, Chunnel, ConnectContext, Connection, Describe, Error, Situation, check_needs};

/// A connection that the stack `S` can stand on: the bound of a generic function that [wraps](Wrap::wrap) a
/// connection.
///
/// The bound is on the connection, not on the stack: with an inferred `S: Chunnel<C>`, the compiler's work
/// doubles with every layer. It is implemented for every stack that fits, and never by hand.
#[diagnostic::on_unimplemented(
    message = "the stack `{S}` cannot run over `{Self}`",
    label = "this stack does not fit its datapath"
)]
pub trait Supports<S: ?Sized>: Connection + Sized {
    /// The connection at the top of the stack.
    type Out: Connection;

    /// Wraps `inner` in `stack`, with the alternatives that were picked.
    #[doc(hidden)]
    fn instantiate<'a>(
        stack: &'a S,
        inner: Self,
        picks: Picks<'a>,
        context: ConnectContext<'a, Self>,
    ) -> BoxFuture<'a, Result<Self::Out, Error>>;
}

impl<C: Connection, S: Chunnel<C> + ?Sized> Supports<S> for C {
    type Out = S::Connection;

    fn instantiate<'a>(
        stack: &'a S,
        inner: C,
        picks: Picks<'a>,
        context: ConnectContext<'a, C>,
    ) -> BoxFuture<'a, Result<S::Connection, Error>> {
        stack.instantiate(inner, picks, context)
    }
}

/// A stack that is used without negotiation, to talk to a peer that is not Bertha. Implemented for every stack.
pub trait Wrap: Describe + Send + Sync {
    /// Wraps `base` in this stack. Each `select!` takes its preferred alternative.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if a Chunnel [needs](crate::guarantee) a guarantee that neither
    /// the Chunnels below it nor the datapath give: `base` counts as the datapath, so put all Chunnels into
    /// one stack instead of wrapping twice. The errors of the Chunnels; a Chunnel that opens further
    /// connections fails with [`Unavailable`](crate::ErrorKind::Unavailable).
    fn wrap<C: Supports<Self>>(&self, base: C) -> impl Future<Output = Result<C::Out, Error>> + Send {
        async move {
            let nodes = self.nodes();
            let picks = preferred(&nodes, &Situation::TWO_ENDS);
            let layers = resolve(&nodes, Picks::new(&picks));
            check_needs(&layers, base.base().properties().guarantees())?;
            C::instantiate(self, base, Picks::new(&picks), ConnectContext::none()).await
        }
    }
}

impl<S: Describe + Send + Sync + ?Sized> Wrap for S {}
