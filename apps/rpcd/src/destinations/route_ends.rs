//! The parties at the ends of the route of a service.

use crate::destinations::balance::Balance;
use crate::destinations::route::Route;
use crate::destinations::route_list::Routes;
use crate::parties::link::Link;
use bertha_schemas::Digest;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// The route of a service, and its peers, which differ by the schema of callers: what one schema's calls find tells nothing of another's.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    routes: Option<Routes>,
    ends: HashMap<Digest, Ends>,
}

/// The peers at the ends of a route, for callers of one schema.
#[derive(Debug)]
struct Ends {
    balance: Balance,
    links: Vec<Option<Arc<Link>>>,
}

impl Routing {
    /// Leads calls along other routes, or nowhere. Returns the parties that get no more.
    pub(crate) fn lead(&mut self, to: Option<Routes>) -> Vec<Arc<Link>> {
        self.routes = to;
        self.ends.drain().flat_map(|(_, ends)| ends.links).flatten().collect()
    }

    /// Returns the peer of the next call of a schema, which is connected by `dial` if it is not. Returns `None` without a route.
    pub(crate) fn choose(
        &mut self,
        schema: Digest,
        now: Duration,
        dial: impl Fn(&Route) -> Arc<Link>,
    ) -> Option<Arc<Link>> {
        let routes = self.routes.as_ref()?;
        let Ends { balance, links } = self.ends.entry(schema).or_insert_with(|| Ends::of(routes));
        while let Some(peer) = balance.connect(now) {
            links[peer] = routes.get(peer).map(&dial);
        }
        let peer =
            balance.choose(now, |peer| links[peer].as_ref().map_or(0, |link| link.given.lock().count()));
        if links[peer].is_none() {
            balance.connects(peer);
            links[peer] = routes.get(peer).map(&dial);
        }
        links[peer].clone()
    }

    /// Returns true if calls have more than one peer to go to.
    pub(crate) fn has_several(&self) -> bool {
        self.routes.as_ref().is_some_and(|routes| routes.iter().len() > 1)
    }

    /// Returns true if the next call of a schema goes to a peer that is not passed over.
    pub(crate) fn has_any(&mut self, schema: Digest, now: Duration) -> bool {
        self.routes.is_some() && self.ends.get_mut(&schema).is_none_or(|ends| ends.balance.has_any(now))
    }

    /// Notes that a party takes calls. Returns those that are still being connected.
    pub(crate) fn opened(&mut self, link: &Arc<Link>, now: Duration) -> Vec<Arc<Link>> {
        let Some((peer, ends)) = self.place_of(link) else { return Vec::new() };
        ends.balance.opened(peer, now);
        let links = ends.links.iter().enumerate().filter(|(peer, _)| !ends.balance.is_open(*peer));
        links.filter_map(|(_, link)| link.clone()).collect()
    }

    /// Notes that a party takes no more calls, or is gone.
    pub(crate) fn closed(&mut self, link: &Arc<Link>, now: Duration) {
        if let Some((peer, ends)) = self.place_of(link) {
            ends.links[peer] = None;
            ends.balance.closed(peer, now);
        }
    }

    /// Notes that a party cannot be reached, or refuses calls.
    pub(crate) fn failed(&mut self, link: &Arc<Link>, now: Duration) {
        if let Some((peer, ends)) = self.place_of(link) {
            ends.balance.failed(peer, now);
        }
    }

    /// Forgets the peers of a schema that has no callers, unless one is connected.
    pub(crate) fn forget(&mut self, schema: Digest) {
        if self.ends.get(&schema).is_some_and(|ends| ends.links.iter().all(Option::is_none)) {
            self.ends.remove(&schema);
        }
    }

    /// Returns the parties at the ends of the route.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Arc<Link>> {
        self.ends.values().flat_map(|ends| &ends.links).flatten()
    }

    /// Returns true if nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.routes.is_none() && self.ends.is_empty()
    }

    /// Returns the route as a text that names the peers that are passed over for calls of any schema.
    pub(crate) fn shown(&self, now: Duration) -> Option<String> {
        let passes_over = |peer| self.ends.values().any(|ends| ends.balance.passes_over(peer, now));
        let peers = self.routes.as_ref()?.iter().enumerate().map(|(peer, route)| {
            let note = if passes_over(peer) { " (passed over)" } else { "" };
            format!("{route}{note}")
        });
        Some(peers.collect::<Vec<_>>().join(", "))
    }

    fn place_of(&mut self, link: &Arc<Link>) -> Option<(usize, &mut Ends)> {
        let ends = self.ends.get_mut(&link.typed.schema.digest())?;
        let peer = ends
            .links
            .iter()
            .position(|other| other.as_ref().is_some_and(|other| Arc::ptr_eq(other, link)))?;
        Some((peer, ends))
    }
}

impl Ends {
    fn of(routes: &Routes) -> Self {
        let count = routes.iter().len();
        // The draws of other daemons are different, so that they do not choose the same peers.
        let seed = RandomState::new().hash_one(count);
        Self { balance: Balance::new(count, seed), links: vec![None; count] }
    }
}
