//! Descriptors that peers attach to messages over Unix sockets, and the number of descriptors that this process may have.
//!
//! A peer chooses what it attaches, and the last close of a descriptor may wait: for a TCP socket with unsent data and `SO_LINGER`, or
//! for the server of a file in FUSE. So a socket that wants no descriptors [refuses](refuse) them, a socket that wants some
//! [receives](receive) all of them, and threads that are made for it [close](close_aside) what is not kept.

mod aside;
mod attached;
mod closing;
mod limit;
mod rights;

pub use aside::{Aside, Release};
pub use attached::{Attached, receive};
pub use closing::close_aside;
pub use limit::{raise_limit, soft_limit};
pub use rights::refuse;
