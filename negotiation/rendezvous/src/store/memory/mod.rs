//! The store for participants in one process, and the reference for the others.

mod entries;
mod store;

pub use store::{MemoryStore, MemoryWatch};
