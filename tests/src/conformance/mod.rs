//! What the suites of `bertha-conformance` leave to this repository: the suite of messaging services, and the
//! messages of `Rpc`.

pub mod queue;
mod responses;

pub use responses::Responses;
