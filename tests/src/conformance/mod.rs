//! What the suites of `bertha-conformance` leave to this repository: the suite of messaging services, the ends
//! of negotiated connections, and the messages of `Rpc`.

mod ends;
pub mod queue;
mod responses;

pub use ends::negotiated_ends;
pub use responses::Responses;
