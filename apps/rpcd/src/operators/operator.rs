//! Changes by operators, while calls flow.

use crate::destinations::route_list::Routes;
use crate::messages::rows::sending::Sending;
use crate::parties::reserved_names;
use crate::state::State;
use bertha_core::{Error, ErrorKind};
use bertha_managed::{Change, Counted, EngineKind, Unchanged, Unsuitable};
use std::path::Path;
use std::sync::Arc;

/// A handle of a daemon by which operators change policies.
#[derive(Debug, Clone)]
pub struct Operator {
    pub(crate) state: Arc<State>,
}

impl Operator {
    /// Returns a line for each service, with tabs: its name, its server or the peers of its route, the number of its callers, and its
    /// engines. If there are libraries of
    /// engines, an empty line follows, and a line for each: the name of its kind, and its path.
    pub fn list(&self) -> String {
        let (services, kinds) = (self.state.services.list(self.state.now()), self.state.kinds.list());
        if kinds.is_empty() { services } else { format!("{services}\n{kinds}") }
    }

    /// Returns the kind of engine of a name; the newest version of one that was loaded.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) with the names that there are.
    pub fn kind(&self, name: &str) -> Result<Arc<dyn EngineKind>, Error> {
        self.state.kinds.find(name)
    }

    /// Loads the library of a kind of engine, or of another version of it, which engines to come are of. Those that are there stay what they
    /// are until they are [upgraded](Change::Upgrade).
    ///
    /// # Errors
    /// The errors of [`Plugin::load`](bertha_managed::plugin::Plugin::load). [`Invalid`](ErrorKind::Invalid) if an engine of its name is
    /// built in, and if the library ends the process that [tries](crate::Settings::trials) it.
    pub async fn load(&self, path: &Path) -> Result<(), Error> {
        self.state.kinds.load(path).await
    }

    /// Takes a loaded kind of engine away.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if none of this name is loaded, or if a service has an engine of it.
    pub fn unload(&self, kind: &str) -> Result<(), Error> {
        match self.state.services.engine_of(kind) {
            Some(engine) => Err(Error::new(
                ErrorKind::Invalid,
                format!("{kind} is not unloaded: {engine} is of this kind"),
            )),
            None => self.state.kinds.remove(kind),
        }
    }

    /// Reads the schema of services before their applications start, and keeps it. Returns a line for each service, with tabs: its full name, the
    /// hash of its schema, and the numbers of its methods and of the messages that they reach.
    ///
    /// The last 64 services that were bound are kept, in 32 MiB.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) with what is wrong with the schema.
    pub async fn bind(&self, descriptors: Vec<u8>) -> Result<String, Error> {
        let bound = self.state.bind(descriptors).await?;
        let lines = bound.iter().filter_map(|typed| {
            let schema = &typed.schema;
            let (service, methods) = (&schema.methods().first()?.service, schema.methods().len());
            Some(format!("{service}\t{}\t{methods}\t{}\n", schema.digest(), schema.message_count()))
        });
        Ok(lines.collect())
    }

    /// Returns the number of schemas that were read. One that is known is not read again.
    pub fn schemas_read(&self) -> u64 {
        self.state.plans.count()
    }

    /// Returns the counts of the calls that have passed an engine [`metrics`](bertha_managed::engines::Metrics).
    pub fn counted(&self) -> Vec<Counted> {
        self.state.services.common().counts().read()
    }

    /// Leads the calls of a service to one of these servers each, unless an application of this machine serves it; or nowhere. Calls under
    /// way stay where they are.
    pub fn lead(&self, service: &str, to: Option<Routes>) {
        self.state.services.lead(service, to);
    }

    /// Sends large arguments and results of a service's calls to other daemons in another way, from the next message on.
    pub fn send_by(&self, service: &str, sending: Sending) {
        self.state.services.send_by(service, sending);
    }

    /// Changes the engines that the calls of a service pass, for all callers that are attached, and for those that come. Requests that a
    /// removed engine held go on before later ones.
    ///
    /// # Errors
    /// Fails with the reason if a caller's engines refuse the change; an engine that was added is then removed again. A new engine, and its service, may
    /// not have a name in parentheses, as the daemon's own rows have.
    pub fn change(&self, service: &str, change: &Change) -> Result<(), Unchanged> {
        if let Change::Add { name, .. } = change {
            let named = reserved_names::check_name("a service", service)
                .and_then(|()| reserved_names::check_name("an engine", name));
            named.map_err(|reserved| Unsuitable::new(reserved.context()))?;
        }
        self.state.services.change(service, change)
    }
}
