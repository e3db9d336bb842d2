//! The bytes of other machines at the daemon, without I/O, for the fuzzers and tests of this repository.
//!
//! Nobody else needs an item of it.

mod between;

pub use crate::doors::grpc::testing as grpc;
pub use crate::doors::peer::testing as greeting;
pub use between::Between;
