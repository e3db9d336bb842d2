//! What becomes of a first flight: the stack stays, or another one takes its place.

use super::Settling;
use super::connect::{Built, Client, Opening};
use crate::deadline::within;
use crate::handshake::check_picks;
use crate::link::{Connected, Start};
use crate::wire::Answer;
use crate::{Agreement, Link, Runs, Session, ZeroRtt};
use bertha_core::{Base, Connection, Describe, Error, Node, Role};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

impl<S, D> Client<S, D>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data: Clone>>,
{
    /// The stack that the server has picked, in the place of another.
    pub(super) async fn rebuild(
        &self,
        start: Box<Start<D::Connection>>,
        answer: &Answer,
    ) -> Result<Built<D::Out>, Error> {
        let session = start.session.clone();
        let link = Link::new(*start);
        if let Err(error) = check_picks(&self.nodes, &answer.client_picks, self.requirements) {
            link.setup().failed(&error).await;
            return Err(error);
        }
        link.confirm().await;
        self.build(link, &answer.client_picks, Some(&session)).await
    }

    /// Waits for the answer while the connection is in use, and does what it asks for.
    pub(super) async fn settle(
        self: Box<Self>,
        shared: Settling<D::Out>,
        (layers, dropped): (Vec<Node>, Arc<AtomicU64>),
        opening: Opening<D::Connection>,
    ) {
        let opened = match opening {
            Opening::Ahead(opener) => opener.run().await,
            Opening::Begun(opening) => opening.await,
        };
        let Connected { answer, session, replaced, link } = match opened {
            Ok(opened) => opened,
            Err(error) => return shared.failed(&error),
        };
        self.remember(&answer);
        if let Some(start) = replaced {
            return Box::pin(self.resettle(shared, start, answer, session)).await;
        }
        // Whoever receives a message finds out how it came to be.
        let zero_rtt = Some(of_kept(&answer));
        let agreement = Agreement::over(layers, Role::Client, answer, session).with(zero_rtt);
        tracing::debug!(%agreement, "connected");
        shared.explained(agreement, dropped);
        link.open();
        shared.agreed();
    }

    /// Goes over to the stack that the server has picked.
    async fn resettle(
        self: Box<Self>,
        shared: Settling<D::Out>,
        start: Box<Start<D::Connection>>,
        answer: Answer,
        session: Arc<Session>,
    ) {
        let runtime = start.base.base().runtime().clone();
        let what = "the stack that the server picked did not get ready in time";
        let patience = self.connector.settings.handshake_timeout;
        let rebuilt = {
            let rebuilding = pin!(self.rebuild(start, &answer));
            within(&runtime, patience, what, rebuilding).await
        };
        match rebuilt {
            Ok(rebuilt) => {
                let agreement = |count| self.agreement(answer, session, ZeroRtt::Resent(count));
                shared.replace(rebuilt, patience, agreement).await;
            }
            Err(error) => shared.failed(&error),
        }
    }
}

/// What became of the first flight if the stack stays.
pub(super) fn of_kept(answer: &Answer) -> ZeroRtt {
    match answer.early {
        0 => ZeroRtt::NotTaken,
        count => ZeroRtt::Taken(count.into()),
    }
}
