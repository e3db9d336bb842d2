//! Connections that share a source of messages: the module decides which message belongs to which connection,
//! which future waits for it, and which future polls the source. Datapaths over kernel sockets and over DPDK
//! use it.
//!
//! A datapath has no task that demultiplexes. A future that wants a message polls the source itself, keeps
//! the messages of its own connection, leaves the rest in the queues of the other connections, and wakes
//! their futures:
//!
//! ```text
//!               nothing was there, no future polls
//!   visitor -----------------------------------------> poller: armed at the reactor, or polled again and again
//!      |                                                  |
//!      | nothing was there, another future polls          | there may be something to receive
//!      +------> follower                                  v
//!                   | woken by a delivery, or promoted   visitor again
//!                   +----------------------------------> visitor again
//! ```
//!
//! At most one future receives at a time, and at most one polls. The invariant that rules out lost wake-ups, true whenever the
//! lock around the state is free:
//!
//! > If futures wait and none receives, one of them is the poller, and since it was last polled it was either armed or woken;
//! > or a poll thread will [promote](Demux::promote) one within a tick.
//!
//! A follower never needs more: the future that receives its message wakes it, and when the poller leaves,
//! with a message or dropped, the source [hands over](Source::hand_over). A poller that finds another future
//! receiving steps down, since the receiving future chooses a new poller when it leaves or waits.
//!
//! # To adopt it
//!
//! 1. Put a [`Demux`] behind the lock of the receiving object. The key `K` identifies connections
//!    (`SocketAddr`, `Flow`), `T` is your own state of each connection, beside its queue (headers, path MTU);
//!    reach it by [`connection_mut`](Demux::connection_mut). Ports are yours: call [`find`](Demux::find), and
//!    if the key is unknown, look the listener up and [`admit`](Demux::admit) the stranger.
//! 2. Implement [`Source`] for a small struct that borrows the shared object. It lives as long as a single
//!    receiving call, and may hold the state of this call (the shape of its own datagrams, the time until
//!    which it spins). `receive` gives messages of [`ReceiveBatch::connection`] to [`ReceiveBatch::push`]
//!    until the batch [is full](ReceiveBatch::is_full), and all other messages to [`Demux::deliver`]; after a
//!    message of its own that had to go through the queue, it calls [`Demux::keep_order`].
//! 3. `recv`, `recv_batch` and `accept` are a [`PollGuard`] in a `poll_fn`, whose `take` looks into the
//!    batch, then into the queue ([`Demux::fill`]), then at the end of the connection ([`Demux::is_closed`]).
//! 4. Unlock with [`release`] after every delivery, close or promotion: it calls wakers outside of the lock.
//!
//! A source that is polled all the time (DPDK) makes its demultiplexer [busy](Demux::busy), unlocks and
//! yields in [`arm`](Source::arm), does nothing in [`hand_over`](Source::hand_over), and has a poll thread
//! that calls [`promote`](Demux::promote) with `|_| false` if no future has polled for a tick. A source that
//! is polled by a thread alone answers [`receive`](Source::receive) with `Excluded(Role::Onlooker)`.

mod demux;
mod poll_guard;
mod queue;
mod spin;
mod spin_history;
mod waiters;
mod waiting;

pub use demux::{BATCH, Batched, Demux, Key, Limits, ReceiveBatch, Role};
pub use poll_guard::{PollGuard, Received, Source, release};
pub use spin::Spin;
pub use spin_history::SpinHistory;
pub use waiters::{Awaited, WaiterKey};
pub use waiting::Waiting;
