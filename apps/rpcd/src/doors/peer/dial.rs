//! The way to a daemon whose application serves.

#[cfg(feature = "dpdk")]
use super::dpdk_tcp;
use super::{LONGEST, PeerTls, greeting, kernel_tcp};
use crate::calling::elsewhere;
use crate::calling::end::end;
use crate::calling::run::run_daemon;
use crate::destinations::peer_addr::PeerAddr;
#[cfg(not(feature = "dpdk"))]
use crate::destinations::peer_addr::without_dpdk;
use crate::messages::rows::way::{InParts, Way, Whole};
use crate::parties::link::Link;
use crate::state::State;
use bertha::Runs;
use bertha::negotiation::{Negotiate, Negotiated};
use bertha::prelude::*;
use bertha_core::{Addr, Buf, Connection, Error, ErrorKind};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Time in which the daemon has to say that it takes calls.
const SAID: Duration = Duration::from_secs(10);

/// Connects to a daemon, and exchanges messages until the connection ends. Then the calls of the link end.
pub(crate) async fn dial(link: Arc<Link>, to: PeerAddr, tls: Option<PeerTls>, state: &State) {
    match (&to, tls) {
        (PeerAddr::Kernel(addr), Some(tls)) => {
            over(make_stack!(tls.client.largest(LONGEST)), kernel_tcp(), Whole, addr, &link, &to, state)
                .await;
        }
        (PeerAddr::Kernel(addr), None) => {
            over(make_stack!(), kernel_tcp(), InParts, addr, &link, &to, state).await
        }
        #[cfg(feature = "dpdk")]
        (PeerAddr::Dpdk(addr), Some(tls)) => {
            over(make_stack!(tls.client.largest(LONGEST)), dpdk_tcp(), Whole, addr, &link, &to, state).await;
        }
        #[cfg(feature = "dpdk")]
        (PeerAddr::Dpdk(addr), None) => over(make_stack!(), dpdk_tcp(), Whole, addr, &link, &to, state).await,
        #[cfg(not(feature = "dpdk"))]
        (PeerAddr::Dpdk(_), _) => fail(&link, &to, &without_dpdk(), state),
    }
}

async fn over<S, D, W>(stack: S, tcp: D, way: W, addr: &Addr, link: &Arc<Link>, to: &PeerAddr, state: &State)
where
    S: Negotiate + 'static,
    D: Runs<S, Out: Connection<Data = Buf>> + 'static,
    W: Way<Negotiated<D::Out>>,
{
    let service = &link.service;
    let asked = async {
        let connection = stack.connect(tcp, addr.clone()).await?;
        let asking = greeting::ask(&connection, service, &link.typed.descriptors);
        let late = || Error::new(ErrorKind::TimedOut, "the daemon does not say that it takes calls");
        timeout(SAID, asking).await.map_err(|_| late())??;
        Ok::<_, Error>(connection)
    };
    match asked.await {
        Ok(connection) => {
            tracing::info!(%to, service, "a daemon takes calls");
            elsewhere::open(link, state);
            let ended = run_daemon(link, &connection, &way, state).await;
            let error = ended.err().map(tracing::field::display);
            tracing::info!(%to, service, error, "the connection to a daemon has ended");
        }
        Err(error) => fail(link, to, &error, state),
    }
}

fn fail(link: &Arc<Link>, to: &PeerAddr, error: &Error, state: &State) {
    let service = &link.service;
    tracing::info!(%to, service, %error, "a daemon takes no calls");
    state.services.failed(link, state.now());
    end(link, state, &format!("the daemon at {to} takes no calls of {service}: {error}"), false);
}
