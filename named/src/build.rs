//! Stacks built from parsed text.
//!
//! The Chunnels are known only at run time, so each is erased: a layer costs a call an allocation here, which
//! it does not in a program's own stack.

use crate::{Element, Keys, Layer, Side, Stack};
use bertha::chunnels::{
    AtMostOnce, Batch, Checksum, Compress, Fault, Fragment, Nagle, Nothing, Ordered, Pace,
};
use bertha::local::MaybeLocal;
use bertha::{BoxConnection, BoxStack, BoxedStack, Buf, Connection, Datapath, Error, make_stack, select};

/// The type-erased stack on a connection `C`.
type Erased<C> = BoxStack<C, Buf>;
/// The connection that an erased stack on `C` makes.
type Above<C> = BoxConnection<Buf, <C as Connection>::Base>;

impl Stack {
    /// Returns the stack as a stack of any datapath's connections, for this end of a connection.
    ///
    /// # Errors
    /// [`Invalid`](bertha::ErrorKind::Invalid) if a Chunnel lacks a key or has a key that can't be used, and the errors of
    /// reading files with keys.
    pub fn build<C: Connection<Data = Buf>>(&self, keys: &Keys, side: Side<'_>) -> Result<Erased<C>, Error> {
        Builder { keys, side }.stack(&self.elements)
    }

    /// Returns the stack over `datapath`, which only says for which datapath, for this end of a connection.
    ///
    /// # Errors
    /// The errors of [`build`](Self::build).
    pub fn build_on<D: Datapath>(
        &self,
        _datapath: &D,
        keys: &Keys,
        side: Side<'_>,
    ) -> Result<BoxedStack<D, Buf>, Error> {
        self.build(keys, side)
    }
}

#[derive(Clone, Copy)]
struct Builder<'a> {
    keys: &'a Keys,
    side: Side<'a>,
}

impl Builder<'_> {
    fn stack<C: Connection<Data = Buf>>(self, elements: &[Element]) -> Result<Erased<C>, Error> {
        let Some((bottom, above)) = elements.split_last() else { return Ok(BoxStack::new(make_stack!())) };
        let mut stack = self.element::<C>(bottom)?;
        for element in above.iter().rev() {
            let upper = self.element::<Above<C>>(element)?;
            stack = BoxStack::new(make_stack!(upper, stack));
        }
        Ok(stack)
    }

    fn element<C: Connection<Data = Buf>>(self, element: &Element) -> Result<Erased<C>, Error> {
        match element {
            Element::Layer(layer) => self.layer(layer),
            Element::Alternatives(branches) => {
                let mut branches = branches.iter().rev().map(|branch| self.stack::<C>(branch));
                let mut chosen = branches.next().unwrap_or_else(|| self.stack(&[]))?;
                for branch in branches {
                    chosen = BoxStack::new(select!(branch?, chosen));
                }
                Ok(chosen)
            }
        }
    }

    fn layer<C: Connection<Data = Buf>>(self, layer: &Layer) -> Result<Erased<C>, Error> {
        Ok(match *layer {
            Layer::AtMostOnce => BoxStack::new(AtMostOnce),
            Layer::Batch => BoxStack::new(Batch::new()),
            Layer::Checksum => BoxStack::new(Checksum::new()),
            Layer::Compress => BoxStack::new(Compress::new()),
            Layer::Fault { loss } => BoxStack::new(Fault::new(1).loss(loss)),
            Layer::Fragment => BoxStack::new(Fragment::new()),
            Layer::MaybeLocal => BoxStack::new(MaybeLocal::new(self.keys.directory.clone())),
            Layer::Nagle => BoxStack::new(Nagle::new()),
            Layer::Noise => BoxStack::new(self.keys.noise()?),
            Layer::Nothing => BoxStack::new(Nothing),
            Layer::Ordered => BoxStack::new(Ordered::new()),
            Layer::Pace { bytes_per_second } => BoxStack::new(Pace::new(bytes_per_second)),
            #[cfg(feature = "quic")]
            Layer::Quic => BoxStack::new(self.keys.quic(self.side)?),
            Layer::Reliable { ref congestion } => BoxStack::new(self.keys.reliable(congestion.as_ref())?),
            Layer::Tls => BoxStack::new(self.keys.tls(self.side)?),
        })
    }
}
