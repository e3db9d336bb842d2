//! An echo, and a chain of three services, over every transport: front asks cart for a customer's items, then price for their prices.
//!
//! The services differ only in a line of [`Transport`]. [`Site`] is what they share on a machine: the
//! directory, and a certificate. [`services`] are the services, [`load`] asks them.

//!
//! With the feature `hotel`, `hotel` is an application of five services in processes of their own.

// Generated types in `hotel` have layouts, and allow it.
#![deny(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "tests panic to fail"))]

// Services of a machine that find each other through the directory do without TLS.
bertha_core::passes!(bertha_pass_skip_tls::SkipTlsWhenLocal accepting (Encrypted));

#[cfg(feature = "hotel")]
pub mod hotel;
pub mod load;
mod message;
mod peers;
pub mod services;
mod site;
mod transport;

pub use message::{Item, Message};
pub use peers::{Call, Handler, Serving};
pub use site::Site;
pub use transport::Transport;
