//! The end of a connection that cannot go on.

use crate::kernel;
use crate::place::State;
use crate::process::Socket;

/// Ends a connection whose other end has broken the rules.
#[cold]
pub(crate) fn reset(socket: Socket) {
    kernel::reset(socket.fd);
    socket.place.set_state(State::Kernel);
}
