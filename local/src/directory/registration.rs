//! A service's entry.

use super::packets::{Packet, Packets};
use super::protocol::{Refusal, Reply, Request, decode, encode};
use super::visitors::Visitors;
use bertha_core::{Addr, Error, ErrorKind, Runtime};
use bertha_runtime_tokio::{Task, TokioRuntime};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A service's entry in the directory of the machine, for as long as this exists and the directory runs.
#[must_use = "dropping it takes the entry out"]
pub struct Registration {
    name: String,
    _visitors: Task,
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Enters a service, whose visitors come to `visitors`.
pub(super) async fn register(
    path: &Path,
    name: &str,
    addresses: &[Addr],
    visitors: Arc<Visitors>,
) -> Result<Registration, Error> {
    let socket = Packets::connect(path)?;
    let addresses = addresses.iter().map(Addr::to_string).collect();
    let request = Request::Register { name: name.into(), addresses };
    socket.send(&encode(&request), None).await?;
    let reply = socket.recv().await?.and_then(|packet| decode(&packet.bytes));
    match reply {
        Some(Reply::Registered) => {}
        Some(Reply::Refused { kind, reason }) => {
            let kind = match kind {
                Refusal::Taken => ErrorKind::AddrInUse,
                Refusal::NoRight => ErrorKind::Unauthenticated,
                Refusal::TooMuch => ErrorKind::Invalid,
            };
            return Err(Error::new(kind, format!("the directory does not enter the service: {reason}")));
        }
        _ => return Err(Error::new(ErrorKind::Closed, "the directory ended the connection")),
    }
    let task = TokioRuntime.spawn(async move {
        while let Ok(Some(Packet { bytes, file })) = socket.recv().await {
            if let (Some(Reply::Visitor { token }), Some(file)) = (decode(&bytes), file) {
                visitors.put(token, file);
            }
        }
        tracing::warn!("the directory of the machine has gone; local clients come by the network");
    });
    Ok(Registration { name: name.into(), _visitors: task })
}
