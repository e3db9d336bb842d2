//! The connections of a process, seen from outside.
//!
//! A program that lets itself be watched has one line for it, before it opens its first connection:
//!
//! ```
//! # if std::env::var_os("XDG_RUNTIME_DIR").is_none() { return Ok(()); }
//! let _observer = bertha_observe::observe("my-program")?;
//! # Ok::<(), bertha_core::Error>(())
//! ```
//!
//! From then on `bertha top` of the same user shows its connections, and [`read_all`] reads their
//! [`ProcessState`]. The feature `prometheus` has a collector for the crate of that name.
//!
//! # Cost
//!
//! Each connection costs an entry of about 200 bytes, and messages cost nothing more than before. A question costs the
//! locks of the layers, each for a short time, and a thread of its own writes the answer.
//!
//! # Who may ask
//!
//! The user of the process and root. The answers have addresses, stacks and counters, and no payloads or keys.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests panic to fail"))]

mod capture;
mod layer_state;
mod observer;
mod place;
mod process_state;
#[cfg(feature = "prometheus")]
pub mod prometheus;
mod reading;

pub use layer_state::{DropState, LayerState, NamedValue, StateValue};
pub use observer::{Observer, observe};
pub use place::folder;
pub use process_state::{ConnectionState, ListenerState, ProcessState};
pub use reading::{Answer, read_all};
