//! Changing the stack of a connection while it carries a full load, and what it costs a connection that it can.

mod load;
mod locked;
mod passing;
mod round_trip;

pub use load::{Outcome, Setup, across_threads};
pub use round_trip::{Cost, probe};

use crate::{Error, ErrorKind};
use bertha_chunnels::{Bincode, Postcard, Serialize};
use bertha_core::{Select, Stack, make_stack, select};
use tokio::runtime::{Builder, Runtime};

/// How many messages [`probe`] moves at a time where it moves bursts.
pub const BURST: usize = 16;

/// What both ends send: a number, and what makes it 64 bytes.
type Message = [u64; 8];

/// Two alternatives of which neither can read the other's messages.
type Layers = Stack<Select<Layer<Bincode>, Layer<Postcard>>, bertha_core::Bottom>;
type Layer<C> = Stack<Serialize<Message, C>, bertha_core::Bottom>;

fn stack() -> Layers {
    make_stack!(select!(Serialize::<Message, Bincode>::new(), Serialize::<Message, Postcard>::new()))
}

fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))
}

fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "moving messages across changes of the stack")(error)
}
