//! The rules by which users register names and addresses.

/// The user who may take every name.
pub(super) const ROOT: u32 = 0;

/// Names and addresses that are kept for users.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    names: Vec<(String, u32)>,
    addresses: Vec<(String, u32)>,
}

impl Rules {
    /// Every name that is free may be taken by every user that may connect, and every free address by a process that listens there.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a name for a user; with `*` at its end, all names that begin so. Of several rules for a name, one has to
    /// name the user. Root may take all names.
    #[must_use]
    pub fn keep(mut self, name: impl Into<String>, user: u32) -> Self {
        self.names.push((name.into(), user));
        self
    }

    /// Keeps all addresses that begin so for a user, as `10.0.0.7:` or `unix:/run/pay/`. Processes of this user, and no others, register
    /// such an address, and need not listen there: for addresses of another network namespace, for forwarded ports, and for datapaths
    /// without sockets. Of several rules for an address, one has to name the user. Root is a user like any other here, since processes in
    /// containers often run as root.
    #[must_use]
    pub fn keep_address(mut self, prefix: impl Into<String>, user: u32) -> Self {
        self.addresses.push((prefix.into(), user));
        self
    }

    /// Returns true if the user may take the name.
    pub fn allow(&self, name: &str, user: u32) -> bool {
        let concerns = |rule: &str| match rule.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == rule,
        };
        let mut owners = self.names.iter().filter(|(rule, _)| concerns(rule)).peekable();
        user == ROOT || owners.peek().is_none() || owners.any(|&(_, owner)| owner == user)
    }

    /// Returns true if the address is kept for this user, false if it is kept for others, and `None` if it is not kept.
    pub fn keeps_address(&self, address: &str, user: u32) -> Option<bool> {
        let mut owners = self.addresses.iter().filter(|(prefix, _)| address.starts_with(prefix)).peekable();
        owners.peek()?;
        Some(owners.any(|&(_, owner)| owner == user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_kept_by_its_beginning() {
        let rules = Rules::new().keep_address("10.0.0.7:", 7).keep_address("10.0.0.7:80", 8);
        assert_eq!(rules.keeps_address("10.0.0.7:80", 7), Some(true));
        assert_eq!(rules.keeps_address("10.0.0.7:80", 8), Some(true));
        assert_eq!(rules.keeps_address("10.0.0.7:443", 8), Some(false));
        assert_eq!(rules.keeps_address("10.0.0.7:443", ROOT), Some(false));
        assert_eq!(rules.keeps_address("10.0.0.70:80", 7), None);
    }
}
