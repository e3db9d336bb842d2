//! The interface of engines.

use crate::{Burst, CallCounts, Message, Settings, Traffic, Unsuitable};
use bertha_schemas::{Path, Plan, Schema};
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// A policy on the calls of one [`Binding`].
///
/// Of each call that an engine lets pass, it sees one outcome: a response, a failure (of the server, or of an engine behind it), or a
/// cancellation. It works on bursts in place, and neither waits nor allocates for a call. Times count from the beginning of the chain.
pub trait Engine: Debug + Send {
    /// Works on requests and cancellations. What stays in the burst goes on to the next engine.
    ///
    /// The burst may be empty, when the engine is [due](Self::due).
    fn requests(&mut self, burst: &mut Burst, now: Duration);

    /// Works on responses and failures. What stays in the burst goes on to the caller's side.
    fn responses(&mut self, burst: &mut Burst, now: Duration);

    /// Returns the time at which the engine has to work even without messages.
    fn due(&self) -> Option<Duration> {
        None
    }

    /// Returns the fields of a method's request that the engine reads. Where there are any, requests have a copy of
    /// them, and of the messages that lead to them, as their [content](Message::content). It may have nothing else.
    fn reads(&self, method: u32) -> &[Path] {
        let _ = method;
        &[]
    }

    /// Returns a number of bytes, if the engine asks which requests are [larger](Message::bytes) than that.
    fn weighs(&self) -> Option<u32> {
        None
    }

    /// Changes settings. Those that are not named stay.
    ///
    /// # Errors
    /// Fails with what is wrong; then nothing has changed.
    fn configure(&mut self, settings: Settings) -> Result<(), Unsuitable>;

    /// Takes the engine apart, for a later version of it or for its removal.
    fn take_apart(self: Box<Self>) -> Parts;
}

/// The parts of an engine that was taken apart.
#[derive(Debug, Default)]
pub struct Parts {
    /// The version of the state's format.
    pub version: u32,
    /// The state.
    pub state: Vec<u8>,
    /// The requests that the engine holds, in order.
    pub held: VecDeque<Message>,
}

/// A kind of engine, which makes engines.
pub trait EngineKind: Debug + Send + Sync {
    /// Returns the name by which operators know the kind.
    fn name(&self) -> &str;

    /// Makes an engine.
    ///
    /// # Errors
    /// Fails with what is wrong with the settings, also for the schema of this binding.
    fn make(&self, settings: Settings, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable>;

    /// Makes an engine of the parts of another, of this kind or of an earlier version of it. The engine takes what it needs of the parts;
    /// requests that are left there go on to the engine behind.
    ///
    /// # Errors
    /// Fails with the reason if the state is not understood; then the parts are as they were.
    fn restore(&self, parts: &mut Parts, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable>;
}

/// The calls that an engine works on.
#[derive(Debug, Clone)]
pub struct Binding {
    /// The application that calls, or the party that calls from another machine, as operators see it.
    pub caller: Arc<str>,
    /// The service that is called, by the name under which operators know it.
    pub service: Arc<str>,
    /// The counts of all calls, to which engines may add.
    pub counts: Arc<CallCounts>,
    /// The calls of all callers that are on their way.
    pub traffic: Arc<Traffic>,
    /// Makes the chain work on requests soon, even without messages: an engine that holds some keeps it where engines of other callers find it.
    pub waker: Waker,
    /// The schema that both ends have. One without methods is not known yet: the engine has no calls, and its settings are checked.
    pub schema: Arc<Schema>,
    /// The plan of the schema.
    pub plan: Arc<Plan>,
}
