//! A datapath whose connections carry something else than bytes.

use bertha_core::{Addr, Buf, BoxConnection, Datapath, Error, Listener};
use bertha_datapath_sim::{SimBase, SimListener};

struct Texts;

impl Datapath for Texts {
    type Connection = BoxConnection<String, SimBase>;
    type Listener = TextListener;

    async fn connect(&self, _: Addr) -> Result<Self::Connection, Error> {
        loop {}
    }

    async fn listen(&self, _: Addr) -> Result<TextListener, Error> {
        loop {}
    }
}

struct TextListener(SimListener);

impl Listener for TextListener {
    type Connection = BoxConnection<Buf, SimBase>;

    async fn accept(&self) -> Result<Self::Connection, Error> {
        loop {}
    }

    fn local_addr(&self) -> Addr {
        self.0.local_addr()
    }
}

fn main() {}
