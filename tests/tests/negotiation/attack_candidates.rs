//! An observer that replays, in a client's name and while the client's confirmation is on its way, the offers
//! of the client's earlier connections: more offers than a server keeps for an address.

use crate::early_scene::{known, over};
use crate::scene::{A, B, CLIENT, SERVER, bytes, client, echo, server, server_addr, simulate};
use crate::splices::repair;
use bertha_chunnels::Serialize;
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Describe, Error, Identity, Runtime, make_stack, select,
};
use bertha_datapath_sim::{Datagram, Link, Network, SimDatapath, Verdict};
use bertha_negotiation::testing::wire::{self, Kind};
use bertha_negotiation::{Credentials, IdentityKey, Negotiate, Runs, Settings, SharedKey, ZeroRtt};
use bertha_tests::with_seeds;
use futures_util::future::{Either, select as first_of};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PORT: u16 = 5000;

/// Number of recorded offers: more than twice the places for an address.
const RECORDED: usize = 10;

/// Returns the settings of both ends, with a shared key.
fn shared() -> [Settings; 2] {
    with([Credentials::shared(SharedKey::new([7; 32])), Credentials::shared(SharedKey::new([7; 32]))])
}

/// Returns the settings of both ends, with signatures. Each second, the server makes fewer signatures for
/// unvalidated addresses than there are recorded offers.
fn signed() -> [Settings; 2] {
    let key = IdentityKey::from_seed([2; 32]);
    let trusting = Credentials::default().trusting([key.public()]);
    let [at_client, mut at_server] = with([trusting, Credentials::default().identity(key)]);
    at_server.unvalidated_clients = RECORDED - 2;
    [at_client, at_server]
}

fn with(credentials: [Credentials; 2]) -> [Settings; 2] {
    credentials.map(|credentials| {
        let mut settings = Settings::default();
        settings.credentials = credentials;
        settings
    })
}

fn is_offer(datagram: &Datagram) -> bool {
    matches!(wire::header(&datagram.payload), Some((Kind::Offer, _)))
}

/// Records offers.
fn recorder(network: &Network) -> Arc<Mutex<Vec<Datagram>>> {
    let recorded = Arc::<Mutex<Vec<Datagram>>>::default();
    let record = recorded.clone();
    network.tap(move |datagram| {
        if is_offer(datagram) {
            record.lock().unwrap().push(datagram.clone());
        }
        Verdict::Pass
    });
    recorded
}

/// Plays `offers` back whenever the server answers another offer.
fn play_back(network: &Network, offers: Vec<Datagram>) {
    let attacker = network.clone();
    let known: Vec<_> = offers.iter().map(|offer| wire::header(&offer.payload).unwrap().1).collect();
    network.tap(move |datagram| {
        if let Some((Kind::Answer, tag)) = wire::header(&datagram.payload)
            && !known.contains(&tag)
        {
            offers.iter().for_each(|offer| attacker.inject(offer).unwrap());
        }
        Verdict::Pass
    });
}

async fn echoes(network: &Network, settings: &Settings, within: Duration) {
    let (runtime, from) = (network.runtime(), client(network).from_port(PORT));
    let before = runtime.now();
    let connection = make_stack!(A).connect(from, server_addr()).settings(settings.clone()).await.unwrap();
    echo_over(network, &connection).await;
    assert!(runtime.now() - before < within, "{:?}", runtime.now() - before);
    connection.close().await.unwrap();
    drop(connection);
    // A task holds the port until the server has seen the close.
    runtime.sleep(Duration::from_secs(30)).await;
}

/// Sends a message until its echo comes. The server may lose messages from before it knows the client,
/// together with the client's place.
async fn echo_over(network: &Network, connection: &impl Connection<Data = Buf>) {
    let echo = loop {
        connection.send(bytes(b"hello")).await.unwrap();
        let late = pin!(network.runtime().sleep(Duration::from_millis(50)));
        if let Either::Left((echo, _)) = first_of(pin!(connection.recv()), late).await {
            break echo.unwrap();
        }
    };
    assert_eq!(*echo, *b"hello");
}

/// Starts a server with this stack, and returns the offers of the connections that a client has had with the
/// server.
async fn recorded<S>(network: &Network, stack: S, at_client: &Settings, at_server: Settings) -> Vec<Datagram>
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = Buf>>,
{
    let listening = stack.listen(server(network), server_addr()).settings(at_server);
    echo(network, listening.await.unwrap(), |_| {});
    let recorded = recorder(network);
    for _ in 0..RECORDED {
        echoes(network, at_client, Duration::from_secs(1)).await;
    }
    let offers = std::mem::take(&mut *recorded.lock().unwrap());
    assert!(offers.len() >= RECORDED, "{}", offers.len());
    offers
}

/// Connects a client while all its earlier offers are played back.
fn connects(seed: u64, settings: [Settings; 2], link: Link) {
    connects_to(seed, make_stack!(A), settings, link);
}

fn connects_to<S>(seed: u64, stack: S, [at_client, at_server]: [Settings; 2], link: Link)
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = Buf>>,
{
    simulate(seed, async |network: Network| {
        network.set_link(link);
        let offers = recorded(&network, stack, &at_client, at_server).await;
        at_any_moment(&network, seed).await;
        play_back(&network, offers);
        for _ in 0..2 {
            echoes(&network, &at_client, Duration::from_secs(2)).await;
        }
    });
}

/// Connects a client from an address whose earlier connection the server still has, while the client's
/// earlier offers are played back. The listener then decides about an offer after the link has read the
/// confirmation behind it.
fn connects_again(seed: u64, settings: [Settings; 2], link: Link) {
    connects_again_to(seed, make_stack!(A), settings, link);
}

fn connects_again_to<S>(seed: u64, stack: S, [at_client, at_server]: [Settings; 2], link: Link)
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = Buf>>,
{
    simulate(seed, async |network: Network| {
        network.set_link(link);
        let offers = recorded(&network, stack, &at_client, at_server).await;
        leave_behind(&network, &at_client).await;
        at_any_moment(&network, seed).await;
        play_back(&network, offers);
        echoes(&network, &at_client, Duration::from_secs(2)).await;
    });
}

/// Waits for a part of a second that differs for each seed.
async fn at_any_moment(network: &Network, seed: u64) {
    network.runtime().sleep(Duration::from_millis(seed % 20 * 50)).await;
}

/// Leaves a connection at the server whose client has restarted.
async fn leave_behind(network: &Network, at_client: &Settings) {
    let (stack, from) = (make_stack!(A), client(network).from_port(PORT));
    let connection = stack.connect(from, server_addr()).settings(at_client.clone()).await.unwrap();
    network.cut(CLIENT, SERVER);
    drop(connection);
    network.restart(CLIENT);
    network.heal_all();
}

/// Sends a forged offer with the client's id in front of each offer, and keeps `lost` confirmations from
/// arriving.
fn offer_first(network: &Network, mut lost: usize) {
    let attacker = network.clone();
    network.tap(move |datagram| {
        if is_offer(datagram) {
            let mut own = datagram.clone();
            // The forged byte lies in the client's share of the key, for which a client without credentials
            // gives no proof. A checksum stands behind the share.
            let at = own.payload.len() - 12;
            own.payload[at] ^= 1;
            repair(&mut own.payload);
            attacker.inject(&own).unwrap();
        }
        let is_lost = lost > 0 && matches!(wire::header(&datagram.payload), Some((Kind::Confirm, _)));
        lost -= usize::from(is_lost);
        if is_lost { Verdict::Drop } else { Verdict::Pass }
    });
}

#[test]
fn an_offer_with_a_clients_id_in_front_of_its_own_keeps_no_client_out() {
    simulate(0, async |network: Network| {
        let [at_client, at_server] = signed();
        let listening = make_stack!(A).listen(server(&network), server_addr()).settings(at_server);
        echo(&network, listening.await.unwrap(), |_| {});
        offer_first(&network, 0);
        // The client gets its echo without a repetition.
        echoes(&network, &at_client, Duration::from_millis(40)).await;
        leave_behind(&network, &at_client).await;
        // The first confirmation goes to the connection that the client has left behind, and the second is
        // lost.
        offer_first(&network, 2);
        echoes(&network, &at_client, Duration::from_secs(2)).await;
    });
}

#[test]
fn offers_of_the_past_push_no_client_out_that_confirms() {
    with_seeds(20, |seed| connects(seed, shared(), Link::default()));
}

#[test]
fn nor_one_whose_server_makes_no_further_signatures() {
    with_seeds(5, |seed| connects(seed, signed(), Link::default()));
}

#[test]
fn nor_one_that_has_restarted() {
    with_seeds(20, |seed| connects_again(seed, shared(), Link::default()));
}

#[test]
fn nor_one_that_has_restarted_whose_server_makes_no_further_signatures() {
    with_seeds(5, |seed| connects_again(seed, signed(), Link::default()));
}

/// Returns a link so slow that a second often ends between an offer and its repetition.
fn slow() -> Link {
    Link { delay: Duration::from_millis(100), ..Link::default() }
}

/// Returns the settings with a server that takes early data: its answers have tickets, which name the time.
fn with_tickets([at_client, mut at_server]: [Settings; 2]) -> [Settings; 2] {
    at_server.early_data = true;
    [at_client, at_server]
}

/// The server's second answer to an offer that it had to forget has to equal its first answer byte for byte,
/// since the client has made its keys of the first answer.
#[test]
fn nor_one_to_which_a_second_ticket_would_be_given() {
    with_seeds(20, |seed| connects(seed, with_tickets(shared()), slow()));
    with_seeds(5, |seed| connects(seed, with_tickets(signed()), slow()));
}

#[test]
fn nor_one_that_has_restarted_to_which_a_second_ticket_would_be_given() {
    with_seeds(20, |seed| connects_again(seed, with_tickets(shared()), slow()));
    with_seeds(5, |seed| connects_again(seed, with_tickets(signed()), slow()));
}

/// A Chunnel that the client does not know. The answer contains the Chunnel's name if there is room for it.
#[derive(Debug, Clone, Identity)]
#[chunnel(one_sided)]
struct NamedAtGreatLengthSoThatAnAnswerHasNoRoomForIt;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for NamedAtGreatLengthSoThatAnAnswerHasNoRoomForIt {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}

macro_rules! with_long_names {
    () => {{
        use NamedAtGreatLengthSoThatAnAnswerHasNoRoomForIt as Named;
        make_stack!(Named, Named, Named, Named, Named, A)
    }};
}

/// The first answer is cut to three times the length of the offer. The second answer, after a cookie, has no
/// such bound.
#[test]
fn nor_one_to_which_a_longer_answer_would_be_given() {
    with_seeds(20, |seed| connects_to(seed, with_long_names!(), shared(), Link::default()));
    with_seeds(5, |seed| connects_to(seed, with_long_names!(), signed(), Link::default()));
}

#[test]
fn nor_one_that_has_restarted_to_which_a_longer_answer_would_be_given() {
    with_seeds(20, |seed| connects_again_to(seed, with_long_names!(), shared(), Link::default()));
    with_seeds(5, |seed| connects_again_to(seed, with_long_names!(), signed(), Link::default()));
}

/// Works as `connects_again`, with a client whose offer brings its first message along.
#[test]
fn nor_one_that_has_restarted_and_sends_early() {
    with_seeds(20, |seed| {
        simulate(seed, async |network: Network| {
            let [at_client, at_server] = with_tickets(shared());
            let stack = over!(select!(A, B));
            let (cache, history) = known(&network, stack.clone(), [at_client.clone(), at_server]).await;
            let recorded = recorder(&network);
            let from = || client(&network).from_port(PORT);
            for _ in 0..RECORDED {
                let connecting = stack.connect(from(), server_addr()).settings(at_client.clone());
                connecting.await.unwrap().close().await.unwrap();
                network.runtime().sleep(Duration::from_secs(1)).await;
            }
            let connecting = stack.connect(from(), server_addr()).settings(at_client.clone());
            let old = connecting.await.unwrap();
            old.send("old".into()).await.unwrap();
            assert_eq!(old.recv().await.unwrap(), "old");
            network.cut(CLIENT, SERVER);
            drop(old);
            network.restart(CLIENT);
            network.heal_all();
            let offers = std::mem::take(&mut *recorded.lock().unwrap());
            assert!(offers.len() >= RECORDED, "{}", offers.len());
            play_back(&network, offers);
            let connecting = stack.connect(from(), server_addr()).early(&cache);
            let connection = connecting.settings(at_client).await.unwrap();
            connection.send("early".into()).await.unwrap();
            let late = pin!(network.runtime().sleep(Duration::from_secs(2)));
            match first_of(pin!(connection.recv()), late).await {
                Either::Left((echo, _)) => assert_eq!(echo.unwrap(), "early", "seed {seed}"),
                Either::Right(_) => panic!("seed {seed}: no echo"),
            }
            assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::Taken(1)), "seed {seed}");
            // Each message has arrived once.
            assert_eq!(history.lock().unwrap().concat(), ["old", "early"], "seed {seed}");
        });
    });
}
