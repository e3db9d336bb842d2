//! The settings of serving clients.

use super::Password;
use std::time::Duration;

/// The default bound of unfinished commands in bytes.
pub(super) const UNFINISHED: usize = 256 << 20;

/// The settings of serving clients that speak RESP.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The password with which clients log in. Without one, nobody has to.
    pub password: Option<Password>,
    /// The longest time that a client may say nothing and take nothing, 300 s by default. Without one, clients may be idle for ever, as long
    /// as their places are not needed.
    pub idle: Option<Duration>,
    /// Lets another store of the user listen at an address of TCP too (`SO_REUSEPORT`); the kernel then spreads clients between the two. False by
    /// default, and a store does not start where another one listens.
    pub reuse_port: bool,
    /// The most clients at a time, 10,000 by default; fewer if the process may not open so many files. A further client takes the place of the
    /// client that has been idle for the longest time, first of those that have said nothing, then of a network with more than a quarter of
    /// the places.
    pub clients: usize,
    /// The memory in bytes that unfinished commands of all clients may take together, 256 MiB by default. When there is more, the
    /// connection ends that has taken the most for the longest time.
    pub unfinished: usize,
    /// The memory in bytes that replies which clients do not read, and commands behind them, may take together, 1 GiB by default, as
    /// [`unfinished`](Self::unfinished). Values count in full although unsent replies share them with the store.
    pub unsent: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            password: None,
            idle: Some(Duration::from_secs(300)),
            reuse_port: false,
            clients: 10_000,
            unfinished: UNFINISHED,
            unsent: 1 << 30,
        }
    }
}
