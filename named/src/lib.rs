//! Stacks, datapaths and keys by name, for programs that learn them at run time: the command `bertha`, and the
//! bindings for other languages.
//!
//! The text `ordered,reliable,tls` is a stack, top first. Alternatives are separated by a bar,
//! `tls|checksum`; an alternative of several layers is in brackets, `quic|(tls,ordered,reliable)`. A Chunnel
//! may have a value: `pace=1000000`. [`Stack::known`] lists the names.
//!
//! ```
//! use bertha::kernel::Udp;
//! use bertha::prelude::*;
//! use bertha_named::{Keys, Side, Stack};
//!
//! # async fn example() -> Result<(), bertha::Error> {
//! let text: Stack = "ordered,reliable,checksum|nothing".parse()?;
//! let stack = text.build_on(&Udp::new(), &Keys::default(), Side::Client { host: "example.org" })?;
//! let connection = stack.connect(Udp::new(), "192.0.2.7:4242").await?;
//! # Ok(()) }
//! ```
//!
//! [`Transport`] is a datapath by name, and [`OverDatapath`] is work that runs over any of them: [`Connecting`] and
//! [`Listening`] are such work, which end in an [`AnyConnection`]. So are [`Calling`] and [`Serving`], for calls and their
//! answers: they end in an [`AnyCaller`] and an [`AnyServer`]. [`connect`] also knows
//! topics of messaging services, which are no datapaths: an end of a topic has no peer to agree with.

#![forbid(unsafe_code)]

mod any;
mod build;
mod byte_stream;
mod call_format;
mod calls;
mod connect;
mod freed;
mod keys;
mod layer;
mod losses;
mod options;
mod stack;
#[cfg(feature = "queue")]
mod topics;
mod transport;
mod unknown;
mod until_closed;

pub use any::{AnyConnection, AnyDatagrams, AnyIncoming, Connecting, Listened, Listening};
pub use call_format::CallFormat;
pub use calls::{
    AnyCall, AnyCaller, AnyResponses, AnyServer, ArrivedCall, Calling, RequestSender, RequestsToSend,
    ServerEnd, Serving, method, requests,
};
pub use connect::{ToConnect, connect};
pub use freed::{Freed, InUse};
pub use keys::{Keys, Side};
use layer::Layer;
pub use losses::{Counted, Loss, Losses};
pub use options::Options;
use stack::Element;
pub use stack::Stack;
#[cfg(feature = "queue")]
pub use topics::TopicAddress;
pub use transport::{OverDatapath, Transport};
pub use unknown::Unknown;
