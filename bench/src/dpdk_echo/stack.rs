//! The echo as an application writes it.

use super::{ADDRESS, PORT, Serve, failed};
use crate::Error;
use crate::harness::runtime;
use bertha_core::{Buf, Connection, Datapath, Listener};
use bertha_datapath_dpdk::{Config, Dpdk, DpdkConnection, DpdkListener};
use tokio::runtime::Runtime;

/// Bertha's datapath with its network stack.
#[derive(Debug)]
pub(super) struct Stack {
    runtime: Runtime,
    listener: DpdkListener,
    /// Connection of the client, once its first message has come.
    connection: Option<DpdkConnection>,
}

impl Serve for Stack {
    fn open(config: &Config) -> Result<Self, Error> {
        let runtime = runtime()?;
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
