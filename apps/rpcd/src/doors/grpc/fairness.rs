//! The shares of connections in the time of the daemon: turns of their sockets, and a bound of what is no call.

pub(super) mod credit;
pub(super) mod turns;
pub(super) mod turnstile;
