//! Changes of policies while calls flow.

use bertha_managed::{Chain, EngineKind, Settings, Unchanged};
use std::fmt;
use std::sync::Arc;

/// A change of the engines that the calls of a service pass.
#[derive(Debug, Clone)]
pub enum Change {
    /// An engine comes behind the others.
    Add {
        /// The name of the engine.
        name: String,
        /// The kind of the engine.
        kind: Arc<dyn EngineKind>,
        /// The settings of the engine.
        settings: Settings,
    },
    /// Settings of an engine change. Those that are not named stay.
    Configure {
        /// The name of the engine.
        name: String,
        /// The settings that change.
        settings: Settings,
    },
    /// Another version of an engine's kind takes its place.
    Upgrade {
        /// The name of the engine.
        name: String,
        /// The other version.
        kind: Arc<dyn EngineKind>,
    },
    /// An engine goes.
    Remove {
        /// The name of the engine.
        name: String,
    },
}

/// An engine that each caller of a service gets.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    name: String,
    kind: Arc<dyn EngineKind>,
    settings: Settings,
    /// Later settings, in their order.
    changes: Vec<Settings>,
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut settings = self.settings.clone();
        self.changes.iter().for_each(|changed| settings.set_all_of(changed));
        let text = format!("{} {settings}", self.kind.name());
        write!(f, "{} ({})", self.name, text.trim_end())
    }
}

impl Policy {
    pub(crate) fn add_to(&self, chain: &mut Chain) -> Result<(), Unchanged> {
        chain.add(usize::MAX, &self.name, Arc::clone(&self.kind), self.settings.clone())?;
        self.changes.iter().try_for_each(|changed| chain.configure(&self.name, changed.clone()))
    }
}

impl Change {
    pub(crate) fn apply(&self, chain: &mut Chain) -> Result<(), Unchanged> {
        match self {
            Self::Add { name, kind, settings } => {
                chain.add(usize::MAX, name, Arc::clone(kind), settings.clone())
            }
            Self::Configure { name, settings } => chain.configure(name, settings.clone()),
            Self::Upgrade { name, kind } => chain.upgrade(name, Arc::clone(kind)),
            Self::Remove { name } => chain.remove(name),
        }
    }

    /// Takes an engine out of a chain that another chain refused. Other changes stay: they suit each chain or none.
    pub(crate) fn undo(&self, chain: &mut Chain) {
        if let Self::Add { name, .. } = self {
            // It was added, so it is there.
            let _removed = chain.remove(name);
        }
    }

    pub(crate) fn apply_to_policies(&self, policies: &mut Vec<Policy>) -> Result<(), Unchanged> {
        let find = |policies: &mut [Policy], name: &str| {
            let place = policies.iter().position(|policy| policy.name == name);
            place.ok_or_else(|| Unchanged::NoEngine(name.to_owned()))
        };
        match self {
            Self::Add { name, .. } if find(policies, name).is_ok() => {
                return Err(Unchanged::Twice(name.clone()));
            }
            Self::Add { name, kind, settings } => policies.push(Policy {
                name: name.clone(),
                kind: Arc::clone(kind),
                settings: settings.clone(),
                changes: Vec::new(),
            }),
            Self::Configure { name, settings } => {
                let place = find(policies, name)?;
                let changes = &mut policies[place].changes;
                // What is set again need not be set before.
                changes.retain(|earlier| !settings.have_all_of(earlier));
                changes.push(settings.clone());
            }
            Self::Upgrade { name, kind } => {
                let place = find(policies, name)?;
                policies[place].kind = Arc::clone(kind);
            }
            Self::Remove { name } => {
                let place = find(policies, name)?;
                policies.remove(place);
            }
        }
        Ok(())
    }
}
