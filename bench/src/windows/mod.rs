//! Congestion windows over time: one flow that always has something to send, over a simulated link with a queue of one
//! bandwidth-delay product.
//!
//! The links are those of the thesis, chapter 4. Time is virtual and chance comes from a seed, so a run gives the same on
//! every machine.

mod figure;
mod link;
mod trace;

pub use figure::draw;
pub use link::{LINKS, Link};
pub use trace::{ALGORITHMS, Algorithm, Sample, Trace, follow};
