//! The protection that an alternative may not fall below.

use crate::handshake::{Requirements, check_possible};
use crate::settings::DELIVERY;
use crate::{Connect, Credentials};
use bertha_core::guarantee::Set;
use bertha_core::{Describe, Error, ErrorKind, Properties, guaranteed_above};

/// The protection that all alternatives so far have in any case.
#[derive(Debug, Default)]
pub(super) struct Strength {
    guarantees: Set,
    credentials: Credentials,
}

impl Strength {
    /// Returns the next alternative with the strength so far as its floor, and adds its own strength.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if its stack can't reach the strength, or if it has other credentials than an alternative before
    /// it.
    pub(super) fn admit<'s, S: Describe + ?Sized, D, C>(
        &mut self,
        mut next: Connect<'s, S, D, C>,
    ) -> Result<Connect<'s, S, D, C>, Error> {
        let nodes = next.nodes();
        let settings = next.settings_mut();
        settings.floor = settings.floor | self.guarantees;
        check_possible(&nodes, Requirements::new(settings.floor, Properties::STREAM)).map_err(weaker)?;
        self.guarantees = (settings.floor | guaranteed_above(&nodes, Set::NONE)).without(DELIVERY);
        if !self.credentials.is_some() {
            self.credentials = settings.credentials.clone();
        } else if self.credentials != settings.credentials {
            let what = "it has other credentials";
            return Err(weaker(Error::new(ErrorKind::Invalid, what)));
        }
        Ok(next)
    }
}

#[cold]
fn weaker(error: Error) -> Error {
    let what = format!("{}; an alternative is never weaker than those before it", error.context());
    error.retold(what).at("Fallback")
}
