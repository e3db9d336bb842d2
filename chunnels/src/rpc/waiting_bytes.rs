//! A bound on the memory of messages that nobody has taken.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

/// The bytes that wait, all connections of the process together, unless another limit is set.
const TOGETHER: usize = 1 << 30;

/// The bound of requests at the connections that are served without one of their own.
static OF_SERVERS: LazyLock<WaitingBytes> = LazyLock::new(|| WaitingBytes::new(TOGETHER));

/// The bound of responses at the clients that have none of their own. It is another one than that of the servers, so that
/// what other processes answer takes no room from what they ask.
static OF_CLIENTS: LazyLock<WaitingBytes> = LazyLock::new(|| WaitingBytes::new(TOGETHER));

/// A bound on the bytes of messages that wait to be taken: of requests that wait for their handlers, for all connections
/// that are [served with](super::Serve::waiting_with) it together, or of responses that wait for their callers, for all
/// [clients with](super::Multiplexer::waiting_with) it. Clones share the bytes.
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

/// Bytes that wait, and their limit.
#[derive(Debug)]
struct Account {
    bytes: AtomicUsize,
    limit: usize,
}

impl WaitingBytes {
    /// Lets messages of this many bytes wait.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Account { bytes: AtomicUsize::new(0), limit }))
    }

    /// Returns the number of bytes that wait.
    pub fn bytes(&self) -> usize {
        self.0.bytes.load(Relaxed)
    }

    /// Returns the bound that all servers of the process share.
    pub(super) fn of_servers() -> Self {
        OF_SERVERS.clone()
    }

    /// Returns the bound that all clients of the process share.
    pub(super) fn of_clients() -> Self {
        OF_CLIENTS.clone()
    }

    pub(super) fn limit(&self) -> usize {
        self.0.limit
    }

    pub(super) fn room(&self) -> usize {
        self.limit().saturating_sub(self.bytes())
    }

    /// Adds a message, if there is room for it. Without others there is always room, so that no limit is below a message.
    pub(super) fn add(&self, bytes: usize) -> bool {
        let with = |waiting: usize| waiting.saturating_add(bytes);
        let has_room = |waiting: usize| waiting == 0 || with(waiting) <= self.limit();
        let added = |waiting| has_room(waiting).then(|| with(waiting));
        self.0.bytes.fetch_update(Relaxed, Relaxed, added).is_ok()
    }

    /// Adds a message, whether there is room for it or not.
    pub(super) fn add_anyway(&self, bytes: usize) {
        self.0.bytes.fetch_add(bytes, Relaxed);
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.0.bytes.fetch_sub(bytes, Relaxed);
    }
}
