//! The services that applications serve, and the policies on their calls.

use crate::change::{Change, Policy};
use crate::link::Link;
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::attach::Role;
use bertha_managed::{Refusal, Unchanged};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum number of names of services.
const MOST: usize = 4096;

/// Services by their names.
#[derive(Debug, Default)]
pub(crate) struct Services {
    services: Mutex<HashMap<String, Service>>,
    /// A lock for those who change chains, so that each caller has the engines that the policies demand. It is taken before all others.
    changes: Mutex<()>,
}

#[derive(Debug, Default)]
struct Service {
    server: Option<Arc<Link>>,
    callers: Vec<Arc<Link>>,
    policies: Vec<Policy>,
}

impl Services {
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
            (Role::Server, None) => service.server = Some(Arc::clone(link)),
            (Role::Caller, _) => service.callers.push(Arc::clone(link)),
        }
        Ok(())
    }

    /// Removes an application.
    pub(crate) fn remove(&self, link: &Arc<Link>) {
        let mut services = self.services.lock();
        let Some(service) = services.get_mut(&link.service) else { return };
        service.server.take_if(|server| Arc::ptr_eq(server, link));
        service.callers.retain(|caller| !Arc::ptr_eq(caller, link));
        if service.server.is_none() && service.callers.is_empty() && service.policies.is_empty() {
            services.remove(&link.service);
        }
    }

    /// Returns the server of a caller's service.
    pub(crate) fn server_of(&self, caller: &Link) -> Result<Arc<Link>, Refusal> {
        let services = self.services.lock();
        let server = services.get(&caller.service).and_then(|service| service.server.as_ref());
        let Some(server) = server else {
            let reason = format!("no application serves {}", caller.service).into();
            return Err(Refusal { kind: FailureKind::Unavailable, reason });
        };
        let (ours, theirs) = (&caller.typed.binding.schema, &server.typed.binding.schema);
        if ours.digest() != theirs.digest() {
            let difference = ours.difference(theirs.lines());
            let reason = difference.map_or_else(String::new, |difference| difference.to_string());
            let reason = format!("the server has another schema: {reason}").into();
            return Err(Refusal { kind: FailureKind::Malformed, reason });
        }
        Ok(Arc::clone(server))
    }

    /// Changes the chains of all callers of a service, and the policies on later ones. Stops at the first chain that refuses.
    pub(crate) fn change(&self, service: &str, change: &Change) -> Result<(), Unchanged> {
        let _order = self.changes.lock();
        let (callers, mut policies) = {
            let services = self.services.lock();
            let service = services.get(service);
            service
                .map_or_else(Default::default, |service| (service.callers.clone(), service.policies.clone()))
        };
        change.apply_to_policies(&mut policies)?;
        for (place, caller) in callers.iter().enumerate() {
            let changed = change.apply(&mut caller.caller.lock().open.chain);
            // What an engine held when it was removed goes on at once.
            caller.look();
            if let Err(error) = changed {
                callers[..place].iter().for_each(|caller| change.undo(&mut caller.caller.lock().open.chain));
                return Err(error);
            }
        }
        self.services.lock().entry(service.to_owned()).or_default().policies = policies;
        Ok(())
    }
}
