//! The services that a directory knows, without I/O.

use super::key::{Key, Transport};
use super::protocol::{Refusal, RegistrationId};
use super::rules::{ROOT, Rules};
use super::shares;
use std::collections::HashMap;

/// The longest name, and the longest address, in bytes.
const LONGEST: usize = 255;

/// The addresses of one service, at most.
const ADDRESSES: usize = 16;

/// The services of one user, at most, root excepted: fewer where the directory has few places left.
const SERVICES: usize = 1024;

/// The part of a directory's places that root's services alone may take, and clients that have registered nothing.
const KEPT: usize = 8;

/// A service, by the number of its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// The user whose process registered it.
    pub(crate) user: u32,
    pub(crate) addresses: Vec<Address>,
    /// The number by which clients recognise it.
    pub(crate) registration: RegistrationId,
}

/// An address of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) text: String,
    /// The transport of the socket that the process has there. `None` if it has shown no socket.
    pub(crate) transport: Option<Transport>,
}

impl Address {
    /// An address that is kept for a user, who has shown no socket, counts for both transports.
    fn keys(&self) -> impl Iterator<Item = Key> {
        let all = [Transport::Stream, Transport::Datagram];
        let transports = all.into_iter().filter(|it| self.transport.is_none_or(|only| only == *it));
        transports.map(|transport| Key::At(transport, self.text.clone()))
    }
}

impl Entry {
    fn keys(&self) -> impl Iterator<Item = Key> {
        [Key::Name(self.name.clone())].into_iter().chain(self.addresses.iter().flat_map(Address::keys))
    }
}

/// All services.
#[derive(Debug)]
pub(crate) struct Entries {
    rules: Rules,
    /// Places for services, of users other than root.
    places: usize,
    entries: HashMap<u64, Entry>,
    numbers: HashMap<Key, u64>,
    of_users: HashMap<u32, usize>,
}

impl Entries {
    /// Makes a directory without services, with these rules, and with this number of places for connections:
    /// each service takes one.
    pub(crate) fn new(rules: Rules, places: usize) -> Self {
        Self {
            rules,
            places: places - places / KEPT,
            entries: HashMap::new(),
            numbers: HashMap::new(),
            of_users: HashMap::new(),
        }
    }

    /// Enters a service for the connection with this number.
    ///
    /// # Errors
    /// If a name or an address is taken, the user has no right to the name, or something is too long or too much; with a text.
    pub(crate) fn register(&mut self, number: u64, entry: Entry) -> Result<(), (Refusal, String)> {
        let addresses = entry.addresses.iter().map(|address| &address.text);
        let fits = [&entry.name].into_iter().chain(addresses).all(|it| !it.is_empty() && it.len() <= LONGEST);
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
        if let Some(reason) = entry.addresses.iter().find_map(|address| self.objection(address, entry.user)) {
            return Err((Refusal::NoRight, reason));
        }
        if self.entries.contains_key(&number) {
            return Err((Refusal::TooMuch, "a connection registers one service".into()));
        }
        if let Some(taken) = entry.keys().find(|key| self.numbers.contains_key(key)) {
            return Err((Refusal::Taken, format!("{taken} belongs to another process")));
        }
        if let Some(reason) = self.lack_of_room(entry.user) {
            return Err((Refusal::Full, reason));
        }
        *self.of_users.entry(entry.user).or_default() += 1;
        self.numbers.extend(entry.keys().map(|key| (key, number)));
        self.entries.insert(number, entry);
        Ok(())
    }

    /// The reason for which there is no room for a further service of the user.
    fn lack_of_room(&self, user: u32) -> Option<String> {
        let own = self.of_users.get(&user).copied().unwrap_or_default();
        let taken = self.entries.len();
        let has_room = own < SERVICES && shares::has_room(self.places, taken, own);
        (user != ROOT && !has_room).then(|| {
            format!(
                "user {user} has {own} services, and {} places are free: a user other than root gets at most a third \
                 of the free places, and at most {SERVICES} services",
                self.places.saturating_sub(taken)
            )
        })
    }

    /// Returns the number of services.
    pub(crate) fn count(&self) -> usize {
        self.entries.len()
    }

    /// The reason for which the user may not take the address.
    fn objection(&self, address: &Address, user: u32) -> Option<String> {
        let text = address.text.escape_debug();
        match self.rules.keeps_address(&address.text, user) {
            Some(true) => None,
            Some(false) => Some(format!("user {user} has no right to the address {text}")),
            None if address.transport.is_some() => None,
            None => Some(format!(
                "no socket of the process listens at {text}; `--keep-address` of the directory lets a user register it"
            )),
        }
    }

    /// Forgets the service of this connection, if it has one.
    pub(crate) fn remove(&mut self, number: u64) {
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
    pub(crate) fn find(&self, key: &Key) -> Option<(u64, &Entry)> {
        let number = match key {
            Key::Address(address) => {
                let at = |transport| self.numbers.get(&Key::At(transport, address.clone()));
                at(Transport::Stream).or_else(|| at(Transport::Datagram))
            }
            key => self.numbers.get(key),
        };
        let number = *number?;
        Some((number, self.entries.get(&number)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places of a directory that is not short of descriptors.
    const PLACES: usize = 16 << 10;

    fn entry(name: &str, user: u32, addresses: &[&str]) -> Entry {
        let addresses = addresses.iter().map(|&it| proven(it, Transport::Stream)).collect();
        Entry { name: name.into(), user, addresses, registration: [7; 32] }
    }

    fn proven(text: &str, transport: Transport) -> Address {
        Address { text: text.into(), transport: Some(transport) }
    }

    fn refusal(entries: &mut Entries, number: u64, entry: Entry) -> Option<Refusal> {
        entries.register(number, entry).err().map(|(refusal, _)| refusal)
    }

    #[test]
    fn what_is_taken_is_refused_until_its_owner_is_gone() {
        let mut entries = Entries::new(Rules::new(), PLACES);
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
    fn an_address_belongs_to_who_has_it_or_to_whom_it_is_kept_for() {
        let mut entries = Entries::new(Rules::new().keep_address("10.0.0.7:", 8), PLACES);
        let claim =
            |name: &str, user, address: Address| Entry { addresses: vec![address], ..entry(name, user, &[]) };
        let unproven = |text: &str| Address { text: text.into(), transport: None };
        for user in [0, 7] {
            assert_eq!(
                refusal(&mut entries, 1, claim("no socket", user, unproven("10.0.0.1:80"))),
                Some(Refusal::NoRight)
            );
            let kept = proven("10.0.0.7:80", Transport::Stream);
            assert_eq!(refusal(&mut entries, 1, claim("kept", user, kept)), Some(Refusal::NoRight));
        }
        assert_eq!(refusal(&mut entries, 1, claim("owner", 8, unproven("10.0.0.7:80"))), None);
        // Ports of TCP and UDP are others.
        let (stream, datagram) = (Transport::Stream, Transport::Datagram);
        assert_eq!(refusal(&mut entries, 2, claim("udp", 7, proven("10.0.0.1:80", datagram))), None);
        assert_eq!(refusal(&mut entries, 3, claim("tcp", 7, proven("10.0.0.1:80", stream))), None);
        let name = |key: Key| entries.find(&key).unwrap().1.name.clone();
        assert_eq!(name(Key::At(datagram, "10.0.0.1:80".into())), "udp");
        assert_eq!(name(Key::Address("10.0.0.1:80".into())), "tcp");
        assert_eq!(name(Key::At(datagram, "10.0.0.7:80".into())), "owner");
    }

    #[test]
    fn names_are_kept_for_their_users() {
        let rules = Rules::new().keep("store", 7).keep("pay.*", 8).keep("pay.*", 9);
        let mut entries = Entries::new(rules, PLACES);
        assert_eq!(refusal(&mut entries, 1, entry("store", 8, &[])), Some(Refusal::NoRight));
        assert_eq!(refusal(&mut entries, 1, entry("pay.card", 7, &[])), Some(Refusal::NoRight));
        for (number, user, name) in [(1, 7, "store"), (2, 9, "pay.card"), (3, 8, "pay."), (4, 5, "stores")] {
            assert_eq!(refusal(&mut entries, number, entry(name, user, &[])), None, "{name}");
        }
        assert_eq!(refusal(&mut entries, 5, entry("pay.root", 0, &[])), None);
    }

    #[test]
    fn a_user_takes_no_more_than_a_share() {
        let mut entries = Entries::new(Rules::new(), PLACES);
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(refusal(&mut entries, 1, entry(&long, 7, &[])), Some(Refusal::TooMuch));
        assert_eq!(refusal(&mut entries, 1, entry("", 7, &[])), Some(Refusal::TooMuch));
        let addresses: Vec<_> = (0..=ADDRESSES).map(|number| number.to_string()).collect();
        let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
        assert_eq!(refusal(&mut entries, 1, entry("many", 7, &addresses)), Some(Refusal::TooMuch));
        for number in 0..SERVICES as u64 {
            assert_eq!(refusal(&mut entries, number, entry(&number.to_string(), 7, &[])), None);
        }
        assert_eq!(refusal(&mut entries, u64::MAX, entry("one more", 7, &[])), Some(Refusal::Full));
        assert_eq!(refusal(&mut entries, u64::MAX, entry("one more", 8, &[])), None);
    }

    /// Registers services of this user until the directory refuses one, and returns their number and the reason.
    fn fill(entries: &mut Entries, user: u32) -> (usize, String) {
        for count in 0.. {
            let number = u64::from(user) << 32 | count as u64;
            match entries.register(number, entry(&number.to_string(), user, &[])) {
                Ok(()) => {}
                Err((refusal, reason)) => {
                    assert_eq!(refusal, Refusal::Full);
                    return (count, reason);
                }
            }
        }
        unreachable!("a directory has room for ever")
    }

    /// With 1,000 places, 999 services of one user would leave no room to other users.
    #[test]
    fn the_share_of_a_user_is_smaller_where_places_are_few() {
        for (places, most) in [(1_000, 219), (40, 9), (1, 1)] {
            let mut entries = Entries::new(Rules::new(), places);
            let (count, reason) = fill(&mut entries, 7);
            assert_eq!(count, most, "{places}");
            assert!(reason.starts_with(&format!("user 7 has {count} services, and ")), "{reason}");
            assert_eq!(refusal(&mut entries, 1, entry("of root", 0, &[])), None);
        }
    }

    /// Four users with a quarter each would leave nothing to others.
    #[test]
    fn users_who_take_all_they_get_leave_room_to_others() {
        let mut entries = Entries::new(Rules::new(), 1_000);
        for user in 1..=12 {
            assert!(fill(&mut entries, user).0 >= 9, "user {user}");
        }
        assert_eq!(refusal(&mut entries, 1, entry("of another", 100, &[])), None);
        for number in 0..125 {
            assert_eq!(refusal(&mut entries, 1_000 + number, entry(&format!("{number}"), 0, &[])), None);
        }
        assert!(entries.count() < 1_000, "connections that have registered nothing have places, too");
    }
}
