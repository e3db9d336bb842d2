//! A message of a call on its way.

use crate::Trace;
use bertha_chunnels::rpc::FailureKind;
use bertha_schemas::{Fault, PrivateMemory};
use std::sync::Arc;

/// A message of a call between an application and its peer, as engines see it.
#[derive(Debug)]
pub struct Message {
    /// The kind of the message.
    pub kind: Kind,
    /// The number of the call among those of the application.
    pub call: u64,
    /// The place of the method among those of the schema.
    pub method: u32,
    /// Number of bytes that the message takes in memory, as its sender says. Before an engine that [weighs](crate::Engine::weighs) requests
    /// gets one, they are counted, and all if they are no more than it asks for.
    pub bytes: u32,
    /// The address of the message's structure: in `content` if there is one, else in the application's heap. Zero without a structure.
    pub at: u64,
    /// The trace to which a request belongs. An engine that makes a span puts the span there.
    pub trace: Option<Trace>,
    /// The party that has given an outcome, as operators see it: an application, or the daemon or server at the end of a route. A cancellation
    /// has the one that works on the call.
    pub peer: Option<Arc<str>>,
    /// The copy that engines read. There is one if an engine of the chain [reads](crate::Engine::reads) the messages of this method.
    pub content: Option<Box<PrivateMemory>>,
    /// The part of the message that is in `content`.
    pub copied: Copied,
}

/// The part of a message that was copied for engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Copied {
    /// The whole message.
    #[default]
    Whole,
    /// The fields that the engines of a chain read at the time. Other addresses in the copy are those of the heap.
    Fields {
        /// The version of the chain's fields.
        version: u32,
    },
}

impl Copied {
    /// Returns true if the copy has all fields of this version.
    pub(crate) fn has(self, version: u32) -> bool {
        match self {
            Self::Whole => true,
            Self::Fields { version: copied } => copied == version,
        }
    }
}

/// The kind of a [`Message`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A request.
    Request,
    /// The caller wants no outcome any more. The call has none after it.
    Cancellation,
    /// The response to a request.
    Response,
    /// The reason why there is no response.
    Failure(Refusal),
}

impl Kind {
    /// Returns true if the message begins a call, or gives it up.
    pub fn is_of_caller(&self) -> bool {
        matches!(self, Self::Request | Self::Cancellation)
    }
}

/// The reason why a call is not carried on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The kind of the failure that the caller gets.
    pub kind: FailureKind,
    /// The reason, for people.
    pub reason: Arc<str>,
}

impl Refusal {
    /// Returns the refusal of a message that is not passed on. The text names the message as `what`, such as "request".
    #[cold]
    pub fn of_fault(fault: &Fault, what: &str) -> Self {
        let kind = match fault {
            Fault::NoRoom => FailureKind::Overloaded,
            Fault::Large(_) | Fault::Long(_) => FailureKind::TooLarge,
            _ => FailureKind::Malformed,
        };
        // An application that has attached again may have kept a message from before.
        let hint = match fault {
            Fault::Outside(_) => "; all of a message lies in the heap of the present attachment",
            _ => "",
        };
        Self { kind, reason: format!("the {what} is not passed on: {fault}{hint}").into() }
    }
}
