//! Further connections for Chunnels that reach several addresses.

use super::{Link, establish};
use crate::Settings;
use crate::handshake::binding;
use crate::reached::reached;
use bertha_core::guarantee::Set;
use bertha_core::{Addr, BoxFuture, Connected, Connector, Datapath, Error, Node, PeerLayers};
use std::sync::Arc;

/// Opens links over `datapath`.
///
/// Each is negotiated like any other, for the layers below the Chunnel that asks, with the alternatives that
/// were picked already: a peer that can't run exactly those refuses, and no end guesses the other's stack.
pub(crate) struct LinkConnector<D> {
    pub(crate) datapath: D,
    pub(crate) settings: Arc<Settings>,
}

impl<D: Datapath> Connector<Link<D::Connection>> for LinkConnector<D> {
    fn connect<'a>(
        &'a self,
        to: Addr,
        above: Vec<Node>,
    ) -> BoxFuture<'a, Result<Connected<Link<D::Connection>>, Error>>
    where
        Link<D::Connection>: 'a,
    {
        Box::pin(async move {
            let limit = self.settings.handshake_timeout;
            let base = reached(&self.datapath, to, limit).await?;
            // Of the whole stack, whose alternatives are picked, and of which this is a part.
            let settings = Settings { floor: Set::NONE, ..(*self.settings).clone() };
            let (connection, answer, session) = establish(base, &above, &Arc::new(settings)).await?;
            let transcript = binding(&above, &session);
            let peer = Some(Arc::new(PeerLayers::new(above, answer.capabilities)));
            let secured = session.secured().clone();
            Ok(Connected { connection, transcript, peer, secured })
        })
    }
}
