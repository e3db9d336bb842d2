//! What Chunnels note about their connection.

use crate::early_scene::{open, over, pause, say};
use crate::scene::{client, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Connection, Error, Identity, make_stack, select};
use bertha_datapath_sim::Network;
use bertha_negotiation::{Agreement, EarlyCache, Negotiate, Pick, ZeroRtt};
use futures_util::future::join;
use std::time::Duration;

/// Notes a text, and changes no message.
#[derive(Debug, Clone, Identity)]
struct Says(&'static str);

/// Works as [`Says`], under another name.
#[derive(Debug, Clone, Identity)]
struct Tells(&'static str);

macro_rules! notes {
    ($($name:ident),*) => {$(
        impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for $name {
            type Connection = Inner;

            async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
                context.note(stringify!($name), self.0);
                Ok(inner)
            }
        }
    )*};
}

notes!(Says, Tells);

fn notes(agreement: &Agreement) -> Vec<String> {
    agreement.notes().iter().map(ToString::to_string).collect()
}

#[test]
fn each_end_shows_its_own_notes_from_the_bottom_up() {
    simulate(1, async |network: Network| {
        let stack = |upper, lower| make_stack!(Says(upper), select!(Tells(lower), Says(lower)));
        let mut incoming = stack("c", "d").listen(server(&network), server_addr()).await.unwrap();
        let (connected, accepted) = join(
            stack("a", "b").connect(client(&network), server_addr()).into_future(),
            incoming.next_or_refusal(),
        )
        .await;
        let (connected, accepted) = (connected.unwrap(), accepted.unwrap().unwrap());
        let agreement = connected.explain();
        assert_eq!(notes(&agreement), ["Tells: b", "Says: a"]);
        assert_eq!(agreement.to_string(), "Says / Tells, agreed as client; Tells: b; Says: a");
        assert_eq!(notes(&accepted.explain()), ["Tells: d", "Says: c"]);
    });
}

#[test]
fn a_stack_that_is_built_before_the_answer_keeps_its_notes() {
    simulate(2, async |network: Network| {
        let stack = |text| over!(Says(text));
        let listening = stack("here").listen(server(&network), server_addr()).settings(open());
        let mut incoming = listening.await.unwrap();
        let cache = EarlyCache::new();
        for is_known in [false, true] {
            let connecting = async {
                let stack = stack("there");
                let connecting = stack.connect(client(&network), server_addr()).early(&cache);
                let connection = connecting.settings(open()).await.unwrap();
                assert_eq!(notes(&connection.explain()), ["Says: there"]);
                say(&connection, &["one"]).await;
                let agreement = connection.agreed().await.unwrap();
                assert_eq!(agreement.zero_rtt() == Some(&ZeroRtt::Taken(1)), is_known, "{agreement}");
                assert_eq!(notes(&agreement), ["Says: there"]);
                connection.close().await.unwrap();
            };
            let accepting = async {
                let connection = incoming.next().await.unwrap();
                assert_eq!(notes(&connection.explain()), ["Says: here"]);
                while connection.recv().await.is_ok() {}
            };
            join(connecting, accepting).await;
        }
    });
}

#[test]
fn a_change_of_stacks_changes_the_notes() {
    simulate(3, async |network: Network| {
        let stack = |text| make_stack!(select!(Says(text), Tells(text))).upgradable();
        let mut incoming = stack("here").listen(server(&network), server_addr()).await.unwrap();
        let (connected, accepted) = join(
            stack("there").connect(client(&network), server_addr()).into_future(),
            incoming.next_or_refusal(),
        )
        .await;
        let (connected, accepted) = (connected.unwrap(), accepted.unwrap().unwrap());
        assert_eq!(notes(&connected.explain()), ["Says: there"]);
        let changing = async {
            connected.upgrade(Pick::alternative(1)).await.unwrap();
            assert_eq!(notes(&connected.explain()), ["Tells: there"]);
            // The peer changes its own stack when it hears of the change.
            pause(&network, Duration::from_secs(1)).await;
            connected.close().await.unwrap();
        };
        let serving = async {
            while accepted.recv().await.is_ok() {}
            assert_eq!(notes(&accepted.explain()), ["Tells: here"]);
        };
        join(changing, serving).await;
    });
}
