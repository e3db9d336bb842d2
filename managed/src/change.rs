//! Changes of engines while calls flow.

use crate::{Chain, EngineKind, Settings, Unchanged};
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

/// An engine that each chain of several gets, with the changes of its settings.
#[derive(Debug, Clone)]
pub struct Policy {
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
    /// Returns the name of the engine.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if the engine is of this kind, of whichever version.
    pub fn is_of(&self, kind: &str) -> bool {
        self.kind.name() == kind
    }

    /// Adds the engine to a chain, behind all others.
    ///
    /// # Errors
    /// The errors of [`Chain::add`].
    pub fn add_to(&self, chain: &mut Chain) -> Result<(), Unchanged> {
        chain.add(usize::MAX, &self.name, Arc::clone(&self.kind), self.settings.clone())?;
        self.changes.iter().try_for_each(|changed| chain.configure(&self.name, changed.clone()))
    }
}

impl Change {
    /// Changes a chain.
    ///
    /// # Errors
    /// Fails with the reason why the chain is as it was.
    pub fn apply(&self, chain: &mut Chain) -> Result<(), Unchanged> {
        match self {
            Self::Add { name, kind, settings } => {
                chain.add(usize::MAX, name, Arc::clone(kind), settings.clone())
            }
            Self::Configure { name, settings } => chain.configure(name, settings.clone()),
            Self::Upgrade { name, kind } => chain.upgrade(name, Arc::clone(kind)),
            Self::Remove { name } => chain.remove(name),
        }
    }

    /// Checks that a chain to come would get the engine that this change makes, or whose settings it changes.
    ///
    /// # Errors
    /// The errors of [`Chain::add`].
    pub fn check(&self, policies: &[Policy], mut chain: Chain) -> Result<(), Unchanged> {
        let (Self::Add { name, .. } | Self::Configure { name, .. } | Self::Upgrade { name, .. }) = self
        else {
            return Ok(());
        };
        let mut changed = policies.iter().filter(|policy| policy.name == *name);
        changed.try_for_each(|policy| policy.add_to(&mut chain))
    }

    /// Changes a chain back, because another chain refused the change. A change of settings stays: it suits each chain or none.
    pub fn undo(&self, before: &[Policy], chain: &mut Chain) {
        let undone = match self {
            Self::Add { name, .. } => chain.remove(name),
            Self::Upgrade { name, .. } => match before.iter().find(|policy| policy.name == *name) {
                Some(Policy { kind, .. }) => chain.upgrade(name, Arc::clone(kind)),
                None => Ok(()),
            },
            Self::Configure { .. } | Self::Remove { .. } => Ok(()),
        };
        if let Err(error) = undone {
            tracing::warn!(change = ?self, %error, "a change is not undone");
        }
    }

    /// Changes the list of the engines that further chains get.
    ///
    /// # Errors
    /// Fails if there is no engine of the name, and if a new one has the name of another.
    pub fn apply_to_policies(&self, policies: &mut Vec<Policy>) -> Result<(), Unchanged> {
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
                let policy = &mut policies[place];
                if !policy.is_of(kind.name()) {
                    return Err(Unchanged::OtherKind(policy.kind.name().to_owned()));
                }
                policy.kind = Arc::clone(kind);
            }
            Self::Remove { name } => {
                let place = find(policies, name)?;
                policies.remove(place);
            }
        }
        Ok(())
    }
}
