//! The outcome of a first flight: the stack stays, or another stack takes its place.

use super::HandshakeGuard;
use super::built::Built;
use super::client::Client;
use crate::deadline::within;
use crate::handshake::check_picks;
use crate::link::{Answered, EarlyLink, Start};
use crate::wire::Answer;
use crate::{Link, Runs, Session, ZeroRtt};
use bertha_core::{Base, BoxFuture, Buf, Connection, Describe, Error};
use std::pin::pin;
use std::sync::Arc;

/// A handshake without its answer.
pub(super) enum PendingHandshake<C: Connection<Data = Buf>> {
    /// A handshake that has not begun, and so is small.
    NotBegun(EarlyLink<C>),
    /// A handshake that has begun.
    Begun(BoxFuture<'static, Result<Answered<C>, Error>>),
}

impl<S, D> Client<S, D>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data: Clone>>,
{
    /// Builds the stack that the server has picked, in place of the stack that was expected.
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

    /// Waits for the answer while the connection is in use, and completes or replaces the stack.
    pub(super) async fn finish(
        self: Box<Self>,
        shared: HandshakeGuard<D::Out>,
        handshake: PendingHandshake<D::Connection>,
    ) {
        let answered = match handshake {
            PendingHandshake::NotBegun(early_link) => early_link.run().await,
            PendingHandshake::Begun(handshake) => handshake.await,
        };
        let Answered { answer, received, session, replaced, link } = match answered {
            Ok(answered) => answered,
            Err(error) => return shared.failed(&error),
        };
        self.remember(&answer, received);
        if let Some(start) = replaced {
            return Box::pin(self.change_stack(shared, start, answer, session)).await;
        }
        // Before the link is up, so that the receiver of a message finds the agreement.
        let zero_rtt = zero_rtt(&answer);
        shared.agreed_to(self.agreement(answer, session, zero_rtt));
        link.answer_accepted();
        shared.agreed();
    }

    /// Changes to the stack that the server has picked.
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
            within(&runtime, limit, || what, rebuilding).await
        };
        match rebuilt {
            Ok(rebuilt) => shared.replace(rebuilt, limit).await,
            Err(error) => shared.failed(&error),
        }
    }
}

/// Returns the outcome of a first flight after which the stack stays.
pub(super) fn zero_rtt(answer: &Answer) -> ZeroRtt {
    match answer.early {
        0 => ZeroRtt::NotTaken,
        count => ZeroRtt::Taken(count.into()),
    }
}
