//! The objects that handles name.

use crate::arrived::Arrived;
use crate::asked::Asked;
use crate::code::Code;
use crate::connecting::{Client, Connecting};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::listener::Listener;
use crate::readiness::Readiness;
use crate::service::Service;
use crate::table::Table;
use bertha::Buf;
use bertha_named::Options;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;

/// An object that a handle names. Calls that use it share it, so it is there until the last of them returns.
#[derive(Debug, Clone)]
pub(crate) enum Object {
    Options(Arc<Mutex<Options>>),
    Connecting(Arc<Connecting>),
    Connection(Arc<Connection>),
    Listener(Arc<Listener>),
    Client(Arc<Client>),
    Asked(Arc<Asked>),
    Service(Arc<Service>),
    Arrived(Arc<Arrived>),
}

/// The bit by which handles of buffers are told from others.
const BUFFER: u32 = 1 << 31;

static OBJECTS: RwLock<Table<Object>> = RwLock::new(Table::new(0));
/// Buffers have a table of their own, whose lock is taken once for a burst.
static BUFFERS: Mutex<Table<Buf>> = Mutex::new(Table::new(BUFFER));

impl Object {
    fn what(&self) -> &'static str {
        match self {
            Self::Options(_) => "options",
            Self::Connecting(_) => "a connection that is being made",
            Self::Connection(_) => "a connection",
            Self::Listener(_) => "a listener",
            Self::Client(_) => "a client of a service",
            Self::Asked(_) => "a call that was made",
            Self::Service(_) => "a service",
            Self::Arrived(_) => "a call that has arrived",
        }
    }

    /// Ends what belongs to the object, and the calls that wait for it.
    fn release(&self) {
        match self {
            Self::Options(_) => {}
            Self::Connecting(connecting) => connecting.release(),
            Self::Connection(connection) => connection.release(),
            Self::Listener(listener) => listener.release(),
            Self::Client(client) => client.release(),
            Self::Asked(call) => call.release(),
            Self::Service(service) => service.release(),
            Self::Arrived(call) => call.release(),
        }
    }
}

/// Returns the handle of an object from now on.
///
/// # Errors
/// [`BERTHA_EXHAUSTED`](Code::BERTHA_EXHAUSTED) if there are too many objects.
pub(crate) fn insert(object: Object) -> Result<u64, Failure> {
    OBJECTS.write().insert(object).map_err(|object| {
        object.release();
        Failure::new(Code::BERTHA_EXHAUSTED, "there are too many handles")
    })
}

/// Returns the object of a handle.
///
/// # Errors
/// [`BERTHA_BAD_HANDLE`](Code::BERTHA_BAD_HANDLE).
pub(crate) fn get(handle: u64) -> Result<Object, Failure> {
    OBJECTS.read().get(handle).cloned().ok_or_else(bad)
}

/// Takes an object out of the table, and tells what used it.
///
/// # Errors
/// [`BERTHA_BAD_HANDLE`](Code::BERTHA_BAD_HANDLE).
pub(crate) fn release(handle: u64) -> Result<(), Failure> {
    let object = OBJECTS.write().remove(handle);
    match object {
        Some(object) => object.release(),
        // Out of the lock.
        None => drop(take_buffer(handle)?),
    }
    Ok(())
}

/// Takes an object out of the table, and returns true if it was there: the outcome of a connection or of a call belongs to one
/// function.
pub(crate) fn finish(handle: u64) -> bool {
    let object = OBJECTS.write().remove(handle);
    object.inspect(Object::release).is_some()
}

#[cold]
fn bad() -> Failure {
    Failure::new(Code::BERTHA_BAD_HANDLE, "the handle is none: it is zero, or was released, or never given")
}

/// Returns the failure of an object of another kind than `wanted`.
#[cold]
pub(crate) fn other(object: &Object, wanted: &str) -> Failure {
    Failure::new(Code::BERTHA_BAD_HANDLE, format!("the handle is {}, not {wanted}", object.what()))
}

/// Defines functions that return the objects of one kind.
macro_rules! kinds {
    ($($name:ident: $kind:ident($object:ty) = $wanted:literal;)*) => {
        $(
            /// # Errors
            /// [`BERTHA_BAD_HANDLE`](Code::BERTHA_BAD_HANDLE).
            pub(crate) fn $name(handle: u64) -> Result<Arc<$object>, Failure> {
                match get(handle)? {
                    Object::$kind(object) => Ok(object),
                    object => Err(other(&object, $wanted)),
                }
            }
        )*
    };
}

kinds! {
    connection: Connection(Connection) = "a connection";
    connecting: Connecting(Connecting) = "a connection that is being made";
    options: Options(Mutex<Options>) = "options";
    client: Client(Client) = "a client of a service";
    arrived: Arrived(Arrived) = "a call that has arrived";
}

/// Takes a call that has arrived out of the table, for its outcome.
///
/// # Errors
/// [`BERTHA_BAD_HANDLE`](Code::BERTHA_BAD_HANDLE).
pub(crate) fn take_arrived(handle: u64) -> Result<Arc<Arrived>, Failure> {
    let call = arrived(handle)?;
    if finish(handle) { Ok(call) } else { Err(bad()) }
}

/// Returns the options of the handle, or those by default for zero.
///
/// # Errors
/// [`BERTHA_BAD_HANDLE`](Code::BERTHA_BAD_HANDLE).
pub(crate) fn options_or_default(handle: u64) -> Result<Options, Failure> {
    match handle {
        0 => Ok(Options::of_lasting_runtime()),
        _ => Ok(options(handle)?.lock().clone()),
    }
}

/// Returns what shows in the descriptor of the object.
///
/// # Errors
/// [`BERTHA_BAD_HANDLE`](Code::BERTHA_BAD_HANDLE), also for objects that nothing waits for.
pub(crate) fn readiness(handle: u64) -> Result<(Object, Arc<Readiness>), Failure> {
    let object = get(handle)?;
    let readiness = match &object {
        Object::Options(_) => return Err(other(&object, "an object with a descriptor")),
        Object::Connecting(connecting) => connecting.readiness().clone(),
        Object::Connection(connection) => connection.readiness().clone(),
        Object::Listener(listener) => listener.readiness().clone(),
        Object::Client(client) => client.readiness().clone(),
        Object::Asked(call) => call.readiness().clone(),
        Object::Service(service) => service.readiness().clone(),
        Object::Arrived(call) => call.readiness().clone(),
    };
    Ok((object, readiness))
}

/// Returns the handles of buffers from now on.
///
/// # Errors
/// [`BERTHA_EXHAUSTED`](Code::BERTHA_EXHAUSTED) if there are too many buffers; those are lost.
pub(crate) fn insert_buffers(
    buffers: impl IntoIterator<Item = Buf>,
    mut each: impl FnMut(*mut u8, usize, u64),
) -> Result<(), Failure> {
    let mut table = BUFFERS.lock();
    for mut buffer in buffers {
        // The bytes lie where they are when the buffer itself moves into the table.
        let (data, length) = (buffer.as_mut_ptr(), buffer.len());
        let handle = table.insert(buffer);
        let handle =
            handle.map_err(|_| Failure::new(Code::BERTHA_EXHAUSTED, "there are too many buffers"))?;
        each(data, length, handle);
    }
    Ok(())
}

/// Takes a buffer out of the table.
///
/// # Errors
/// [`BERTHA_BAD_HANDLE`](Code::BERTHA_BAD_HANDLE).
pub(crate) fn take_buffer(handle: u64) -> Result<Buf, Failure> {
    BUFFERS.lock().remove(handle).ok_or_else(bad)
}

/// A buffer as C names it.
pub(crate) struct Wanted {
    pub(crate) handle: u64,
    pub(crate) data: *const u8,
    pub(crate) length: usize,
}

impl Wanted {
    /// # Errors
    /// The errors of [`take_buffers`].
    fn check(&self, buffer: &Buf, longest: usize) -> Result<(), Failure> {
        if self.data != buffer.as_ptr() {
            let text =
                "data in a bertha_buffer is not where the library has put it: only the length may change";
            return Err(Failure::argument(text));
        }
        if self.length > buffer.len() {
            return Err(Failure::argument("a length in a bertha_buffer is longer than the buffer"));
        }
        if self.length > longest {
            return Err(Failure::too_long(self.length, longest));
        }
        Ok(())
    }
}

/// Takes buffers out of the table, each shortened to a length. Either all or none are taken.
///
/// # Errors
/// [`BERTHA_BAD_HANDLE`](Code::BERTHA_BAD_HANDLE); [`BERTHA_BAD_ARGUMENT`](Code::BERTHA_BAD_ARGUMENT) if a buffer is there twice, a
/// length is longer than its buffer, or its bytes lie elsewhere; [`BERTHA_TOO_LARGE`](Code::BERTHA_TOO_LARGE) if a length is above
/// `longest`.
pub(crate) fn take_buffers(
    wanted: impl Iterator<Item = Wanted> + Clone,
    longest: usize,
) -> Result<Vec<Buf>, Failure> {
    let mut taken = Vec::with_capacity(wanted.size_hint().0);
    let mut table = BUFFERS.lock();
    let outcome = take_each(&mut table, wanted.clone(), longest, &mut taken);
    if outcome.is_err() {
        let pairs: Vec<_> = wanted.zip(taken).collect();
        for (Wanted { handle, .. }, buffer) in pairs.into_iter().rev() {
            table.undo_remove(handle, buffer);
        }
        return outcome.map(|()| Vec::new());
    }
    drop(table);
    for (buffer, Wanted { length, .. }) in taken.iter_mut().zip(wanted) {
        buffer.truncate(length);
    }
    Ok(taken)
}

fn take_each(
    table: &mut Table<Buf>,
    wanted: impl Iterator<Item = Wanted> + Clone,
    longest: usize,
    taken: &mut Vec<Buf>,
) -> Result<(), Failure> {
    for it in wanted.clone() {
        let Some(buffer) = table.remove(it.handle) else {
            let mut before = wanted.take(taken.len());
            let is_twice = before.any(|other| other.handle == it.handle);
            return Err(if is_twice {
                Failure::argument("a buffer is there twice in a burst")
            } else {
                bad()
            });
        };
        let checked = it.check(&buffer, longest);
        taken.push(buffer);
        checked?;
    }
    Ok(())
}
