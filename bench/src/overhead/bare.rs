//! The end without a stack.

use bertha_core::{Connection, Error};

/// A connection as a type of its own.
///
/// At depth 0 both ends would have a common type and share their code, which the compiler then inlines
/// otherwise than at the other depths: an instruction more or less for each call, for any number of layers.
#[derive(Debug)]
pub(super) struct Bare<C>(pub(super) C);

impl<C: Connection> Connection for Bare<C> {
    type Data = C::Data;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.0.base()
    }

    fn send(&self, message: C::Data) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.send(message)
    }

    fn recv(&self) -> impl Future<Output = Result<C::Data, Error>> + Send {
        self.0.recv()
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = C::Data> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.send_batch(messages)
    }

    fn recv_batch(
        &self,
        into: &mut (impl Extend<C::Data> + Send),
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        self.0.recv_batch(into, limit)
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.close()
    }
}
