//! The way to a daemon whose application serves.

use super::{PeerTls, greeting, tcp};
use crate::again;
use crate::end::end;
use crate::link::Link;
use crate::run::run_daemon;
use crate::state::State;
use bertha::Runs;
use bertha::kernel::Tcp;
use bertha::negotiation::Negotiate;
use bertha::prelude::*;
use bertha_core::{Addr, Buf, Connection, Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Time in which the daemon has to say that it takes calls.
const SAID: Duration = Duration::from_secs(10);

/// Connects to a daemon, and exchanges messages until the connection ends. Then the calls of the link end.
pub(crate) async fn dial(link: Arc<Link>, to: Addr, tls: Option<PeerTls>, state: &State) {
    match tls {
        Some(tls) => over(make_stack!(tls.client), &link, to, state).await,
        None => over(make_stack!(), &link, to, state).await,
    }
}

async fn over<S>(stack: S, link: &Arc<Link>, to: Addr, state: &State)
where
    S: Negotiate + 'static,
    Tcp: Runs<S, Out: Connection<Data = Buf>>,
{
    let service = &link.service;
    let asked = async {
        let connection = stack.connect(tcp(), to.clone()).await?;
        let asking = greeting::ask(&connection, service, &link.typed.descriptors);
        let late = || Error::new(ErrorKind::TimedOut, "the daemon does not say that it takes calls");
        timeout(SAID, asking).await.map_err(|_| late())??;
        Ok::<_, Error>(connection)
    };
    match asked.await {
        Ok(connection) => {
            tracing::info!(%to, service, "a daemon takes calls");
            again::open(link, state);
            let ended = run_daemon(link, &connection, state).await;
            let error = ended.err().map(tracing::field::display);
            tracing::info!(%to, service, error, "the connection to a daemon has ended");
        }
        Err(error) => {
            tracing::info!(%to, service, %error, "a daemon takes no calls");
            state.services.failed(link, state.now());
            end(link, state, &format!("the daemon at {to} takes no calls of {service}: {error}"), false);
        }
    }
}
