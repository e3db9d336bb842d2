//! The places of clients. Sans-IO.

use super::{Client, Ending};
use bertha::core::Network;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Time for which a command may stay unfinished while none of its bytes arrives.
const WITHIN_COMMAND: Duration = Duration::from_secs(10);

/// A client that has said nothing has so much time until others' need takes its place, while few are as silent.
const PATIENCE: Duration = Duration::from_millis(100);

/// A client has at least so much time for its first command: further clients wait to be accepted. A task that has
/// just been made may have to wait for its turn while many clients are accepted.
const FIRST_WORD: Duration = Duration::from_millis(20);

/// The time in which an ended connection closes, as a rule: shorter than a listener without a descriptor waits before it
/// turns clients away.
const CLOSING: Duration = Duration::from_millis(50);

/// From this part of all places on, clients that have said nothing are many, and so are clients of one network.
const MANY: usize = 4;

/// The places of all clients of a process, whatever their listener is. A newcomer always gets one: that of the client that has been idle for
/// the longest time, first of those that have said nothing, then of the network that has most, if it has many.
#[derive(Debug)]
pub(crate) struct Places {
    state: Mutex<PlacesState>,
    most: usize,
    /// The longest time that a client may be idle, if there is a limit.
    idle: Option<Duration>,
    origin: Instant,
    /// Notifies the watch over idle clients that the first client has come.
    occupied: Notify,
    /// Notifies listeners without a descriptor that a client has gone.
    left: Notify,
}

#[derive(Debug)]
struct PlacesState {
    next: u64,
    /// Clients that have said nothing yet, in the order in which they came.
    silent: BTreeMap<u64, Arc<Client>>,
    /// Clients that have said something, each with its time in `order`.
    known: HashMap<u64, Known, ahash::RandomState>,
    /// The times when known clients were heard, and their numbers. A client may have been heard later: a time is corrected when
    /// it is the first, so hearing a client takes no lock.
    order: BTreeSet<(u64, u64)>,
    /// The part of `order` of each network.
    networks: HashMap<Network, BTreeSet<(u64, u64)>, ahash::RandomState>,
    /// The clients whose connections were ended, and are not closed yet.
    ending: HashSet<u64, ahash::RandomState>,
    /// When a connection was last ended.
    ended: Option<Instant>,
}

#[derive(Debug)]
struct Known {
    client: Arc<Client>,
    ordered: u64,
}

/// The place of a client. Dropping it makes room.
#[derive(Debug)]
pub(in crate::resp) struct ClientPlace {
    places: Arc<Places>,
    client: Arc<Client>,
}

impl Places {
    /// Makes this many places, at least one, for clients that are idle for at most this time.
    pub(crate) fn new(most: usize, idle: Option<Duration>, origin: Instant) -> Arc<Self> {
        let state = PlacesState {
            next: 1,
            silent: BTreeMap::new(),
            known: HashMap::default(),
            order: BTreeSet::new(),
            networks: HashMap::default(),
            ending: HashSet::default(),
            ended: None,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            most: most.max(1),
            idle,
            origin,
            occupied: Notify::new(),
            left: Notify::new(),
        })
    }

    /// Returns the time at which the next client may enter, if a client would have to make room that has come just now.
    pub(in crate::resp) fn waits_until(&self, now: Instant) -> Option<Instant> {
        let state = self.state.lock();
        let takes_silent = state.silent_are_many(self.most) || state.known.is_empty();
        if state.len() < self.most || !takes_silent {
            return None;
        }
        let (_, longest) = state.silent.first_key_value()?;
        let until = longest.entered() + FIRST_WORD;
        (until > now).then_some(until)
    }

    /// Gives a place to a new client, and ends the connection of another one if all are taken.
    pub(in crate::resp) fn enter(self: &Arc<Self>, network: Option<Network>, now: Instant) -> ClientPlace {
        let mut state = self.state.lock();
        if state.len() >= self.most {
            state.end_one(now, self.most, Ending::Places);
        }
        let id = state.next;
        state.next += 1;
        let client = Arc::new(Client::new(id, network, self.origin, now));
        state.silent.insert(id, client.clone());
        if state.len() == 1 {
            self.occupied.notify_one();
        }
        ClientPlace { places: self.clone(), client }
    }

    /// Notes that a client has said something: a whole command, and who it is if that is asked.
    pub(in crate::resp) fn know(&self, client: &Arc<Client>) {
        let mut state = self.state.lock();
        // It may have been ended.
        if let Some(client) = state.silent.remove(&client.id()) {
            let id = client.id();
            let ordered = client.heard();
            state.put(client.network(), (ordered, id));
            state.known.insert(id, Known { client, ordered });
        }
    }

    /// Ends the connection of the client that has been idle for the longest time, so that its descriptor becomes free,
    /// unless another client's descriptor will be free soon.
    pub(in crate::resp) fn free_descriptor(&self, now: Instant) {
        let mut state = self.state.lock();
        let is_soon_free = !state.ending.is_empty()
            && state.ended.is_some_and(|ended| now.saturating_duration_since(ended) < CLOSING);
        if !is_soon_free {
            state.end_one(now, self.most, Ending::Descriptors);
        }
    }

    /// Frees a descriptor, and is ready once a client has gone, or after this time. Connections close before
    /// their clients leave their places, so the descriptor is free by then.
    pub(in crate::resp) async fn wait_for_descriptor(&self, now: Instant, most: Duration) {
        let mut left = pin!(self.left.notified());
        // A client that goes from here on is noticed.
        left.as_mut().enable();
        self.free_descriptor(now);
        tokio::select! {
            () = left => {}
            () = bertha::sleep(most) => {}
        }
    }

    /// Ends the connections of all clients that have been idle, or within a command, for too long.
    pub(super) fn end_overdue(&self, now: Instant) {
        let state = self.state.lock();
        let known = state.known.values().map(|known| &known.client);
        for client in state.silent.values().chain(known) {
            let idle = client.idle(now);
            if client.is_within_command() && idle > WITHIN_COMMAND {
                client.end(Ending::HalfCommand);
            } else if self.idle.is_some_and(|most| idle > most) {
                client.end(Ending::Idle);
            }
        }
    }

    /// Ready while there are clients. For one waiting task.
    pub(super) async fn occupied(&self) {
        while self.count() == 0 {
            self.occupied.notified().await;
        }
    }

    /// The number of clients.
    pub(in crate::resp) fn count(&self) -> usize {
        self.state.lock().len()
    }
}

impl PlacesState {
    fn len(&self) -> usize {
        self.silent.len() + self.known.len()
    }

    /// Returns true if clients that have said nothing make room whenever they came.
    fn silent_are_many(&self, places: usize) -> bool {
        self.silent.len() > places / MANY
    }

    fn end_one(&mut self, now: Instant, places: usize, ending: Ending) {
        let are_many = self.silent_are_many(places);
        let silent = self.silent.first_entry().filter(|it| are_many || it.get().idle(now) > PATIENCE);
        let client = silent.map(|it| it.remove()).or_else(|| self.longest_idle(self.crowded(places)));
        // Nobody has said anything, and all have just come.
        let client = client.or_else(|| self.silent.pop_first().map(|(_, client)| client));
        if let Some(client) = client {
            self.ending.insert(client.id());
            self.ended = Some(now);
            client.end(ending);
        }
    }

    /// Returns the network with most known clients, if they are many.
    fn crowded(&self, places: usize) -> Option<Network> {
        let crowds = self.networks.iter().filter(|(_, clients)| clients.len() > places / MANY);
        crowds.max_by_key(|(_, clients)| clients.len()).map(|(network, _)| *network)
    }

    /// Takes away the known client, of this network or of all, that was not heard for the longest time.
    fn longest_idle(&mut self, network: Option<Network>) -> Option<Arc<Client>> {
        // Each has one look, so clients that are heard meanwhile keep nobody here.
        for _ in 0..self.order_of(network)?.len() {
            let &(time, id) = self.order_of(network)?.first()?;
            let known = self.known.get_mut(&id)?;
            let heard = known.client.heard();
            if heard <= time {
                break;
            }
            known.ordered = heard;
            let of = known.client.network();
            self.take(of, (time, id));
            self.put(of, (heard, id));
        }
        let &(_, id) = self.order_of(network)?.first()?;
        let Known { client, ordered } = self.known.remove(&id)?;
        self.take(client.network(), (ordered, id));
        Some(client)
    }

    fn order_of(&self, network: Option<Network>) -> Option<&BTreeSet<(u64, u64)>> {
        match network {
            None => Some(&self.order),
            Some(network) => self.networks.get(&network),
        }
    }

    fn put(&mut self, network: Option<Network>, at: (u64, u64)) {
        self.order.insert(at);
        if let Some(network) = network {
            self.networks.entry(network).or_default().insert(at);
        }
    }

    fn take(&mut self, network: Option<Network>, at: (u64, u64)) {
        self.order.remove(&at);
        let Some(network) = network else { return };
        if let Some(clients) = self.networks.get_mut(&network) {
            clients.remove(&at);
            if clients.is_empty() {
                self.networks.remove(&network);
            }
        }
    }

    fn leave(&mut self, id: u64) {
        self.ending.remove(&id);
        self.silent.remove(&id);
        if let Some(known) = self.known.remove(&id) {
            self.take(known.client.network(), (known.ordered, id));
        }
    }
}

impl ClientPlace {
    pub(in crate::resp) fn client(&self) -> &Arc<Client> {
        &self.client
    }
}

impl Drop for ClientPlace {
    fn drop(&mut self) {
        self.places.state.lock().leave(self.client.id());
        self.places.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha::Addr;

    fn places(most: usize) -> (Arc<Places>, Instant) {
        let origin = Instant::now();
        (Places::new(most, Some(Duration::from_secs(300)), origin), origin)
    }

    fn endings(places: &[ClientPlace]) -> Vec<Option<Ending>> {
        places.iter().map(|place| place.client().ending()).collect()
    }

    #[test]
    fn a_newcomer_takes_the_place_of_who_said_nothing_and_then_of_who_was_idle_longest() {
        let (all, origin) = places(3);
        let at = |seconds| origin + Duration::from_secs(seconds);
        let mut clients: Vec<_> = (0..3).map(|second| all.enter(None, at(second))).collect();
        all.know(clients[0].client());
        all.know(clients[2].client());
        clients[0].client().hear(at(5));
        clients.push(all.enter(None, at(10)));
        assert_eq!(endings(&clients), [None, Some(Ending::Places), None, None]);
        all.know(clients[3].client());
        clients.push(all.enter(None, at(11)));
        assert_eq!(endings(&clients), [None, Some(Ending::Places), Some(Ending::Places), None, None]);
        assert_eq!(all.count(), 3);
        drop(clients);
        assert_eq!(all.count(), 0);
    }

    /// Clients whose connections are being closed have descriptors, too: nobody else has to go for these.
    #[test]
    fn one_client_goes_for_a_descriptor_and_others_wait_for_its_end() {
        let (all, origin) = places(10);
        let later = origin + Duration::from_secs(1);
        let mut clients: Vec<_> = (0..3).map(|_| all.enter(None, origin)).collect();
        clients.iter().for_each(|place| all.know(place.client()));
        all.free_descriptor(later);
        all.free_descriptor(later);
        assert_eq!(endings(&clients), [Some(Ending::Descriptors), None, None]);
        // The first takes its time.
        all.free_descriptor(later + CLOSING);
        assert_eq!(endings(&clients)[1..], [Some(Ending::Descriptors), None]);
        clients.truncate(1);
        drop(clients);
        assert_eq!(all.count(), 0);
    }

    #[tokio::test]
    async fn a_wait_for_a_descriptor_ends_with_the_client_that_goes_for_it() {
        let (all, origin) = places(10);
        let later = origin + Duration::from_secs(1);
        let place = all.enter(None, origin);
        let converse = async {
            place.client().ended().await;
            drop(place);
        };
        let hour = Duration::from_secs(3_600);
        tokio::join!(all.wait_for_descriptor(later, hour), converse);
        assert_eq!(all.count(), 0);
        // Nobody is there who could go.
        all.wait_for_descriptor(later, Duration::from_millis(1)).await;
    }

    /// A network that speaks as its own clients do takes no place of the clients of other networks.
    #[test]
    fn a_flood_of_one_network_takes_its_own_places() {
        let (all, origin) = places(100);
        let network = |number: u8| Network::of(&Addr::Ip(([10, 0, number, 1], 9).into()));
        let at = |millis| origin + Duration::from_millis(millis);
        let honest: Vec<_> = (0..20).map(|number| all.enter(network(number), origin)).collect();
        honest.iter().for_each(|place| all.know(place.client()));
        let mut flood = Vec::new();
        for millis in 1..2_000 {
            let place = all.enter(network(200), at(millis));
            all.know(place.client());
            place.client().hear(at(millis));
            flood.push(place);
        }
        assert_eq!(endings(&honest), vec![None; 20]);
        assert_eq!(all.count(), 100);
        drop(flood);
        assert_eq!(all.count(), 20);
    }

    #[test]
    fn a_flood_of_silent_clients_keeps_to_a_part_of_the_places() {
        let (all, origin) = places(100);
        let known: Vec<_> = (0..70).map(|_| all.enter(None, origin)).collect();
        known.iter().for_each(|place| all.know(place.client()));
        let later = origin + Duration::from_secs(1);
        let mut flood: Vec<_> = (0..1_000).map(|_| all.enter(None, later)).collect();
        assert_eq!(endings(&known), vec![None; 70]);
        let last = flood.split_off(980);
        assert_eq!(endings(&last), vec![None; 20], "newcomers have time to speak");
        assert_eq!(all.count(), 100);
    }

    #[test]
    fn newcomers_wait_until_the_clients_before_them_have_had_time_to_speak() {
        let (all, origin) = places(2);
        let at = |millis| origin + Duration::from_millis(millis);
        let first = all.enter(None, at(0));
        assert_eq!(all.waits_until(at(0)), None, "there is a place");
        let second = all.enter(None, at(5));
        assert_eq!(all.waits_until(at(5)), Some(at(20)));
        assert_eq!(all.waits_until(at(20)), None);
        all.know(first.client());
        assert_eq!(all.waits_until(at(20)), Some(at(25)), "the second is the one that has said nothing");
        all.know(second.client());
        assert_eq!(all.waits_until(at(20)), None, "known clients have spoken");
    }

    /// A flood that speaks holds all places: a newcomer takes one of these, and not that of a client that has just come.
    #[test]
    fn newcomers_do_not_wait_for_few_clients_that_have_just_come() {
        let (all, origin) = places(100);
        let clients: Vec<_> = (0..100).map(|_| all.enter(None, origin)).collect();
        clients[..80].iter().for_each(|place| all.know(place.client()));
        assert_eq!(all.waits_until(origin), None);
        let more: Vec<_> = (0..6).map(|_| all.enter(None, origin)).collect();
        assert_eq!(endings(&clients)[..6], [Some(Ending::Places); 6]);
        assert_eq!(endings(&more), [None; 6]);
    }

    #[test]
    fn who_is_idle_or_within_a_command_for_too_long_has_to_go() {
        let (all, origin) = places(10);
        let clients: Vec<_> = (0..3).map(|_| all.enter(None, origin)).collect();
        clients[1].client().set_within_command(true);
        all.know(clients[2].client());
        let after = |seconds| {
            all.end_overdue(origin + Duration::from_secs(seconds));
            endings(&clients)
        };
        assert_eq!(after(10), [None; 3]);
        assert_eq!(after(11), [None, Some(Ending::HalfCommand), None]);
        clients[2].client().hear(origin + Duration::from_secs(200));
        assert_eq!(after(301), [Some(Ending::Idle), Some(Ending::HalfCommand), None]);
        assert_eq!(after(501), [Some(Ending::Idle), Some(Ending::HalfCommand), Some(Ending::Idle)]);
    }
}
