//! A daemon between two others.

use crate::admission::grpc_tls::{GrpcTls, Servers};
use crate::calling::end::end;
use crate::calling::{caller, server};
use crate::destinations::services::{Dial, Services};
use crate::libraries::kinds::Kinds;
use crate::messages::memory::common::Common;
use crate::parties::link::Link;
use crate::schemas::typed::Typed;
use crate::state::State;
use crate::state::dedicated::Dedicated;
use bertha_core::Buf;
use bertha_datapath_shm::{Users, Waiting};
use bertha_managed::Descriptor;
use bertha_managed::attach::Role;
use bertha_schemas::Unsuitable;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Number of bytes of the frames that one of the daemons may have while it is alone.
const HEAP: usize = 1 << 20;

/// A daemon between two others, one of which calls a service that the other serves. Messages come and go by methods.
#[derive(Debug)]
pub struct Between {
    typed: Arc<Typed>,
    caller: Option<Arc<Link>>,
    server: Option<Arc<Link>>,
    state: State,
    _dials: UnboundedReceiver<Dial>,
}

impl Between {
    /// Connects two daemons to a third by a service with this schema.
    ///
    /// # Errors
    /// Fails with what is wrong with the schema.
    ///
    /// # Panics
    /// Panics if the daemon does not take the others.
    pub fn new(descriptors: &[u8]) -> Result<Self, Unsuitable> {
        Ok(Self::of(Arc::new(Typed::read(descriptors.to_vec())?)))
    }

    /// Connects two others by a service with the schema of these, which is not read again.
    ///
    /// # Panics
    /// Panics if the daemon does not take the others.
    pub fn fresh(&self) -> Self {
        Self::of(Arc::clone(&self.typed))
    }

    fn of(typed: Arc<Typed>) -> Self {
        let common = Common::new(HEAP);
        let link = |role| {
            let typed = Arc::clone(&typed);
            Link::daemon((format!("{role:?}"), None), "service".into(), role, typed, HEAP, &common)
        };
        let (dial, dials) = unbounded_channel();
        let (caller, server) = (link(Role::Caller), link(Role::Server));
        let services = Services::new(dial, common.clone());
        for link in [&caller, &server] {
            let added = services.add(link);
            assert_eq!(added, Ok(()), "a daemon that has no others has a place");
        }
        let (servers, dedicated) = (Servers::new(GrpcTls::default()), Dedicated::default());
        let state =
            State::new(services, Kinds::new(None), servers, dedicated, Users::Same, Waiting::Park, HEAP);
        Self { typed, caller: Some(caller), server: Some(server), state, _dials: dials }
    }

    /// Takes a message. Returns false if it breaks the protocol, which ends the connection of its author, or if that has ended before.
    pub fn take(&mut self, from: Role, message: Buf) -> bool {
        let Some(link) = self.link(from) else { return false };
        let follows = link.read(message).is_some_and(|descriptor| self.carry(link, &[descriptor]));
        if !follows {
            self.end(from);
        }
        follows
    }

    fn carry(&self, link: &Arc<Link>, mut descriptors: &[Descriptor]) -> bool {
        match link.role {
            Role::Caller => {
                let taken = caller::take(link, descriptors, self.state.now());
                while taken.is_ok() && !caller::carry_on(link, &self.state) {}
                taken.is_ok()
            }
            Role::Server => {
                while !descriptors.is_empty() {
                    match server::take(link, descriptors, &self.state) {
                        Ok(left) => descriptors = left,
                        Err(_breach) => return false,
                    }
                }
                true
            }
        }
    }

    /// Returns the messages for one of the daemons, as they are sent: descriptors with their frames.
    pub fn hear(&self, by: Role) -> Vec<Vec<u8>> {
        let Some(link) = self.link(by) else { return Vec::new() };
        let (mut descriptors, mut turn) = (Vec::new(), Vec::new());
        loop {
            let _regions = link.news(&mut turn);
            if turn.is_empty() {
                break;
            }
            descriptors.append(&mut turn);
        }
        let message = |descriptor: &Descriptor| {
            let head = descriptor.to_bytes();
            let frame = link.waiting(descriptor);
            let rest = frame.as_ref().map_or(&[][..], |frame| &frame.as_bytes()[head.len()..]);
            [&head, rest].concat()
        };
        descriptors.iter().map(message).collect()
    }

    /// Ends the connection of one of the daemons.
    pub fn end(&mut self, of: Role) {
        let link = match of {
            Role::Caller => self.caller.take(),
            Role::Server => self.server.take(),
        };
        if let Some(link) = link {
            end(&link, &self.state, "the connection has ended", true);
        }
    }

    /// Returns the number of bytes of all frames that are kept.
    pub fn kept(&self) -> usize {
        self.state.services.common().taken()
    }

    fn link(&self, role: Role) -> Option<&Arc<Link>> {
        match role {
            Role::Caller => self.caller.as_ref(),
            Role::Server => self.server.as_ref(),
        }
    }
}
