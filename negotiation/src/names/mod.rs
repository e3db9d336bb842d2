//! From names to addresses.
//!
//! `connect` takes a name in the place of an address, and by default the system resolves it. These resolvers
//! know other names, or other servers; an application passes a resolver to `connect(..).resolver(..)`. Any
//! other registry of services is a [`Resolver`](bertha_core::Resolver) of a few lines, in a crate that
//! depends on `bertha-core` alone.
//!
//! | resolver | feature | names |
//! |---|---|---|
//! | [`Static`] | | the names of a list |
//! | `Dns` | `dns` | `example.org:80` by A and AAAA; `_store._udp.example.org` by SRV |
//! | `Etcd` | `etcd` | `store`: the addresses that its instances have written below a prefix |
//!
//! Kubernetes answers for its services by DNS, headless services and named ports
//! (`_store._udp.name.space.svc.cluster.local`) included; so does Consul (`_store._udp.service.consul`).
//! `Dns` reaches both.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

#[cfg(feature = "dns")]
mod dns;
#[cfg(feature = "etcd")]
mod etcd;
mod fixed;

#[cfg(feature = "dns")]
pub use dns::Dns;
#[cfg(feature = "etcd")]
pub use etcd::Etcd;
/// The client library of [`Etcd`], for TLS and logins.
#[cfg(feature = "etcd")]
#[doc(no_inline)]
pub use etcd_client;
pub use fixed::Static;
