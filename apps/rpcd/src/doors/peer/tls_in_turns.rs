//! TLS with daemons that connect, whose handshakes take turns.

use crate::doors::handshake_turns::HandshakeTurns;
use bertha::chunnels::Tls;
use bertha_core::{Chunnel, ConnectContext, Connection, Describe, Error, Identity, Node, Octets};
use std::sync::Arc;

/// [`Tls`], whose handshakes take the turns of a port. It stands for `Tls` in the agreement of two ends.
#[derive(Debug, Clone)]
pub(super) struct TlsInTurns {
    tls: Tls,
    turns: Arc<HandshakeTurns>,
}

impl TlsInTurns {
    pub(super) fn new(tls: Tls) -> Self {
        Self { tls, turns: Arc::default() }
    }
}

impl Identity for TlsInTurns {
    type Id = <Tls as Identity>::Id;
    type Parameters = <Tls as Identity>::Parameters;
    type Guarantees = <Tls as Identity>::Guarantees;
    type Kind = <Tls as Identity>::Kind;
    const NAME: &'static str = <Tls as Identity>::NAME;
}

impl Describe for TlsInTurns {
    fn describe(&self, into: &mut Vec<Node>) {
        self.tls.describe(into);
    }

    fn layers(&self) -> usize {
        self.tls.layers()
    }
}

impl<Inner: Connection<Data: Octets>> Chunnel<Inner> for TlsInTurns {
    type Connection = <Tls as Chunnel<Inner>>::Connection;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        self.turns.complete(self.tls.connect_wrap(inner, context)).await
    }
}
