//! The outcome of a first flight: the stack stays, or another one takes its place.

use super::HandshakeGuard;
use super::built::Built;
use super::client::Client;
use crate::deadline::within;
use crate::handshake::check_picks;
use crate::link::{Connected, Opener, Start};
use crate::wire::Answer;
use crate::{Link, Runs, Session, ZeroRtt};
use bertha_core::{Base, BoxFuture, Buf, Connection, Describe, Error};
use std::pin::pin;
use std::sync::Arc;

/// A handshake that is handed on.
pub(super) enum Opening<C: Connection<Data = Buf>> {
    /// Not begun, and so small.
    Ahead(Opener<C>),
    /// Begun.
    Begun(BoxFuture<'static, Result<Connected<C>, Error>>),
}

impl<S, D> Client<S, D>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data: Clone>>,
{
    /// The stack that the server has picked, in the place of another.
    pub(super) async fn rebuild(
        &self,
        start: Box<Start<D::Connection>>,
        mut answer: Answer,
        session: Arc<Session>,
    ) -> Result<Built<D::Out>, Error> {
        let link = Link::new(*start);
        if let Err(error) = check_picks(&self.nodes, &answer.client_picks, self.requirements) {
            link.setup().failed(&error).await;
            return Err(error);
        }
        link.confirm().await;
        let differing = std::mem::take(&mut answer.capabilities);
        self.build(link, self.agreement(answer, session, ZeroRtt::Resent(0)), differing).await
    }

    /// Waits for the answer while the connection is in use, and does what it asks for.
    pub(super) async fn finish(
        self: Box<Self>,
        shared: HandshakeGuard<D::Out>,
        opening: Opening<D::Connection>,
    ) {
        let opened = match opening {
            Opening::Ahead(opener) => opener.run().await,
            Opening::Begun(opening) => opening.await,
        };
        let Connected { answer, received, session, replaced, link } = match opened {
            Ok(opened) => opened,
            Err(error) => return shared.failed(&error),
        };
        self.remember(&answer, received);
        if let Some(start) = replaced {
            return Box::pin(self.change_stack(shared, start, answer, session)).await;
        }
        // The receiver of a message finds out how it came to be.
        let zero_rtt = of_kept(&answer);
        shared.agreed_to(self.agreement(answer, session, zero_rtt));
        link.open();
        shared.agreed();
    }

    /// Goes over to the stack that the server has picked.
    async fn change_stack(
        self: Box<Self>,
        shared: HandshakeGuard<D::Out>,
        start: Box<Start<D::Connection>>,
        answer: Answer,
        session: Arc<Session>,
    ) {
        let runtime = start.base.base().runtime().clone();
        let what = "the stack that the server picked did not get ready in time";
        let limit = self.connector.settings.handshake_timeout;
        let rebuilt = {
            let rebuilding = pin!(self.rebuild(start, answer, session));
            within(&runtime, limit, what, rebuilding).await
        };
        match rebuilt {
            Ok(rebuilt) => shared.replace(rebuilt, limit).await,
            Err(error) => shared.failed(&error),
        }
    }
}

/// The outcome of the first flight if the stack stays.
pub(super) fn of_kept(answer: &Answer) -> ZeroRtt {
    match answer.early {
        0 => ZeroRtt::NotTaken,
        count => ZeroRtt::Taken(count.into()),
    }
}
