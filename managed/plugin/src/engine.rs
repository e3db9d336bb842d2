//! An engine in Rust.

use crate::Burst;
use std::borrow::Cow;

/// A policy on the calls of one caller of a service. `bertha-managed` says what an engine sees and when.
///
/// Engines neither wait nor block. Requests that an engine holds lie with the daemon.
pub trait Engine: Sized + Send + 'static {
    /// The name by which operators know the kind: small letters, digits and hyphens, at most 64.
    const NAME: &'static str;

    /// Makes an engine of settings such as `per-second=10 burst=1`.
    ///
    /// # Errors
    /// Fails with what is wrong with the settings.
    fn make(settings: &str, binding: &Binding<'_>) -> Result<Self, String>;

    /// Returns the paths of the fields that the engine reads in the requests of a method, with a space between two. The answer stays what it
    /// is.
    fn reads(&self, method: u32) -> &str {
        let _ = method;
        ""
    }

    /// Works on requests and cancellations. The burst may be empty, when the engine is due.
    fn requests(&mut self, burst: &mut Burst<'_>);

    /// Works on responses and failures.
    fn responses(&mut self, burst: &mut Burst<'_>) {
        let _ = burst;
    }

    /// Changes the settings that are named.
    ///
    /// # Errors
    /// Fails with what is wrong; then nothing has changed.
    fn configure(&mut self, settings: &str) -> Result<(), String>;

    /// Returns the state, for another version of the engine. The engine is then dropped.
    fn take_apart(&mut self) -> State<'_>;

    /// Makes an engine of the state of another, of this version or another.
    ///
    /// # Errors
    /// Fails with the reason if the state is not understood.
    fn restore(state: State<'_>, binding: &Binding<'_>) -> Result<Self, String>;
}

/// The state of an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State<'a> {
    /// The version of the format, above zero.
    pub version: u32,
    /// The state.
    pub bytes: Cow<'a, [u8]>,
}

/// The calls of an engine.
#[derive(Debug, Clone)]
pub struct Binding<'a> {
    /// The service that is called, as operators know it.
    pub service: &'a str,
    /// The application, or the party of another machine, that calls.
    pub caller: &'a str,
    /// The names of the methods, such as `hotel.Hotel/Reserve`, by their numbers.
    pub methods: Vec<&'a str>,
}
