//! Further connections for Chunnels that reach several addresses.

use super::siblings::SiblingLinks;
use super::{Link, establish};
use crate::Settings;
use crate::handshake::binding;
use crate::reached::reached;
use bertha_core::guarantee::Set;
use bertha_core::{Addr, BoxFuture, Connected, Connector, Datapath, Error, Listener, Node, PeerLayers};
use std::future::ready;
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

/// Opens links for the first stack of a server's connection, which may have siblings.
pub(crate) struct AcceptedConnector<'a, D: Datapath> {
    pub(crate) connector: &'a LinkConnector<D>,
    pub(crate) listener: &'a D::Listener,
    pub(crate) link: SiblingLinks<D::Connection>,
}

impl<D: Datapath> Connector<Link<D::Connection>> for AcceptedConnector<'_, D> {
    fn connect<'a>(
        &'a self,
        to: Addr,
        above: Vec<Node>,
    ) -> BoxFuture<'a, Result<Connected<Link<D::Connection>>, Error>>
    where
        Link<D::Connection>: 'a,
    {
        self.connector.connect(to, above)
    }

    fn siblings<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Link<D::Connection>>, Error>>
    where
        Link<D::Connection>: 'a,
    {
        let siblings = self.listener.siblings(self.link.base(), self.link.prefix());
        Box::pin(ready(siblings.map(|siblings| self.link.over(siblings))))
    }
}
