//! The services that a directory knows, without I/O.

use super::protocol::{Key, Refusal};
use std::collections::HashMap;

/// The longest name, and the longest address, in bytes.
const LONGEST: usize = 255;

/// The addresses of one service, at most.
const ADDRESSES: usize = 16;

/// The services of one user, at most, root excepted.
const SERVICES: usize = 1024;

/// The user who may do anything.
const ROOT: u32 = 0;

/// Names that are kept for users.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    owners: Vec<(String, u32)>,
}

impl Rules {
    /// Every name that is free may be taken by every user that may connect.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps a name for a user; with `*` at its end, all names that begin so. Of several rules for a name, one has to
    /// name the user. Root may take all names.
    #[must_use]
    pub fn keep(mut self, name: impl Into<String>, user: u32) -> Self {
        self.owners.push((name.into(), user));
        self
    }

    /// Whether the user may take the name.
    pub fn allow(&self, name: &str, user: u32) -> bool {
        let concerns = |rule: &str| match rule.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == rule,
        };
        let mut owners = self.owners.iter().filter(|(rule, _)| concerns(rule)).peekable();
        user == ROOT || owners.peek().is_none() || owners.any(|&(_, owner)| owner == user)
    }
}

/// A service, by the number of its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The user whose process registered it.
    pub user: u32,
    /// Its addresses.
    pub addresses: Vec<String>,
}

impl Entry {
    fn keys(&self) -> impl Iterator<Item = Key> {
        let addresses = self.addresses.iter().cloned().map(Key::Address);
        [Key::Name(self.name.clone())].into_iter().chain(addresses)
    }
}

/// All services.
#[derive(Debug, Default)]
pub struct Entries {
    rules: Rules,
    entries: HashMap<u64, Entry>,
    numbers: HashMap<Key, u64>,
    of_users: HashMap<u32, usize>,
}

impl Entries {
    /// None, and these rules for those to come.
    pub fn new(rules: Rules) -> Self {
        Self { rules, ..Self::default() }
    }

    /// Enters a service for the connection with this number.
    ///
    /// # Errors
    /// If a name or an address is taken, the user has no right to the name, or something is too long or too much; with a text.
    pub fn register(&mut self, number: u64, entry: Entry) -> Result<(), (Refusal, String)> {
        let fits =
            [&entry.name].into_iter().chain(&entry.addresses).all(|it| !it.is_empty() && it.len() <= LONGEST);
        if !fits || entry.addresses.len() > ADDRESSES {
            let reason = format!(
                "a name and up to {ADDRESSES} addresses of 1 to {LONGEST} bytes are entered, and nothing else"
            );
            return Err((Refusal::TooMuch, reason));
        }
        if !self.rules.allow(&entry.name, entry.user) {
            let reason = format!("user {} has no right to the name {}", entry.user, Key::from(&*entry.name));
            return Err((Refusal::NoRight, reason));
        }
        if self.entries.contains_key(&number) {
            return Err((Refusal::TooMuch, "a connection registers one service".into()));
        }
        if let Some(taken) = entry.keys().find(|key| self.numbers.contains_key(key)) {
            return Err((Refusal::Taken, format!("{taken} belongs to another process")));
        }
        let count = self.of_users.entry(entry.user).or_default();
        if entry.user != ROOT && *count >= SERVICES {
            return Err((Refusal::TooMuch, format!("user {} has {SERVICES} services", entry.user)));
        }
        *count += 1;
        self.numbers.extend(entry.keys().map(|key| (key, number)));
        self.entries.insert(number, entry);
        Ok(())
    }

    /// Forgets the service of this connection, if it has one.
    pub fn remove(&mut self, number: u64) {
        let Some(entry) = self.entries.remove(&number) else { return };
        for key in entry.keys() {
            self.numbers.remove(&key);
        }
        if let Some(count) = self.of_users.get_mut(&entry.user) {
            *count -= 1;
            if *count == 0 {
                self.of_users.remove(&entry.user);
            }
        }
    }

    /// A service, and the number of its connection.
    pub fn find(&self, key: &Key) -> Option<(u64, &Entry)> {
        let number = *self.numbers.get(key)?;
        Some((number, self.entries.get(&number)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, user: u32, addresses: &[&str]) -> Entry {
        let addresses = addresses.iter().map(|&it| it.into()).collect();
        Entry { name: name.into(), user, addresses }
    }

    fn refusal(entries: &mut Entries, number: u64, entry: Entry) -> Option<Refusal> {
        entries.register(number, entry).err().map(|(refusal, _)| refusal)
    }

    #[test]
    fn what_is_taken_is_refused_until_its_owner_is_gone() {
        let mut entries = Entries::default();
        assert_eq!(refusal(&mut entries, 1, entry("cart", 7, &["10.0.0.1:80"])), None);
        assert_eq!(refusal(&mut entries, 2, entry("cart", 7, &[])), Some(Refusal::Taken));
        assert_eq!(refusal(&mut entries, 2, entry("price", 0, &["10.0.0.1:80"])), Some(Refusal::Taken));
        assert_eq!(refusal(&mut entries, 1, entry("more", 7, &[])), Some(Refusal::TooMuch));
        assert_eq!(entries.find(&Key::from("price")), None, "a refusal leaves nothing");
        assert_eq!(entries.find(&Key::Address("10.0.0.1:80".into())).unwrap().1.name, "cart");
        assert_eq!(entries.find(&Key::Name("10.0.0.1:80".into())), None);
        entries.remove(1);
        assert_eq!(entries.find(&Key::from("cart")), None);
        assert_eq!(refusal(&mut entries, 2, entry("cart", 8, &["10.0.0.1:80"])), None);
        entries.remove(2);
        assert!(entries.entries.is_empty() && entries.numbers.is_empty() && entries.of_users.is_empty());
    }

    #[test]
    fn names_are_kept_for_their_users() {
        let rules = Rules::new().keep("store", 7).keep("pay.*", 8).keep("pay.*", 9);
        let mut entries = Entries::new(rules);
        assert_eq!(refusal(&mut entries, 1, entry("store", 8, &[])), Some(Refusal::NoRight));
        assert_eq!(refusal(&mut entries, 1, entry("pay.card", 7, &[])), Some(Refusal::NoRight));
        for (number, user, name) in [(1, 7, "store"), (2, 9, "pay.card"), (3, 8, "pay."), (4, 5, "stores")] {
            assert_eq!(refusal(&mut entries, number, entry(name, user, &[])), None, "{name}");
        }
        assert_eq!(refusal(&mut entries, 5, entry("pay.root", 0, &[])), None);
    }

    #[test]
    fn a_user_takes_no_more_than_a_share() {
        let mut entries = Entries::default();
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(refusal(&mut entries, 1, entry(&long, 7, &[])), Some(Refusal::TooMuch));
        assert_eq!(refusal(&mut entries, 1, entry("", 7, &[])), Some(Refusal::TooMuch));
        let addresses: Vec<_> = (0..=ADDRESSES).map(|number| number.to_string()).collect();
        let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
        assert_eq!(refusal(&mut entries, 1, entry("many", 7, &addresses)), Some(Refusal::TooMuch));
        for number in 0..SERVICES as u64 {
            assert_eq!(refusal(&mut entries, number, entry(&number.to_string(), 7, &[])), None);
        }
        assert_eq!(refusal(&mut entries, u64::MAX, entry("one more", 7, &[])), Some(Refusal::TooMuch));
        assert_eq!(refusal(&mut entries, u64::MAX, entry("one more", 8, &[])), None);
    }
}
