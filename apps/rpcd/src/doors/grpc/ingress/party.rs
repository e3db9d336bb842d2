//! The parties that a connection is, one for each service that it calls.

use super::reading::Reading;
use crate::calling::caller;
use crate::calling::end::end;
use crate::doors::grpc::formats::status::Status;
use crate::doors::grpc::pending::Pending;
use crate::failures::code::Code;
use crate::failures::text::{details_of, text_of};
use crate::parties::link::Link;
use crate::parties::origin::Peer;
use crate::state::State;
use bertha_managed::attach::Role;
use bertha_managed::{Descriptor, Refusal};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::yield_now;

/// Number of bytes of the responses to a connection that are sent at once.
const WRITTEN: usize = 16 << 20;

/// The parties that a connection is.
#[derive(Debug)]
pub(super) struct Parties {
    peer: SocketAddr,
    pub(super) state: Arc<State>,
    parties: Mutex<HashMap<String, Arc<Party>>>,
    /// Room for requests that are read.
    pub(super) reading: Reading,
    /// Room for responses that are sent. Others wait as frames, whose bytes are bounded.
    pub(super) writing: Semaphore,
}

/// A caller of a service.
#[derive(Debug)]
pub(super) struct Party {
    pub(super) link: Arc<Link>,
    pub(super) pending: Arc<Pending>,
    state: Arc<State>,
    task: tokio::task::AbortHandle,
}

impl Parties {
    pub(super) fn new(peer: SocketAddr, reading: Reading, state: Arc<State>) -> Self {
        Self { peer, state, parties: Mutex::default(), reading, writing: Semaphore::new(WRITTEN) }
    }

    /// Returns the party that calls a service of this full name.
    pub(super) fn party(&self, service: &str) -> Result<Arc<Party>, Status> {
        let server = self.state.services.of_schema(service);
        let Some(server) = server else {
            // A server that has gone comes back, and callers try again then.
            let code = if self.state.plans.has(service) { Code::Unavailable } else { Code::Unimplemented };
            return Err(Status::new(code, &format!("no application serves {service}")));
        };
        let mut parties = self.parties.lock();
        // A server that has come since may have another schema.
        if let Some(party) = parties.get(service)
            && Arc::ptr_eq(&party.link.typed, &server.typed)
        {
            return Ok(Arc::clone(party));
        }
        let from = (format!("HTTP/2 at {}", self.peer), Peer::of(&self.peer.into()));
        let typed = Arc::clone(&server.typed);
        let State { services, heap, .. } = &*self.state;
        let link = Link::daemon(from, server.service.clone(), Role::Caller, typed, *heap, services.common());
        let added = self.state.services.add(&link);
        added.map_err(|reason| {
            self.state.not_taken.stranger(&self.peer.into(), &reason);
            Status::new(Code::Unavailable, &reason)
        })?;
        let pending = Arc::new(Pending::default());
        let tending = tend(Arc::clone(&link), Arc::clone(&pending), Arc::clone(&self.state));
        let (task, state) = (self.state.dedicated.spawn(&link.service, tending), Arc::clone(&self.state));
        let party = Arc::new(Party { link, pending, state, task });
        parties.insert(service.to_owned(), Arc::clone(&party));
        Ok(party)
    }
}

impl Party {
    /// Takes what the caller says.
    pub(super) fn take(&self, descriptor: Descriptor) {
        if let Err(breach) = caller::take(&self.link, &[descriptor], self.state.now()) {
            tracing::error!(reason = breach.0, "the daemon does not follow its own protocol");
        }
        caller::carry_on(&self.link, &self.state);
        // There may be more to carry on, and engines may hold what was said until a time that the task does not know.
        self.link.look();
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        self.task.abort();
        end(&self.link, &self.state, "the caller has gone", true);
    }
}

/// Passes outcomes on, and does what is due.
async fn tend(link: Arc<Link>, calls: Arc<Pending>, state: Arc<State>) {
    let mut descriptors = Vec::new();
    loop {
        let due = link.caller.lock().open.chain.due();
        tokio::select! {
            () = link.has_news() => drop(link.news(&mut descriptors)),
            () = link.changed.told() => {}
            () = state.until(due) => {}
        }
        for descriptor in descriptors.drain(..) {
            let unheard = match descriptor {
                Descriptor::Response { call, .. } => calls.end(call, Ok(descriptor)),
                Descriptor::Failure { call, kind, reason, .. } => {
                    let frame = link.waiting(&descriptor);
                    let read = |frame| (text_of(&frame, reason.at), details_of(&frame, reason.at));
                    let (text, details) = frame.map(read).unwrap_or_default();
                    calls.end(call, Err((Refusal { kind, reason: text.unwrap_or_default().into() }, details)))
                }
                // Notices about frames, of which there are none.
                _ => Ok(()),
            };
            if let Err(Ok(response)) = unheard {
                drop(link.waiting(&response));
            }
        }
        // A burst without descriptors does what is due.
        let _taken = caller::take(&link, &[], state.now());
        while !caller::carry_on(&link, &state) {
            yield_now().await;
        }
    }
}
