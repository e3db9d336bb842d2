//! The store for participants in one process, and the reference for all other stores.

mod entries;
mod store;

pub use store::{MemoryStore, MemoryWatch};
