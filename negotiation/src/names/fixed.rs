//! Names of a list.

use bertha_core::{Addr, BoxFuture, Error, ErrorKind, Name, Resolver};
use std::collections::BTreeMap;

/// Names and their addresses, as the program states them.
///
/// ```
/// # use bertha_core::Addr;
/// use bertha_negotiation::names::Static;
/// let addresses: [Addr; 2] = [([10, 0, 0, 1], 4242).into(), ([10, 0, 0, 2], 4242).into()];
/// let resolver = Static::new().with("store".parse()?, addresses);
/// # drop(resolver);
/// # Ok::<(), bertha_core::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Static {
    names: BTreeMap<Name, Vec<Addr>>,
}

impl Static {
    /// Makes an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the addresses of `name` in order of preference, in place of its earlier addresses. A name with a
    /// port and the same name without a port are two names.
    #[must_use]
    pub fn with(mut self, name: Name, addresses: impl IntoIterator<Item = Addr>) -> Self {
        self.names.insert(name, addresses.into_iter().collect());
        self
    }
}

impl Resolver for Static {
    fn resolve<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Vec<Addr>, Error>> {
        let found = self.names.get(name).cloned().ok_or_else(|| {
            Error::new(ErrorKind::Unreachable, format!("`{name}` is not in the list of names")).at("Static")
        });
        Box::pin(std::future::ready(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_has_the_addresses_that_were_stated_last() {
        let name: Name = "store".parse().unwrap();
        let addr = |last| Addr::from(([10, 0, 0, last], 1));
        let resolver = Static::new().with(name.clone(), [addr(1)]).with(name.clone(), [addr(3), addr(2)]);
        assert_eq!(resolver.resolve(&name).await.unwrap(), [addr(3), addr(2)]);
        let other = "store:1".parse().unwrap();
        assert_eq!(resolver.resolve(&other).await.unwrap_err().kind(), ErrorKind::Unreachable);
    }
}
