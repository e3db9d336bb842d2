//! The services that applications serve, and the policies on their calls.

use crate::destinations::route::Route;
use crate::destinations::route_ends::Routing;
use crate::destinations::route_list::Routes;
use crate::messages::memory::common::Common;
use crate::messages::rows::sending::Sending;
use crate::parties::link::Link;
use crate::schemas::typed::Typed;
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::attach::Role;
use bertha_managed::{Chain, Change, Policy, Refusal, Unchanged};
use parking_lot::Mutex;
use prost::Message;
use prost_types::FileDescriptorSet;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Maximum number of names of services.
const MOST: usize = 4096;

/// Services by their names.
#[derive(Debug)]
pub(crate) struct Services {
    services: Mutex<HashMap<String, Service>>,
    /// Number of servers so far.
    served: AtomicU64,
    /// Takes parties that are not connected.
    dials: UnboundedSender<Dial>,
    common: Common,
    /// A lock for those who change chains, so that each caller has the engines that the policies demand. It is taken before all others.
    changes: Mutex<()>,
}

#[derive(Debug, Default)]
struct Service {
    server: Option<Arc<Link>>,
    /// The number of the server among all that have attached.
    since: u64,
    callers: Vec<Arc<Link>>,
    policies: Vec<Policy>,
    /// The ways to servers of other machines, where no application of this machine serves.
    routing: Routing,
    /// The way of large rows in messages to other daemons.
    sending: Sending,
}

/// A party that has to be connected.
#[derive(Debug)]
pub(crate) struct Dial {
    pub(crate) link: Arc<Link>,
    pub(crate) to: Route,
}

impl Services {
    pub(crate) fn new(dials: UnboundedSender<Dial>, common: Common) -> Self {
        Self {
            services: Mutex::default(),
            served: AtomicU64::new(0),
            dials,
            common,
            changes: Mutex::default(),
        }
    }

    /// Returns what all parties have in common.
    pub(crate) fn common(&self) -> &Common {
        &self.common
    }

    /// Adds an application, with the engines that the policies on its service demand. Returns the reason if there is no place for it.
    pub(crate) fn add(&self, link: &Arc<Link>) -> Result<(), String> {
        // No policy changes between the look at the policies and the entry among those whose chains change.
        let _order = self.changes.lock();
        if link.role == Role::Caller {
            let policies = self.services.lock().get(&link.service).map(|service| service.policies.clone());
            let mut caller = link.caller.lock();
            for policy in policies.unwrap_or_default() {
                policy
                    .add_to(&mut caller.open.chain)
                    .map_err(|error| format!("a policy on {}: {error}", link.service))?;
            }
        }
        let mut services = self.services.lock();
        if services.len() >= MOST && !services.contains_key(&link.service) {
            return Err("there are too many services".into());
        }
        let service = services.entry(link.service.clone()).or_default();
        match (link.role, &service.server) {
            (Role::Server, Some(server)) => {
                return Err(format!(
                    "the application {} serves {} already",
                    server.application, link.service
                ));
            }
            (Role::Server, None) => {
                service.server = Some(Arc::clone(link));
                service.since = self.served.fetch_add(1, Ordering::Relaxed);
            }
            (Role::Caller, _) => {
                link.send_by(service.sending);
                service.callers.push(Arc::clone(link));
            }
        }
        Ok(())
    }

    /// Removes a party.
    pub(crate) fn remove(&self, link: &Arc<Link>) {
        let mut services = self.services.lock();
        let Some(service) = services.get_mut(&link.service) else { return };
        service.server.take_if(|server| Arc::ptr_eq(server, link));
        service.callers.retain(|caller| !Arc::ptr_eq(caller, link));
        let digest = link.typed.schema.digest();
        if service.callers.iter().all(|caller| caller.typed.schema.digest() != digest) {
            service.routing.forget(digest);
        }
        if service.is_empty() {
            services.remove(&link.service);
        }
    }

    /// Returns the server of the next call of a caller, and true if it is one of several.
    pub(crate) fn server_of(&self, caller: &Link, now: Duration) -> Result<(Arc<Link>, bool), Refusal> {
        let mut services = self.services.lock();
        let service = services.get_mut(&caller.service);
        let Some(Service { server, routing, sending, .. }) = service else { return Err(nobody(caller)) };
        if let Some(server) = server {
            check(caller, server)?;
            return Ok((Arc::clone(server), false));
        }
        let peer = routing.choose(caller.typed.schema.digest(), now, |to| self.dial(caller, to, *sending));
        peer.map(|peer| (peer, routing.has_several())).ok_or_else(|| nobody(caller))
    }

    /// Returns true if the next call of a caller goes to a server that is not passed over.
    pub(crate) fn has_any(&self, caller: &Link, now: Duration) -> bool {
        let digest = caller.typed.schema.digest();
        let mut services = self.services.lock();
        let service = services.get_mut(&caller.service);
        service.is_some_and(|service| service.server.is_some() || service.routing.has_any(digest, now))
    }

    /// Notes that the party at the end of a route takes calls. Returns the others of the route that are still being connected.
    pub(crate) fn opened(&self, link: &Arc<Link>, now: Duration) -> Vec<Arc<Link>> {
        self.routing_of(link, |routing| routing.opened(link, now)).unwrap_or_default()
    }

    /// Notes that the party at the end of a route cannot be reached, or refuses calls. Others of the route go before for a time.
    pub(crate) fn failed(&self, link: &Arc<Link>, now: Duration) {
        self.routing_of(link, |routing| routing.failed(link, now));
    }

    /// Notes that the party at the end of a route takes no more calls, or is gone.
    pub(crate) fn closed(&self, link: &Arc<Link>, now: Duration) {
        self.routing_of(link, |routing| routing.closed(link, now));
    }

    fn routing_of<T>(&self, link: &Link, change: impl FnOnce(&mut Routing) -> T) -> Option<T> {
        self.services.lock().get_mut(&link.service).map(|service| change(&mut service.routing))
    }

    /// Returns the schemas of all applications that serve.
    pub(crate) fn schemas(&self) -> Vec<FileDescriptorSet> {
        let servers: Vec<_> = self
            .services
            .lock()
            .values()
            .filter_map(|service| service.server.as_ref().map(Arc::clone))
            .collect();
        // They were read before, with bounds.
        servers
            .iter()
            .filter_map(|server| FileDescriptorSet::decode(&server.typed.descriptors[..]).ok())
            .collect()
    }

    /// Returns the application that serves the service of this full name, under whichever name. Of several it is the one that serves for the
    /// longest, so that none takes calls away, nor the policies on them, by the choice of its name.
    pub(crate) fn of_schema(&self, service: &str) -> Option<Arc<Link>> {
        let services = self.services.lock();
        let servers = services.values().filter_map(|service| Some((service.since, service.server.as_ref()?)));
        let those = servers.filter(|(_, server)| server.typed.has(service));
        those.min_by_key(|(since, _)| *since).map(|(_, server)| Arc::clone(server))
    }

    /// Leads the calls of a service along routes, or nowhere, where no application of this machine serves it. Calls under
    /// way stay where they are, and their connection ends with the last of them.
    pub(crate) fn lead(&self, service: &str, to: Option<Routes>) {
        let mut services = self.services.lock();
        let entry = services.entry(service.to_owned()).or_default();
        let earlier = entry.routing.lead(to);
        if entry.is_empty() {
            services.remove(service);
        }
        drop(services);
        earlier.iter().for_each(|daemon| daemon.retire());
    }

    /// Changes the way of large rows in messages of a service to other daemons, from the next message on.
    pub(crate) fn send_by(&self, name: &str, sending: Sending) {
        let mut services = self.services.lock();
        let service = services.entry(name.to_owned()).or_default();
        service.sending = sending;
        service.callers.iter().chain(service.routing.links()).for_each(|link| link.send_by(sending));
        if service.is_empty() {
            services.remove(name);
        }
    }

    /// Returns a line for each service: its name, its server or the peers of its route, the number of its callers, and its engines.
    pub(crate) fn list(&self, now: Duration) -> String {
        let services = self.services.lock();
        let mut lines: Vec<_> =
            services.iter().map(|(name, service)| format!("{name}\t{}\n", service.shown(now))).collect();
        lines.sort_unstable();
        lines.concat()
    }

    /// Returns the name of an engine of this kind, with its service, if there is one.
    pub(crate) fn engine_of(&self, kind: &str) -> Option<String> {
        let services = self.services.lock();
        services.iter().find_map(|(name, service)| {
            let engine = service.policies.iter().find(|policy| policy.is_of(kind))?;
            Some(format!("the engine {} of {name}", engine.name()))
        })
    }

    fn dial(&self, caller: &Link, to: &Route, sending: Sending) -> Arc<Link> {
        let (service, typed) = (caller.service.clone(), Arc::clone(&caller.typed));
        let link =
            Link::daemon((to.to_string(), None), service, Role::Server, typed, caller.heap, &self.common);
        link.send_by(sending);
        // A daemon that takes no more ends, and all calls with it.
        let _taken = self.dials.send(Dial { link: Arc::clone(&link), to: to.clone() });
        link
    }

    /// Changes the chains of all callers of a service, and the policies on later ones. Stops at the first chain that refuses. A caller of
    /// another schema than the server's, which has no calls there, is detached instead: it keeps nobody from a policy.
    pub(crate) fn change(&self, service: &str, change: &Change) -> Result<(), Unchanged> {
        let _order = self.changes.lock();
        let (server, callers, before) = {
            let services = self.services.lock();
            services.get(service).map_or_else(Default::default, |service| {
                (service.server.clone(), service.callers.clone(), service.policies.clone())
            })
        };
        let mut policies = before.clone();
        change.apply_to_policies(&mut policies)?;
        let typed = server.map(|server| Arc::clone(&server.typed));
        // Refused here, the change has taken place nowhere.
        for typed in known(typed.as_ref(), &callers) {
            change.check(
                &policies,
                Chain::new(typed.binding("", service, &self.common, Waker::noop().clone())),
            )?;
        }
        let is_other = |caller: &Link| {
            let digest = caller.typed.schema.digest();
            typed.as_ref().is_some_and(|typed| typed.schema.digest() != digest)
        };
        for (place, caller) in callers.iter().enumerate() {
            let changed = change.apply(&mut caller.caller.lock().open.chain);
            // What an engine held when it was removed goes on at once.
            caller.look();
            if changed.is_err() && is_other(caller) {
                self.remove(caller);
                caller.detach();
            } else if let Err(error) = changed {
                for caller in &callers[..place] {
                    change.undo(&before, &mut caller.caller.lock().open.chain);
                }
                return Err(error);
            }
        }
        self.services.lock().entry(service.to_owned()).or_default().policies = policies;
        Ok(())
    }
}

impl Service {
    /// Returns true if nothing is known of the service.
    fn is_empty(&self) -> bool {
        let Self { server, since: _, callers, policies, routing, sending } = self;
        let is_usual = *sending == Sending::default();
        server.is_none() && callers.is_empty() && policies.is_empty() && routing.is_empty() && is_usual
    }

    /// Returns the part of a line that tells of the service.
    fn shown(&self, now: Duration) -> String {
        let server = match (&self.server, self.routing.shown(now)) {
            (Some(server), _) => server.application.to_string(),
            (None, Some(peers)) => format!("at {peers}"),
            (None, None) => "none".into(),
        };
        let sending = (self.sending != Sending::default()).then(|| format!("(sent by {})", self.sending));
        let engines: Vec<_> = self.policies.iter().map(ToString::to_string).chain(sending).collect();
        format!("{server}\t{}\t{}", self.callers.len(), engines.join(", "))
    }
}

/// Returns the schemas of a service: that of its server, else those of its callers, else one of which nothing is known.
fn known(server: Option<&Arc<Typed>>, callers: &[Arc<Link>]) -> Vec<Arc<Typed>> {
    let mut typed: Vec<_> = match server {
        Some(server) => vec![Arc::clone(server)],
        None => callers.iter().map(|caller| Arc::clone(&caller.typed)).collect(),
    };
    typed.sort_unstable_by_key(|typed| typed.schema.digest());
    typed.dedup_by_key(|typed| typed.schema.digest());
    if typed.is_empty() {
        typed.push(Arc::new(Typed::unknown()));
    }
    typed
}

fn nobody(caller: &Link) -> Refusal {
    let reason = format!("no application serves {}", caller.service).into();
    Refusal { kind: FailureKind::Unavailable, reason }
}

/// Checks that the two ends of a call have one schema.
fn check(caller: &Link, server: &Link) -> Result<(), Refusal> {
    let theirs = &server.typed.schema;
    if caller.typed.schema.digest() == theirs.digest() {
        return Ok(());
    }
    let reason = format!("the server has another schema: {}", caller.difference_from(theirs)).into();
    Err(Refusal { kind: FailureKind::Malformed, reason })
}
