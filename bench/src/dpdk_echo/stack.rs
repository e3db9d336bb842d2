//! The echo as an application writes it.

use super::{ADDRESS, PORT, Serve, failed};
use crate::{Error, ErrorKind};
use bertha_core::{Buf, Connection, Datapath, Listener};
use bertha_datapath_dpdk::{Checksums, Config, Dpdk, DpdkConnection, DpdkListener};
use tokio::runtime::{Builder, Runtime};

/// Bertha's datapath with its network stack.
#[derive(Debug)]
pub struct Stack {
    runtime: Runtime,
    listener: DpdkListener,
    /// The client's, since its first message.
    connection: Option<DpdkConnection>,
}

/// The same without checksums of UDP.
#[derive(Debug)]
pub struct Unchecked(Stack);

impl Serve for Unchecked {
    fn open(config: &Config) -> Result<Self, Error> {
        Stack::open(&Config { checksums: Checksums::None, ..config.clone() }).map(Self)
    }

    fn serve(&mut self) -> Result<(), Error> {
        self.0.serve()
    }
}

impl Serve for Stack {
    fn open(config: &Config) -> Result<Self, Error> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))?;
        let dpdk = Dpdk::open(config).map_err(failed("opening a port"))?;
        let at = (ADDRESS, PORT).into();
        let listener = runtime.block_on(dpdk.listen(at)).map_err(failed("listening"))?;
        Ok(Self { runtime, listener, connection: None })
    }

    fn serve(&mut self) -> Result<(), Error> {
        let Self { runtime, listener, connection } = self;
        runtime.block_on(async {
            let connection = match connection {
                Some(connection) => connection,
                none => none.insert(listener.accept().await.map_err(failed("accepting"))?),
            };
            echo(connection).await.map_err(failed("echoing"))
        })
    }
}

async fn echo(connection: &DpdkConnection) -> Result<(), bertha_core::Error> {
    let mut messages: Vec<Buf> = Vec::with_capacity(32);
    loop {
        connection.recv_batch(&mut messages, 32).await?;
        let last = messages.iter().any(|message| message.len() == 1);
        connection.send_batch(messages.drain(..)).await?;
        if last {
            return Ok(());
        }
    }
}
