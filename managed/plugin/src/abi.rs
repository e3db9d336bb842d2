//! The C interface between the daemon and a library of an engine, as `engine.h` has it, with what each part means.

use std::ffi::c_void;
use std::ptr;

/// The version of this interface.
pub const VERSION: u32 = 1;

/// The function that a library exports, with the zero at its end.
pub const SYMBOL: &[u8] = b"bertha_engine_v1\0";

/// Number of bytes of the longest reason of a refusal.
pub const LONGEST_REASON: usize = 1024;

/// Number of values that a request may have in the fields that an engine reads.
pub const MOST_VALUES: usize = 4096;

/// No time.
pub const NEVER: u64 = u64::MAX;

/// The result of a function that has done its work.
pub const DONE: i32 = 0;
/// The result of a function that has failed.
pub const FAILED: i32 = 1;

/// Kinds of values.
pub mod value {
    /// A text.
    pub const TEXT: u32 = 0;
    /// Bytes.
    pub const BYTES: u32 = 1;
    /// A number with a sign.
    pub const SIGNED: u32 = 2;
    /// A number without a sign.
    pub const UNSIGNED: u32 = 3;
    /// A number with a fraction.
    pub const FRACTION: u32 = 4;
    /// True or false.
    pub const BOOL: u32 = 5;
}

/// Kinds of messages.
pub mod kind {
    /// A request.
    pub const REQUEST: u8 = 0;
    /// A cancellation.
    pub const CANCELLATION: u8 = 1;
    /// A response.
    pub const RESPONSE: u8 = 2;
    /// The reason why there is no response.
    pub const FAILURE: u8 = 3;
}

/// Verdicts on messages.
pub mod verdict {
    /// The message goes on.
    pub const PASS: u8 = 0;
    /// The caller gets a failure.
    pub const REFUSE: u8 = 1;
    /// The request waits.
    pub const HOLD: u8 = 2;
}

/// Text or bytes of another owner.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Text {
    /// The first byte.
    pub at: *const u8,
    /// Number of bytes.
    pub len: usize,
}

impl Text {
    /// No text.
    pub const EMPTY: Self = Self { at: ptr::null(), len: 0 };

    /// Returns a reference to bytes, which has no lifetime.
    pub const fn of(bytes: &[u8]) -> Self {
        Self { at: bytes.as_ptr(), len: bytes.len() }
    }
}

/// A place to which text or bytes are written.
#[repr(C)]
#[derive(Debug)]
pub struct Sink {
    /// Takes a piece.
    pub write: unsafe extern "C" fn(sink: *mut Sink, bytes: *const u8, len: usize),
}

/// The calls of an engine.
#[repr(C)]
#[derive(Debug)]
pub struct Binding {
    /// The name of the service.
    pub service: Text,
    /// The name of the caller.
    pub caller: Text,
    /// The names of the methods. There are none while no application is there: such an engine gets no calls, and is made so that settings are
    /// checked.
    pub methods: *const Text,
    /// Number of methods.
    pub method_count: usize,
}

/// A value of a field that an engine reads.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Value {
    /// The place of the field's path among those of the method.
    pub field: u32,
    /// The kind, of those in [`value`].
    pub kind: u32,
    /// The bits of a number.
    pub number: u64,
    /// The text or the bytes.
    pub text: Text,
}

/// A message, with the verdict on it.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// The number of the call.
    pub call: u64,
    /// The number of the method.
    pub method: u32,
    /// Number of bytes in memory.
    pub bytes: u32,
    /// The values of fields.
    pub values: *const Value,
    /// Number of values.
    pub value_count: usize,
    /// The kind, of those in [`kind`].
    pub kind: u8,
    /// The kind of a failure.
    pub failure: u8,
    /// The verdict, of those in [`verdict`].
    pub verdict: u8,
    /// The kind of failure of a refusal.
    pub refused_as: u8,
    /// The reason of a refusal.
    pub reason: Text,
}

/// Messages that are worked on together.
#[repr(C)]
#[derive(Debug)]
pub struct Burst {
    /// The messages.
    pub messages: *mut Message,
    /// Number of messages.
    pub count: usize,
    /// Nanoseconds since the beginning.
    pub now: u64,
    /// Number of requests that the engine holds.
    pub held: usize,
    /// Number of held requests that go on.
    pub release: usize,
    /// The time at which the engine has to be asked again.
    pub due: u64,
}

/// Makes an engine.
pub type Make = unsafe extern "C" fn(*const Binding, Text, *mut *mut c_void, *mut Sink) -> i32;
/// Returns paths of fields.
pub type Reads = unsafe extern "C" fn(*mut c_void, u32) -> Text;
/// Gives verdicts.
pub type Work = unsafe extern "C" fn(*mut c_void, *mut Burst) -> i32;
/// Changes settings.
pub type Configure = unsafe extern "C" fn(*mut c_void, Text, *mut Sink) -> i32;
/// Writes the state.
pub type TakeApart = unsafe extern "C" fn(*mut c_void, *mut u32, *mut Sink) -> i32;
/// Makes an engine of a state.
pub type Restore = unsafe extern "C" fn(*const Binding, u32, Text, *mut *mut c_void, *mut Sink) -> i32;
/// Frees an engine.
pub type Free = unsafe extern "C" fn(*mut c_void);

/// The functions of a kind of engine. In a library with a mistake some are missing.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// The version of the interface.
    pub version: u32,
    /// The name of the kind.
    pub name: Text,
    /// Makes an engine.
    pub make: Option<Make>,
    /// Returns the paths of the fields that an engine reads.
    pub reads: Option<Reads>,
    /// Gives verdicts on requests and cancellations.
    pub requests: Option<Work>,
    /// Gives verdicts on responses and failures.
    pub responses: Option<Work>,
    /// Changes settings.
    pub configure: Option<Configure>,
    /// Writes the state.
    pub take_apart: Option<TakeApart>,
    /// Makes an engine of a state.
    pub restore: Option<Restore>,
    /// Frees an engine.
    pub free: Option<Free>,
}

/// The function that a library exports.
pub type Entry = unsafe extern "C" fn() -> *const Table;
