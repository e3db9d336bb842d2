//! Streams of bytes over datapaths and stacks: the conformance suites, and other projects' libraries (hyper,
//! rustls) over the streams.

mod accepting;
mod conformance_catches;
mod framed_datapath;
mod http;
mod over_everything;
mod place;
mod rustls;
