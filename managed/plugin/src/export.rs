//! The C interface of an engine in Rust. No panic leaves it.
#![allow(unsafe_code)]

use crate::abi::{self, DONE, FAILED, Sink, Table, Text};
use crate::{Binding, Burst, Engine, State};
use std::borrow::Cow;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

/// Exports an [`Engine`](crate::Engine) from a library. A macro, since a function can make no symbol.
#[macro_export]
macro_rules! export {
    ($engine:ty) => {
        /// Returns the functions of the engine.
        #[allow(unsafe_code, reason = "the symbol is what the daemon looks for")]
        #[unsafe(no_mangle)]
        pub extern "C" fn bertha_engine_v1() -> *const $crate::abi::Table {
            $crate::Exported::<$engine>::TABLE
        }
    };
}

/// The functions of an engine in Rust.
#[derive(Debug)]
pub struct Exported<E>(PhantomData<E>);

/// An engine, as the daemon has it.
struct Running<E> {
    engine: E,
    reasons: Vec<Cow<'static, str>>,
}

impl<E: Engine> Exported<E> {
    /// The table of functions.
    pub const TABLE: &'static Table = &Table {
        version: abi::VERSION,
        name: Text::of(E::NAME.as_bytes()),
        make: Some(make::<E>),
        reads: Some(reads::<E>),
        requests: Some(requests::<E>),
        responses: Some(responses::<E>),
        configure: Some(configure::<E>),
        take_apart: Some(take_apart::<E>),
        restore: Some(restore::<E>),
        free: Some(free::<E>),
    };
}

/// Runs a function of an engine. A panic is a failure.
///
/// # Safety
/// The sink is the daemon's, or null.
unsafe fn guarded(work: impl FnOnce() -> Result<(), String>, error: *mut Sink) -> i32 {
    // An engine that panicked may be in any state that its own code makes, none of which is undefined.
    let failed = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return DONE,
        Ok(Err(reason)) => reason,
        Err(panic) => {
            // The drop of what was thrown may panic again.
            std::mem::forget(panic);
            "the engine panicked".to_owned()
        }
    };
    if !error.is_null() {
        // SAFETY: as above.
        unsafe { write(error, failed.as_bytes()) };
    }
    FAILED
}

/// Writes bytes to a sink.
///
/// # Safety
/// The sink is the daemon's.
unsafe fn write(sink: *mut Sink, bytes: &[u8]) {
    // SAFETY: as above.
    let function = unsafe { (*sink).write };
    // SAFETY: the function takes the bytes of any slice.
    unsafe { function(sink, bytes.as_ptr(), bytes.len()) }
}

/// Returns the bytes of a text of the daemon.
///
/// # Safety
/// The text is the daemon's, and there for `'a`.
unsafe fn bytes<'a>(text: Text) -> &'a [u8] {
    match text.len {
        0 => &[],
        // SAFETY: as above.
        len => unsafe { slice::from_raw_parts(text.at, len) },
    }
}

/// Returns a text of the daemon, which has checked it.
///
/// # Safety
/// The text is the daemon's, and there for `'a`.
unsafe fn text<'a>(text: Text) -> &'a str {
    // SAFETY: as above.
    std::str::from_utf8(unsafe { bytes(text) }).unwrap_or_default()
}

/// Returns what the daemon says about the calls of an engine.
///
/// # Safety
/// The binding is the daemon's, and there for `'a`.
unsafe fn binding<'a>(binding: &'a abi::Binding) -> Binding<'a> {
    let methods = match binding.method_count {
        0 => &[][..],
        // SAFETY: the daemon's binding has so many names.
        count => unsafe { slice::from_raw_parts(binding.methods, count) },
    };
    // SAFETY: all texts of the binding are there as long as the binding.
    let read = |name: &Text| unsafe { text::<'a>(*name) };
    Binding {
        service: read(&binding.service),
        caller: read(&binding.caller),
        methods: methods.iter().map(read).collect(),
    }
}

/// Hands an engine over to the daemon.
///
/// # Safety
/// The place is the daemon's.
unsafe fn hand_over<E>(engine: E, place: *mut *mut c_void) {
    let running = Box::into_raw(Box::new(Running { engine, reasons: Vec::new() }));
    // SAFETY: as above.
    unsafe { place.write(running.cast()) }
}

unsafe extern "C" fn make<E: Engine>(
    of: *const abi::Binding,
    settings: Text,
    place: *mut *mut c_void,
    error: *mut Sink,
) -> i32 {
    let work = || {
        // SAFETY: the pointer is the daemon's, and there until this returns.
        let of = unsafe { &*of };
        // SAFETY: as above.
        let of = unsafe { binding(of) };
        // SAFETY: as above.
        let engine = E::make(unsafe { text(settings) }, &of)?;
        // SAFETY: as above.
        unsafe { hand_over(engine, place) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { guarded(work, error) }
}

unsafe extern "C" fn restore<E: Engine>(
    of: *const abi::Binding,
    version: u32,
    state: Text,
    place: *mut *mut c_void,
    error: *mut Sink,
) -> i32 {
    let work = || {
        // SAFETY: the pointer is the daemon's, and there until this returns.
        let of = unsafe { &*of };
        // SAFETY: as above.
        let of = unsafe { binding(of) };
        // SAFETY: as above.
        let state = unsafe { bytes(state) };
        let engine = E::restore(State { version, bytes: state.into() }, &of)?;
        // SAFETY: as above.
        unsafe { hand_over(engine, place) };
        Ok(())
    };
    // SAFETY: as above.
    unsafe { guarded(work, error) }
}

/// Returns an engine that the daemon has.
///
/// # Safety
/// The pointer is one that was handed over, and no other function of the engine runs.
unsafe fn running<'a, E>(engine: *mut c_void) -> &'a mut Running<E> {
    // SAFETY: as above.
    unsafe { &mut *engine.cast::<Running<E>>() }
}

unsafe extern "C" fn reads<E: Engine>(engine: *mut c_void, method: u32) -> Text {
    // SAFETY: the daemon calls the functions of an engine one at a time.
    let Running { engine, .. } = unsafe { running::<E>(engine) };
    let paths = catch_unwind(AssertUnwindSafe(|| Text::of(engine.reads(method).as_bytes())));
    // What is no path is a mistake that the daemon tells by name.
    paths.unwrap_or_else(|panic| {
        std::mem::forget(panic);
        Text::of(b"the-engine-panicked")
    })
}

unsafe extern "C" fn requests<E: Engine>(engine: *mut c_void, burst: *mut abi::Burst) -> i32 {
    // SAFETY: the daemon calls the functions of an engine one at a time, with a burst that is there until this returns.
    unsafe { work(engine, burst, E::requests) }
}

unsafe extern "C" fn responses<E: Engine>(engine: *mut c_void, burst: *mut abi::Burst) -> i32 {
    // SAFETY: as above.
    unsafe { work(engine, burst, E::responses) }
}

/// Has an engine work on a burst.
///
/// # Safety
/// The engine and the burst are those of the daemon's call.
unsafe fn work<E>(engine: *mut c_void, burst: *mut abi::Burst, work: fn(&mut E, &mut Burst<'_>)) -> i32 {
    // SAFETY: as above.
    let Running { engine, reasons } = unsafe { running::<E>(engine) };
    // SAFETY: as above.
    let burst = unsafe { &mut *burst };
    // SAFETY: as above.
    let mut burst = unsafe { Burst::of(burst, reasons) };
    let judge = || {
        work(engine, &mut burst);
        Ok(())
    };
    // SAFETY: there is no sink.
    unsafe { guarded(judge, std::ptr::null_mut()) }
}

unsafe extern "C" fn configure<E: Engine>(engine: *mut c_void, settings: Text, error: *mut Sink) -> i32 {
    // SAFETY: the daemon calls the functions of an engine one at a time.
    let Running { engine, .. } = unsafe { running::<E>(engine) };
    // SAFETY: the text is there until this returns.
    let settings = unsafe { text(settings) };
    // SAFETY: as above.
    unsafe { guarded(|| engine.configure(settings), error) }
}

unsafe extern "C" fn take_apart<E: Engine>(engine: *mut c_void, version: *mut u32, state: *mut Sink) -> i32 {
    // SAFETY: the daemon calls the functions of an engine one at a time.
    let Running { engine, .. } = unsafe { running::<E>(engine) };
    let work = || {
        let State { version: format, bytes } = engine.take_apart();
        // SAFETY: the place is the daemon's, and there until this returns.
        unsafe { version.write(format) };
        // SAFETY: as above.
        unsafe { write(state, &bytes) };
        Ok(())
    };
    // SAFETY: there is no sink for errors.
    unsafe { guarded(work, std::ptr::null_mut()) }
}

unsafe extern "C" fn free<E: Engine>(engine: *mut c_void) {
    // SAFETY: the pointer was handed over by `hand_over`, and the daemon frees an engine once.
    let running = unsafe { Box::from_raw(engine.cast::<Running<E>>()) };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(running))) {
        std::mem::forget(panic);
    }
}

#[cfg(test)]
mod tests;
