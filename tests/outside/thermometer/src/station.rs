//! The server that collects readings.

use crate::reading::Reading;
use bertha::prelude::*;
use bertha::{Addr, Error};
use std::net::Ipv4Addr;

/// Starts a server on a free port of this machine, and returns its address. The server answers each reading
/// with the client's highest reading so far.
pub async fn serve<S, D>(stack: S, datapath: D) -> Result<Addr, Error>
where
    S: Negotiate + 'static,
    D: Runs<S, Out: Connection<Data = Reading>>,
{
    let mut incoming = stack.listen(datapath, (Ipv4Addr::LOCALHOST, 0)).await?;
    let here = incoming.local_addr();
    tokio::spawn(async move {
        while let Some(client) = incoming.next().await {
            tokio::spawn(collect(client));
        }
    });
    Ok(here)
}

async fn collect(connection: impl Connection<Data = Reading>) {
    let mut highest = 0;
    loop {
        let answered = match connection.recv().await {
            Ok(reading) => {
                highest = highest.max(reading.millikelvin);
                connection.send(Reading { millikelvin: highest, ..reading }).await
            }
            Err(error) => Err(error),
        };
        if answered.is_err_and(|error| error.ends_connection()) {
            break;
        }
    }
}
