//! The connection that passes everything through.

use bertha_core::{Connection, forward};

/// The connection of [`Nothing`](super::Nothing): the connection below, in one more type.
#[derive(Debug, Clone)]
pub struct NothingConnection<Inner> {
    inner: Inner,
}

impl<Inner> NothingConnection<Inner> {
    pub(super) fn new(inner: Inner) -> Self {
        Self { inner }
    }
}

/// Each method returns the future from below instead of awaiting it, so this layer compiles to no code.
impl<Inner: Connection> Connection for NothingConnection<Inner> {
    type Data = Inner::Data;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, send, recv, send_batch, recv_batch, drain, close);
}
