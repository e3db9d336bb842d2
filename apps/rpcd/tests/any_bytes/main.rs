//! Bytes of other machines, as functions that must hold for all bytes, and the inputs of their fuzzers.

#![allow(clippy::unwrap_used)]

mod corpus;
mod grpc;
mod peers;
