//! The functions of a library, and the only code that calls them.
#![allow(unsafe_code)]

use super::reads::Reads;
use super::verdict::{Decision, Mistake, Reasons, Verdict};
use crate::{Binding, FailureKind, Kind, Message, Unsuitable};
use bertha_plugin::abi::{self, DONE, Sink, Table, Text};
use bertha_schemas::Value;
use libloading::os::unix::{Library as Open, RTLD_LOCAL, RTLD_NOW};
use std::error::Error as _;
use std::ffi::c_void;
use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::{mem, slice};

/// A library that is open, with the functions of its kind of engine.
pub(super) struct Library {
    name: Box<str>,
    functions: Functions,
    _open: Open,
    /// The file from which it was opened. The loader knows libraries by their paths, and this one's is the number of the descriptor, which no
    /// other library has as long as this one is open.
    _file: OwnedFd,
}

/// The functions of a table of which none is missing.
#[derive(Debug, Clone, Copy)]
struct Functions {
    make: abi::Make,
    reads: abi::Reads,
    requests: abi::Work,
    responses: abi::Work,
    configure: abi::Configure,
    take_apart: abi::TakeApart,
    restore: abi::Restore,
    free: abi::Free,
}

/// An engine of a library.
pub(super) struct Handle {
    library: Arc<Library>,
    engine: NonNull<c_void>,
    // The buffers of `work`, which are empty between two calls of it.
    messages: Vec<abi::Message>,
    values: Vec<abi::Value>,
    reasons: Reasons,
}

// SAFETY: the interface says that any thread may call the functions of an engine, one at a time, which `&mut self` sees to. The buffers are
// empty between two calls.
unsafe impl Send for Handle {}

/// The direction of messages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Way {
    Requests,
    Responses,
}

/// The words between the daemon and an engine about a burst, besides verdicts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round {
    pub(super) now: u64,
    pub(super) held: usize,
    pub(super) release: usize,
    pub(super) due: u64,
}

/// Number of bytes of the longest text of an error, and of the longest state.
const LONGEST_ERROR: usize = 4 << 10;
const LONGEST_STATE: usize = 64 << 20;

/// Number of bytes of the longest name of a kind.
const LONGEST_NAME: usize = 64;

/// Number of bytes of the longest list of paths.
const LONGEST_PATHS: usize = 64 << 10;

/// Number of values for which room is kept.
const KEPT: usize = 1024;

impl Library {
    /// Opens a library from a file that nobody changes, and checks what it offers.
    pub(super) fn open(file: OwnedFd) -> Result<Self, String> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: this runs the library's code, which the operator trusts as the code of this process.
        let open = unsafe { Open::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let open = open.map_err(|error| {
            // The system's own words are behind those of the crate.
            let reason = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            format!("the system does not open it: {reason}")
        })?;
        // SAFETY: the symbol is a function of this type, by the interface whose version it names.
        let entry = unsafe { open.get::<abi::Entry>(abi::SYMBOL) };
        let entry = entry.map_err(|_| {
            "it exports no bertha_engine_v1: it has no engine, or one for another version of the interface"
        })?;
        // SAFETY: the function takes nothing, and returns a pointer.
        let table = unsafe { entry() };
        let (name, functions) = read_table(table)?;
        Ok(Self { name, functions, _open: open, _file: file })
    }

    /// Returns the name of the kind.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Makes an engine.
    pub(super) fn make(self: &Arc<Self>, settings: &str, binding: &Binding) -> Result<Handle, Unsuitable> {
        let settings = Text::of(settings.as_bytes());
        self.begin(binding, |of, place, error| {
            // SAFETY: all arguments are there until the function returns, and it is one of the interface.
            unsafe { (self.functions.make)(of, settings, place, error) }
        })
    }

    /// Makes an engine of a state.
    pub(super) fn restore(
        self: &Arc<Self>,
        version: u32,
        state: &[u8],
        binding: &Binding,
    ) -> Result<Handle, Unsuitable> {
        let state = Text::of(state);
        self.begin(binding, |of, place, error| {
            // SAFETY: as for `make`.
            unsafe { (self.functions.restore)(of, version, state, place, error) }
        })
    }

    fn begin(
        self: &Arc<Self>,
        binding: &Binding,
        function: impl FnOnce(*const abi::Binding, *mut *mut c_void, *mut Sink) -> i32,
    ) -> Result<Handle, Unsuitable> {
        let methods = binding.schema.methods().iter();
        let names: Vec<_> = methods.map(|method| format!("{}/{}", method.service, method.name)).collect();
        let methods: Vec<_> = names.iter().map(|name| Text::of(name.as_bytes())).collect();
        let of = abi::Binding {
            service: Text::of(binding.service.as_bytes()),
            caller: Text::of(binding.caller.as_bytes()),
            methods: methods.as_ptr(),
            method_count: methods.len(),
        };
        let (mut engine, mut error) = (ptr::null_mut(), Kept::new(LONGEST_ERROR));
        let returned = function(&raw const of, &raw mut engine, error.sink());
        let name = self.name();
        match (returned, NonNull::new(engine)) {
            (DONE, Some(engine)) => Ok(Handle::new(self, engine)),
            (DONE, None) => {
                Err(Unsuitable::new(format!("the library of {name} made an engine that is NULL")))
            }
            _ => Err(error.unsuitable(name)),
        }
    }
}

/// Reads the table that a library has returned.
fn read_table(table: *const Table) -> Result<(Box<str>, Functions), String> {
    if table.is_null() || !table.is_aligned() {
        return Err("its bertha_engine_v1 returned no table".into());
    }
    // SAFETY: each version of the table begins with its version, and the library says that it is there for ever.
    let version = unsafe { table.cast::<u32>().read() };
    if version != abi::VERSION {
        let ours = abi::VERSION;
        return Err(format!(
            "its table is of version {version} of the interface, and this daemon has version {ours}"
        ));
    }
    // SAFETY: as above, and the version has this table.
    let table = unsafe { table.read() };
    let missing = |name: &str| format!("its function {name} is NULL");
    let functions = Functions {
        make: table.make.ok_or_else(|| missing("make"))?,
        reads: table.reads.ok_or_else(|| missing("reads"))?,
        requests: table.requests.ok_or_else(|| missing("requests"))?,
        responses: table.responses.ok_or_else(|| missing("responses"))?,
        configure: table.configure.ok_or_else(|| missing("configure"))?,
        take_apart: table.take_apart.ok_or_else(|| missing("take_apart"))?,
        restore: table.restore.ok_or_else(|| missing("restore"))?,
        free: table.free.ok_or_else(|| missing("free"))?,
    };
    // SAFETY: a name that is not NULL has its bytes for ever, as the table.
    let name = unsafe { bytes(table.name, LONGEST_NAME) };
    let is_right = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let name = name.ok().filter(|name| !name.is_empty() && name.iter().all(is_right));
    let name = name.and_then(|name| str::from_utf8(name).ok());
    let name = name.ok_or("its name is none: it has 1 to 64 small letters, digits and hyphens")?;
    Ok((name.into(), functions))
}

/// Returns bytes of a library.
///
/// # Safety
/// The pointer is null, or there are so many bytes for `'a`.
unsafe fn bytes<'a>(text: Text, longest: usize) -> Result<&'a [u8], Mistake> {
    match (text.at.is_null(), text.len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Mistake::ReasonNull),
        (_, len) if len > longest => Err(Mistake::ReasonLong(len)),
        // SAFETY: as above.
        (_, len) => Ok(unsafe { slice::from_raw_parts(text.at, len) }),
    }
}

impl Handle {
    fn new(library: &Arc<Library>, engine: NonNull<c_void>) -> Self {
        let (messages, values) = (Vec::new(), Vec::new());
        Self { library: Arc::clone(library), engine, messages, values, reasons: Reasons::default() }
    }

    /// Returns the name of the kind.
    pub(super) fn name(&self) -> &str {
        self.library.name()
    }

    /// Returns the paths that the engine reads in the requests of a method.
    pub(super) fn reads(&mut self, method: u32) -> Result<String, Unsuitable> {
        // SAFETY: the engine is there until it is freed, and `&mut self` calls one function at a time.
        let paths = unsafe { (self.library.functions.reads)(self.engine.as_ptr(), method) };
        // SAFETY: what an engine hands out is there until its next call.
        let paths = unsafe { bytes(paths, LONGEST_PATHS) };
        let paths = paths.ok().and_then(|paths| str::from_utf8(paths).ok());
        paths.map(ToOwned::to_owned).ok_or_else(|| {
            Unsuitable::new(format!("the fields that the engine {} reads are named by no text", self.name()))
        })
    }

    /// Has the engine work on messages. Returns false if it failed. Else a decision about each message follows those that are there, and what
    /// is a mistake is told to `on_mistake` with the name of the kind, which decides instead.
    pub(super) fn work(
        &mut self,
        (way, round): (Way, &mut Round),
        messages: &[Message],
        reads: &Reads,
        decisions: &mut Vec<Decision>,
        mut on_mistake: impl FnMut(&str, &Message, (FailureKind, Mistake)) -> Decision,
    ) -> bool {
        self.show(messages, reads);
        let mut burst = abi::Burst {
            messages: self.messages.as_mut_ptr(),
            count: self.messages.len(),
            now: round.now,
            held: round.held,
            release: 0,
            due: abi::NEVER,
        };
        let function = match way {
            Way::Requests => self.library.functions.requests,
            Way::Responses => self.library.functions.responses,
        };
        // SAFETY: as for `reads`. The burst, its messages and their values are there until the function returns: the values lie in `messages`,
        // which are borrowed, and in the buffers, which stay as they are.
        let returned = unsafe { function(self.engine.as_ptr(), &raw mut burst) };
        (round.release, round.due) = (burst.release, burst.due);
        for (shown, message) in self.messages.iter().zip(messages) {
            // SAFETY: what an engine hands out is there until its next call.
            let reason = unsafe { bytes(shown.reason, abi::LONGEST_REASON) };
            let abi::Message { verdict, refused_as, .. } = *shown;
            let written = Verdict { about: kind(&message.kind).0, verdict, refused_as, reason };
            let decided = written.decide(&mut self.reasons);
            decisions
                .push(decided.unwrap_or_else(|mistake| on_mistake(&self.library.name, message, mistake)));
        }
        self.messages.clear();
        self.values.clear();
        self.values.shrink_to(KEPT);
        returned == DONE
    }

    /// Fills the buffers with messages and the values that the engine reads.
    fn show(&mut self, messages: &[Message], reads: &Reads) {
        let Self { messages: shown, values, .. } = self;
        for message in messages {
            let before = values.len();
            reads.any(message, |field, value| {
                values.push(shown_value(field, value));
                false
            });
            let (kind, failure) = kind(&message.kind);
            shown.push(abi::Message {
                call: message.call,
                method: message.method,
                bytes: message.bytes,
                values: ptr::null(),
                value_count: values.len() - before,
                kind,
                failure,
                verdict: abi::verdict::PASS,
                refused_as: 0,
                reason: Text::EMPTY,
            });
        }
        // The values stay where they are from now on.
        let mut rest = values.as_slice();
        for message in shown {
            let (its, others) = rest.split_at(message.value_count);
            (message.values, rest) = (its.as_ptr(), others);
        }
    }

    /// Changes settings.
    pub(super) fn configure(&mut self, settings: &str) -> Result<(), Unsuitable> {
        let (settings, mut error) = (Text::of(settings.as_bytes()), Kept::new(LONGEST_ERROR));
        // SAFETY: as for `reads`; the arguments are there until the function returns.
        let returned =
            unsafe { (self.library.functions.configure)(self.engine.as_ptr(), settings, error.sink()) };
        if returned == DONE { Ok(()) } else { Err(error.unsuitable(self.name())) }
    }

    /// Returns the version of the state and the state; `None` if the engine failed.
    pub(super) fn take_apart(self) -> Option<(u32, Vec<u8>)> {
        let (mut version, mut state) = (0, Kept::new(LONGEST_STATE));
        // SAFETY: as for `configure`.
        let returned = unsafe {
            (self.library.functions.take_apart)(self.engine.as_ptr(), &raw mut version, state.sink())
        };
        (returned == DONE && version != 0 && !state.is_over).then(|| (version, mem::take(&mut state.bytes)))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the engine was made by this library, and is freed once.
        unsafe { (self.library.functions.free)(self.engine.as_ptr()) }
    }
}

fn kind(kind: &Kind) -> (u8, u8) {
    match kind {
        Kind::Request => (abi::kind::REQUEST, 0),
        Kind::Cancellation => (abi::kind::CANCELLATION, 0),
        Kind::Response => (abi::kind::RESPONSE, 0),
        Kind::Failure(refusal) => (abi::kind::FAILURE, refusal.kind.code()),
    }
}

fn shown_value(field: u32, value: Value<'_>) -> abi::Value {
    let number = |kind, number| abi::Value { field, kind, number, text: Text::EMPTY };
    let text = |kind, bytes: &[u8]| abi::Value { field, kind, number: 0, text: Text::of(bytes) };
    match value {
        Value::Text(value) => text(abi::value::TEXT, value.as_bytes()),
        Value::Bytes(value) => text(abi::value::BYTES, value),
        Value::Signed(value) => number(abi::value::SIGNED, value as u64),
        Value::Unsigned(value) => number(abi::value::UNSIGNED, value),
        Value::Float(value) => number(abi::value::FRACTION, value.to_bits()),
        Value::Bool(value) => number(abi::value::BOOL, value.into()),
        // A kind of value that this version of the interface does not have.
        _ => text(abi::value::BYTES, &[]),
    }
}

/// Bytes that a library has written.
#[repr(C)]
struct Kept {
    /// The first field, so that a pointer to it is one to all.
    sink: Sink,
    bytes: Vec<u8>,
    most: usize,
    is_over: bool,
}

impl Kept {
    fn new(most: usize) -> Self {
        Self { sink: Sink { write: keep }, bytes: Vec::new(), most, is_over: false }
    }

    fn sink(&mut self) -> *mut Sink {
        ptr::from_mut(self).cast()
    }

    fn unsuitable(&self, name: &str) -> Unsuitable {
        let text = String::from_utf8_lossy(&self.bytes).replace(char::is_control, " ");
        Unsuitable::new(if text.is_empty() {
            format!("the engine {name} refused without a reason")
        } else {
            text
        })
    }
}

/// Keeps bytes.
///
/// # Safety
/// The sink is of a [`Kept`] to which nobody else has access, and there are so many bytes unless they are null.
unsafe extern "C" fn keep(sink: *mut Sink, bytes: *const u8, len: usize) {
    // SAFETY: as above.
    let kept = unsafe { &mut *sink.cast::<Kept>() };
    if kept.most - kept.bytes.len() < len {
        kept.is_over = true;
    } else if !bytes.is_null() && len != 0 {
        // SAFETY: as above.
        kept.bytes.extend_from_slice(unsafe { slice::from_raw_parts(bytes, len) });
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("library", &self.library).finish_non_exhaustive()
    }
}
