//! Connections that programs make.

use super::carrier::Carrier;
use super::plan::{Plan, told};
use super::request::Request;
use super::roll::Entry;
use super::{Engine, number_of, pump, reply, route};
use bertha_named::AnyConnection;
use bertha_runtime::tokio::Credentials;
use nix::libc;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use tokio::net::UnixStream;
use tokio::task::spawn_local;

/// Gives a program a carrier at once, and connects.
pub(super) fn connect(engine: &Rc<Engine>, visitor: &UnixStream, owner: Credentials, request: Request) {
    let peer = request.place;
    let made = Carrier::pair().and_then(|(mut own, program)| {
        own.fill(program.as_fd())?;
        Ok((own, program))
    });
    let (own, program) = match made {
        Ok(made) => made,
        Err(error) => {
            tracing::warn!(%error, "there is no carrier for a program");
            return reply(visitor, Err(libc::ENOBUFS));
        }
    };
    let Some(entry) = engine.enter(owner, [None, Some(peer)], told(&request)) else {
        return reply(visitor, Err(libc::ENOBUFS));
    };
    reply(visitor, Ok(program.as_fd()));
    let engine = engine.clone();
    spawn_local(async move {
        let connected = async { Plan::of(&request)?.connect(peer).await };
        match connected.await {
            Ok(connection) => carry(&engine, entry, connection, own, peer).await,
            Err(error) => {
                own.failed(number_of(&error).unwrap_or(libc::ECONNREFUSED));
                entry.refused(&error.to_string());
            }
        }
    });
}

async fn carry(
    engine: &Engine,
    entry: Entry,
    connection: Arc<dyn AnyConnection>,
    mut own: Carrier,
    peer: SocketAddr,
) {
    let local = route::local(&connection.local_address(), peer);
    entry.connected(local, peer);
    match own.connected(local, peer, engine.unique()) {
        Ok(()) => pump::carry(entry, connection, own).await,
        Err(error) => {
            own.failed(libc::ECONNABORTED);
            entry.refused(&error.to_string());
        }
    }
}
