//! A [Bertha](bertha_core) optimisation pass: encode a message and add its checksum in one layer instead of two.
//!
//! ```
//! use bertha_chunnels::{Checksum, Postcard, Serialize};
//! use bertha_core::{Describe, make_stack, optimize};
//! use bertha_pass_fuse_checksum::FuseChecksum;
//!
//! let stack = make_stack!(Serialize::<String, Postcard>::new(), Checksum::new());
//! let stack = optimize!(stack, FuseChecksum);
//! assert_eq!(
//!     stack.reports()[0].to_string(),
//!     "FuseChecksum: Serialize[postcard] / Checksum became SerializeChecked(Serialize[postcard] / Checksum)",
//! );
//! ```
//!
//! The pass does not change the bytes on the wire, and negotiation still sees the two layers: a peer need not
//! have the pass. `tests/cost.rs` counts the instructions that the pass saves.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod checked;
mod chunnel;
mod pass;

pub use checked::{Checked, Refused};
pub use chunnel::SerializeChecked;
pub use pass::FuseChecksum;
