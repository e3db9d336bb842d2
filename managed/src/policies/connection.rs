//! The connection whose calls pass engines.

use super::flow::{Flow, refusal_of};
use super::shared::PoliciesShared;
use super::task::{self, Ending};
use crate::Refusal;
use bertha_chunnels::rpc::{self, FailureKind, MessageKind};
use bertha_core::{Base, Connection, Error, PeerIdentity, Runtime, debug_fields, forward};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

type TaskOf<Inner> = <<<Inner as Connection>::Base as Base>::Runtime as Runtime>::Task;

/// The connection of [`Policies`](super::Policies), over one of [`Rpc`](bertha_chunnels::Rpc).
///
/// `send` is ready once its message was sent, or an engine holds or refuses the call. A task of the runtime sends what engines have held.
/// `drain` and `close` let all calls go on that engines hold; dropping the connection drops them. Errors are those of the connection
/// below, also of an earlier call that an engine held, if the connection has ended by it.
pub struct PoliciesConnection<Inner: Connection> {
    shared: Arc<PoliciesShared<Inner>>,
    /// Ends the task with the connection.
    _task: TaskOf<Inner>,
}

impl<Inner: Connection<Data = rpc::Message>> PoliciesConnection<Inner> {
    pub(super) fn new(inner: Inner, flow: Arc<Flow>, start: Instant) -> Self {
        let shared = Arc::new(PoliciesShared { inner, flow, start });
        // The value is captured, since a runtime that has ended drops the task before it is polled.
        let ending = Ending(shared.clone());
        let running = shared.clone();
        let _task = shared.inner.base().runtime().spawn(async move {
            let _ending = ending;
            task::run(running).await;
        });
        Self { shared, _task }
    }

    fn outgoing(&self, message: rpc::Message) -> Option<rpc::Message> {
        self.shared.flow.outgoing(message, self.shared.now())
    }

    fn ended<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        outcome.inspect_err(|error| {
            if error.ends_connection() {
                self.shared.flow.end(error);
            }
        })
    }
}

impl<Inner: Connection<Data = rpc::Message>> Connection for PoliciesConnection<Inner> {
    type Data = rpc::Message;
    type Base = Inner::Base;

    forward!(self.shared.inner => base, mtu);

    async fn send(&self, message: rpc::Message) -> Result<(), Error> {
        self.shared.flow.room().await?;
        let Some(message) = self.outgoing(message) else { return Ok(()) };
        let mut sending = Sending::of(&self.shared, &message);
        let sent = self.shared.inner.send(message).await;
        sending.is_over(&sent);
        self.ended(sent)
    }

    async fn recv(&self) -> Result<rpc::Message, Error> {
        let PoliciesShared { inner, flow, .. } = &*self.shared;
        loop {
            let more = pin!(flow.to_receive.notified());
            if let Some(message) = flow.receive() {
                return Ok(message);
            }
            if flow.is_clogged() {
                more.await;
            } else if let Either::Left((received, _)) = select(pin!(inner.recv()), more).await {
                flow.incoming(self.ended(received)?, self.shared.now());
            }
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = rpc::Message> + Send) -> Result<(), Error> {
        let mut messages = messages.peekable();
        while messages.peek().is_some() {
            self.shared.flow.room().await?;
            let burst = messages.by_ref().take(crate::Burst::LONGEST);
            let sent = self.shared.inner.send_batch(burst.filter_map(|message| self.outgoing(message)));
            let sent = sent.await;
            self.ended(sent)?;
        }
        Ok(())
    }

    async fn recv_batch(
        &self,
        into: &mut (impl Extend<rpc::Message> + Send),
        limit: usize,
    ) -> Result<usize, Error> {
        let PoliciesShared { inner, flow, .. } = &*self.shared;
        loop {
            let more = pin!(flow.to_receive.notified());
            let mut count = 0;
            while count < limit
                && let Some(message) = flow.receive()
            {
                into.extend([message]);
                count += 1;
            }
            if count > 0 || limit == 0 {
                return Ok(count);
            }
            if flow.is_clogged() {
                more.await;
                continue;
            }
            let mut incoming = Incoming(&self.shared);
            if let Either::Left((received, _)) =
                select(pin!(inner.recv_batch(&mut incoming, limit)), more).await
            {
                self.ended(received)?;
            }
        }
    }

    async fn drain(&self) -> Result<(), Error> {
        self.shared.flow.flush(self.shared.now()).await;
        self.shared.inner.drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        self.shared.flow.close();
        self.shared.flow.flush(self.shared.now()).await;
        let closed = self.shared.inner.close().await;
        self.shared.flow.clear();
        closed
    }

    fn peer_identity(&self) -> Option<PeerIdentity> {
        self.shared.inner.peer_identity()
    }
}

debug_fields!(PoliciesConnection<Inner: Connection> {});

/// Takes received messages to the engines, where they are not lost if the call is dropped.
struct Incoming<'a, Inner>(&'a PoliciesShared<Inner>);

impl<Inner: Connection> Extend<rpc::Message> for Incoming<'_, Inner> {
    fn extend<I: IntoIterator<Item = rpc::Message>>(&mut self, messages: I) {
        for message in messages {
            self.0.flow.incoming(message, self.0.now());
        }
    }
}

/// A call that is sent. If it was not, it has ended for the engines.
struct Sending<'a, Inner: Connection> {
    shared: &'a PoliciesShared<Inner>,
    call: Option<rpc::CallId>,
}

impl<'a, Inner: Connection> Sending<'a, Inner> {
    fn of(shared: &'a PoliciesShared<Inner>, message: &rpc::Message) -> Self {
        let is_call = matches!(message.kind(), MessageKind::Call { .. });
        Self { shared, call: is_call.then(|| message.call()) }
    }

    fn is_over(&mut self, sent: &Result<(), Error>) {
        let call = self.call.take();
        if let (Some(call), Err(error)) = (call, sent) {
            self.shared.flow.not_sent(call, refusal_of(error), self.shared.now());
        }
    }
}

impl<Inner: Connection> Drop for Sending<'_, Inner> {
    fn drop(&mut self) {
        if let Some(call) = self.call {
            let reason = "the call was given up while it was sent".into();
            let refusal = Refusal { kind: FailureKind::Disconnected, reason };
            self.shared.flow.not_sent(call, refusal, self.shared.now());
        }
    }
}
