//! Streams of bytes over stacks of messages.

use crate::{Keys, Side, Stack, Transport};
use bertha::guarantee::{AtMostOnce, Ordered, Reliable, Set};
use bertha::kernel::Udp;
use bertha::{Error, Negotiate};

impl Stack {
    /// The guarantees without which messages are no stream of bytes, as that of TCP is: the [floor](bertha::Settings::floor) of connections that carry
    /// one.
    pub const BYTE_STREAM: Set = Set::of::<(Reliable, (Ordered, AtMostOnce))>();

    /// Checks that an alternative of the stack carries a stream of bytes over this datapath, for this end of a connection. What is wrong with it is so
    /// known before there is a connection.
    ///
    /// # Errors
    /// [`Invalid`](bertha::ErrorKind::Invalid) with the guarantee that is missing. The errors of [`build`](Self::build).
    pub fn check_byte_stream(&self, over: Transport, keys: &Keys, side: Side<'_>) -> Result<(), Error> {
        // A stack has the same layers over each datapath.
        let stack = self.build_on(&Udp::new(), keys, side)?;
        let checked = stack.check_over(over.properties(), Self::BYTE_STREAM);
        checked.map_err(|error| {
            let what = format!("{}; `ordered,reliable` gives what a stream of bytes needs", error.context());
            error.retold(what)
        })
    }
}
