//! Streams of bytes over datapaths and stacks: the conformance suites, and programs of others over them.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod accepting;
mod conformance_catches;
mod framed_datapath;
mod http;
mod over_everything;
mod place;
mod rustls;
