//! Calls over whole stacks: over faulty networks, with callers that give up and servers that are slow.

mod codecs;
mod contexts;
mod faults;
mod outcomes;
mod requests;
mod service;
mod shutdown;
