//! The memory of requests that no handler has taken.

use crate::rpc::parts::WINDOW;
use crate::rpc::{Failure, FailureKind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

/// The bytes of requests of streams that wait, all connections of the process together, unless another limit is set.
const TOGETHER: usize = 1 << 30;

/// The bound of the connections that have none of their own.
static OF_PROCESS: LazyLock<WaitingBytes> = LazyLock::new(|| WaitingBytes::new(TOGETHER));

/// A bound on the bytes of requests that wait for their handlers, for all connections that are
/// [served with](super::Serve::waiting_with) it together. Clones share the bytes.
///
/// ```
/// # use bertha_chunnels::rpc::{Message, Service, WaitingBytes, serve};
/// # use bertha_core::Connection;
/// # fn example<S: Service + Clone>(connections: Vec<impl Connection<Data = Message>>, service: &S) {
/// let waiting = WaitingBytes::new(64 << 20);
/// for connection in connections {
///     let serving = serve(connection, service.clone()).waiting_with(&waiting);
/// #   drop(serving);
/// }
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct WaitingBytes(Arc<Account>);

impl WaitingBytes {
    /// Lets requests of this many bytes wait.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Account::new(limit)))
    }

    /// Returns the number of bytes that wait.
    pub fn bytes(&self) -> usize {
        self.0.bytes.load(Relaxed)
    }

    /// Returns the bound that all connections of the process share.
    pub(super) fn of_process() -> Self {
        OF_PROCESS.clone()
    }
}

/// Bytes that wait, and their limit.
#[derive(Debug)]
struct Account {
    bytes: AtomicUsize,
    limit: usize,
}

impl Account {
    fn new(limit: usize) -> Self {
        Self { bytes: AtomicUsize::new(0), limit }
    }

    /// Adds a request, if there is room for it. Without others there is always room, so that no limit is below a request.
    fn add(&self, bytes: usize) -> bool {
        let with = |waiting: usize| waiting.saturating_add(bytes);
        let has_room = |waiting: usize| waiting == 0 || with(waiting) <= self.limit;
        self.bytes.fetch_update(Relaxed, Relaxed, |waiting| has_room(waiting).then(|| with(waiting))).is_ok()
    }

    fn remove(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    fn room(&self) -> usize {
        self.limit.saturating_sub(self.bytes.load(Relaxed))
    }
}

/// The bytes of the requests of a connection that wait for their handlers, in all its streams, as part of those of all
/// connections.
#[derive(Debug)]
pub(super) struct Waiting {
    here: Account,
    together: WaitingBytes,
    /// The longest message of the connection.
    longest: usize,
}

impl Waiting {
    pub(super) fn new(limit: usize, together: WaitingBytes, longest: usize) -> Self {
        Self { here: Account::new(limit), together, longest }
    }

    /// Returns how many requests a stream may have on their way at first.
    pub(super) fn first_window(&self) -> u32 {
        self.window(self.longest)
    }

    /// Returns how many requests of this length a stream may have on their way: as many as half of the room takes, since
    /// other streams need some as well. One is always allowed, so that each stream goes on.
    pub(super) fn window(&self, length: usize) -> u32 {
        let room = self.here.room().min(self.together.0.room());
        (room / 2 / length.max(1)).clamp(1, WINDOW as usize) as u32
    }

    /// Adds a request.
    ///
    /// # Errors
    /// `Overloaded` without room for it.
    pub(super) fn add(&self, bytes: usize) -> Result<(), Failure> {
        if !self.here.add(bytes) {
            return Err(too_many_bytes("this client", self.here.limit, "waiting_bytes"));
        }
        if !self.together.0.add(bytes) {
            self.here.remove(bytes);
            return Err(too_many_bytes("all clients", self.together.0.limit, "waiting_with"));
        }
        Ok(())
    }

    /// Removes requests that were taken or dropped.
    pub(super) fn remove(&self, bytes: usize) {
        self.here.remove(bytes);
        self.together.0.remove(bytes);
    }
}

#[cold]
fn too_many_bytes(clients: &str, limit: usize, setting: &str) -> Failure {
    let what = format!(
        "requests of {clients} wait for their handlers with more than {limit} bytes together; the server sets the limit \
         by `Serve::{setting}`"
    );
    Failure::of(FailureKind::Overloaded, what)
}
