//! A [Bertha](bertha_core) optimisation pass: TLS protects messages on a network, and between processes of one machine there is
//! none.
//!
//! ```no_run
//! use bertha_chunnels::Tls;
//! use bertha_chunnels::Trust;
//! use bertha_core::{make_stack, optimize};
//! use bertha_local::{Directory, MaybeLocal};
//! use bertha_pass_skip_tls::SkipTlsWhenLocal;
//!
//! # fn stack() -> Result<(), bertha_core::Error> {
//! let tls = Tls::client("cart.example", Trust::ca_file("ca.pem")?)?;
//! let stack = make_stack!(tls, MaybeLocal::new(Directory::at("/run/bertha/directory.sock")));
//! let stack = optimize!(stack, SkipTlsWhenLocal accepting (Encrypted));
//! # let _ = stack;
//! # Ok(())
//! # }
//! ```
//!
//! Without `accepting (Encrypted)` the program does not compile:
//!
//! ```compile_fail
//! # use bertha_chunnels::Tls;
//! # use bertha_chunnels::Trust;
//! # use bertha_core::{make_stack, optimize};
//! # use bertha_local::{Directory, MaybeLocal};
//! # use bertha_pass_skip_tls::SkipTlsWhenLocal;
//! # fn stack() -> Result<(), bertha_core::Error> {
//! # let tls = Tls::client("cart.example", Trust::ca_file("ca.pem")?)?;
//! # let stack = make_stack!(tls, MaybeLocal::new(Directory::at("/run/bertha/directory.sock")));
//! let stack = optimize!(stack, SkipTlsWhenLocal);
//! # let _ = stack;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod chunnel;
mod connection;
mod pass;

pub use chunnel::TlsUnlessLocal;
pub use connection::TlsUnlessLocalConnection;
pub use pass::SkipTlsWhenLocal;
