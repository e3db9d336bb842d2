//! Bytes of other machines, as functions that must hold for all bytes, and the inputs of their fuzzers.

mod corpus;
mod grpc;
mod peers;
