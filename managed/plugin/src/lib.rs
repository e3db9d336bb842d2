//! Policies on calls as shared libraries, which `bertha-rpcd` loads while calls flow.
//!
//! The interface is C, in the header `engine.h` of this crate, so that a library needs neither the daemon's compiler nor its version. In Rust
//! an engine is an [`Engine`], and a line exports it from a crate of the type `cdylib`:
//!
//! ```
//! use bertha_plugin::{Binding, Burst, Engine, FailureKind, State, Verdict};
//!
//! /// Refuses all calls of a method.
//! struct Closed(String);
//!
//! impl Engine for Closed {
//!     const NAME: &'static str = "closed";
//!
//!     fn make(settings: &str, _: &Binding<'_>) -> Result<Self, String> {
//!         let text = settings.strip_prefix("because=").ok_or("closed lacks a reason, as in because=moved")?;
//!         Ok(Self(text.to_owned()))
//!     }
//!
//!     fn requests(&mut self, burst: &mut Burst<'_>) {
//!         burst.judge(|_| Verdict::refuse(FailureKind::Unavailable, self.0.clone()));
//!     }
//!
//!     fn configure(&mut self, settings: &str) -> Result<(), String> {
//!         if settings.is_empty() { Ok(()) } else { Err("closed has no settings that change".into()) }
//!     }
//!
//!     fn take_apart(&mut self) -> State<'_> {
//!         State { version: 1, bytes: self.0.as_bytes().into() }
//!     }
//!
//!     fn restore(state: State<'_>, _: &Binding<'_>) -> Result<Self, String> {
//!         String::from_utf8(state.bytes.into_owned()).map(Self).map_err(|error| error.to_string())
//!     }
//! }
//!
//! bertha_plugin::export!(Closed);
//! ```
//!
//! A panic of an engine ends at the interface: requests of that burst are refused. The crate has to be built so that panics unwind, which is the
//! default.

#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

pub mod abi;
mod burst;
mod engine;
mod export;
mod kind;

pub use burst::{Burst, Message, Value, Verdict};
pub use engine::{Binding, Engine, State};
#[doc(hidden)]
pub use export::Exported;
pub use kind::{FailureKind, Kind};
