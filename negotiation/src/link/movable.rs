//! A client that goes on with its connection at another address.

use super::{Agreed, FromLink, Link, LinkShared, Start};
use crate::wire::{HEADER, Kind, Tag, header};
use bertha_core::{Base, Buf, Connection, ErrorKind, Role, Runtime};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use tokio::sync::mpsc::Sender;

/// Minimum number of links before those that are gone are looked for.
const SWEEP: usize = 64;

/// The links of a server whose stacks may take links to other addresses of their clients.
pub(crate) struct MovableLinks<C: Connection<Data = Buf>>(Mutex<ByTag<C>>);

struct ByTag<C: Connection<Data = Buf>> {
    links: HashMap<Tag, Weak<LinkShared<C>>>,
    /// The number of links at which those that are gone are taken out, so that they are never more than the links in use.
    sweep_at: usize,
}

impl<C: Connection<Data = Buf>> MovableLinks<C> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(ByTag { links: HashMap::new(), sweep_at: SWEEP }))
    }

    /// Adds the first link of a connection.
    pub(crate) fn add(&self, link: &Link<C>) {
        let mut by_tag = self.0.lock();
        by_tag.links.insert(Tag::of(link.shared.id), Arc::downgrade(&link.shared));
        if by_tag.links.len() >= by_tag.sweep_at {
            by_tag.links.retain(|_, link| link.strong_count() > 0);
            by_tag.sweep_at = SWEEP.max(2 * by_tag.links.len());
        }
    }

    /// Returns a link of the connection with this tag over `base`, from which `message` is the first data. The link is in its
    /// setup. Returns `None` if there is no such connection, or it has ended.
    pub(crate) fn at(
        &self,
        base: Arc<C>,
        tag: Tag,
        message: &Buf,
        listener: Sender<FromLink<C>>,
    ) -> Option<Link<C>> {
        let first = self.0.lock().links.get(&tag)?.upgrade()?;
        // The client is silent at its earlier address.
        let has_ended = first.lifecycle.check().is_err_and(|error| error.kind() != ErrorKind::TimedOut);
        let data = Buf::copy_of(message.get(HEADER..)?, 0).ok().filter(|_| !has_ended)?;
        first.link_at(base, data, listener)
    }
}

/// The links of a connection beside the first, those that are gone included: few, since a stack takes few.
pub(super) type FurtherLinks<C> = Mutex<Vec<Weak<LinkShared<C>>>>;

impl<C: Connection<Data = Buf>> LinkShared<C> {
    /// Returns the links to other addresses of the client.
    pub(super) fn further_links(&self) -> Vec<Arc<Self>> {
        let Some(further) = self.further.get() else { return Vec::new() };
        further.lock().iter().filter_map(Weak::upgrade).collect()
    }

    fn link_at(&self, base: Arc<C>, data: Buf, listener: Sender<FromLink<C>>) -> Option<Link<C>> {
        let now = base.base().runtime().now();
        let Agreed::Server { offer, answer } = self.agreed.get()? else { return None };
        let agreed = Agreed::Server { offer: *offer, answer: answer.clone() };
        let link = Link::new(Start {
            base,
            id: self.id,
            role: Role::Server,
            early: VecDeque::from([data]),
            has_to_answer: false,
            session: self.session.get()?.clone(),
            agreed,
            listener: Some(listener),
            address_challenge: None,
            settings: self.settings.clone(),
            idle_timeout: self.idle_timeout,
            now,
        });
        let mut further = self.further.get_or_init(Box::default).lock();
        further.retain(|link| link.strong_count() > 0);
        further.push(Arc::downgrade(&link.shared));
        Some(link)
    }
}

/// Returns the tag of a message of data.
pub(crate) fn data_tag(message: &[u8]) -> Option<Tag> {
    header(message).filter(|(kind, _)| *kind == Kind::Data).map(|(_, tag)| tag)
}
