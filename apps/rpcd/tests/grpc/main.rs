//! Strangers that speak gRPC, on both sides of a daemon.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

#[path = "../authority/mod.rs"]
mod authority;
mod behind_envoy;
mod bounds;
mod calls;
mod details;
mod envoy;
#[path = "../from_address/mod.rs"]
mod from_address;
mod grpcio;
mod grpcurl;
#[path = "../hotel/mod.rs"]
mod hotel;
mod impatient;
mod leaving;
#[path = "../stranger/mod.rs"]
mod stranger;
mod streams;
mod tls;
