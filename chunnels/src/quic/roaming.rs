//! Packets from addresses without a connection.

use super::Quic;
use super::ids::{IdKeys, id_in};
use bertha_core::{Addr, Roaming};
use std::any::Any;

impl Roaming for Quic {
    fn knows(&self, message: &[u8]) -> bool {
        id_in(message).is_some_and(|id| self.live.socket(&id).is_some())
    }

    fn adopt(&self, message: &[u8], inner: Box<dyn Any + Send>) -> bool {
        id_in(message).and_then(|id| self.live.socket(&id)).is_some_and(|socket| socket.take_path(inner))
    }

    /// Returns a stateless reset. An attacker that has seen a packet of a connection that is in use gets none.
    fn disown(&self, message: &[u8], local: &Addr) -> Option<Vec<u8>> {
        let id = id_in(message)?;
        let keys = IdKeys::new(&self.side.secret()?, local).ok()?;
        let is_live = self.live.socket(&id).is_some();
        keys.reset(message, &id).filter(|_| !is_live)
    }
}
